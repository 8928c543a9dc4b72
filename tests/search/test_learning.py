"""Which designs an estimator is trained on."""

from types import SimpleNamespace

import numpy as np
import pytest

import tellapart as ta
from tellapart.journal import Journal
from tellapart.search import learning
from tellapart.search.learning import CHUNK, Mixture, learn_from_budget, steps_for, stored

SPACE = ta.DesignSpace(2, [ta.Variable("a"), ta.Variable("b")])
CUSTOM = np.array([[0.123, 0.456], [0.789, 0.321]])
TASK = SimpleNamespace(design_space=SPACE, baseline=lambda n, rng: np.broadcast_to(CUSTOM, (n, 2, 2)))
N = 20_000


def share(found, expected):
    """Within 4.5 standard errors: a false alarm in 1 of 100,000."""
    assert abs(found.mean() - expected) < 4.5 * np.sqrt(expected * (1 - expected) / len(found))


def test_a_quarter_of_the_designs_is_baseline():
    designs = Mixture(TASK)(N, np.random.default_rng(1))
    assert designs.shape == (N, 2, 2)
    share((designs == CUSTOM).all((1, 2)), 1 / 4)


def test_half_of_the_designs_are_near_a_focus_and_half_of_these_at_it():
    focus = np.array([[[0.4, 0.6], [0.5, 0.5]], [[0.3, 0.3], [0.7, 0.7]]])
    designs = Mixture(TASK, focus)(N, np.random.default_rng(1))
    for one in focus:
        share((np.abs(designs - one) < 1e-9).all((1, 2)), 1 / 8)
        close = np.abs(designs - one).max((1, 2))
        share((close > 1e-9) & (close < 0.05), 1 / 8 * 0.6827**4)
    share((designs == CUSTOM).all((1, 2)), 1 / 8)


def test_more_parameters_need_more_steps():
    assert [steps_for(parameters) for parameters in (0, 1, 3)] == [1000, 2800, 6400]


def test_simulations_that_were_kept_are_listed_in_order(tmp_path):
    (tmp_path / "simulations").mkdir()
    for name in ("00002", "00000", "00001"):
        (tmp_path / "simulations" / f"{name}.safetensors").touch()
    (tmp_path / "simulations" / "note.txt").touch()
    assert [file.stem for file in stored(tmp_path)] == ["00000", "00001", "00002"]
    assert stored(None) == []


class Made:
    """Simulations that know their file."""

    failures = ()

    def save(self, file):
        file.parent.mkdir(exist_ok=True)
        file.touch()


@pytest.mark.parametrize(("budget", "chunks"), [(5500, [10, 11, 18, 22]), (550, [10] * 4)])
def test_the_chunks_of_a_budget_are_made_once(tmp_path, budget, chunks):
    """Twelve, fifty, eighty and a hundred per cent of it by the end of each round, ten chunks at least; what is there is not made again."""
    asked, told = [], []

    def made(function, pieces):
        asked.append([seed for _, _, _, seed in pieces])
        return [Made() for _ in pieces]

    journal = Journal(tmp_path)
    job = SimpleNamespace(task="task", question="question", seed=4, journal=journal, workers=SimpleNamespace(map=made))
    plan = SimpleNamespace(job=job, budget=budget, purpose=1)
    before = 0
    for number, count in enumerate(chunks):
        told.clear()
        files = learning._stored(plan, number, "designs", lambda *what: told.append(what))
        assert [file.stem for file in files] == [f"{i:05d}" for i in range(count)]
        assert asked[-1] == [(4, 1, i) for i in range(before, count)]
        assert [detail for _, _, detail in told] == [
            f"{(done + 1) * CHUNK} of {(count - before) * CHUNK} participants" for done in range(count - before)
        ]
        before = count


def test_every_tenth_chunk_is_held_out_and_each_round_is_learned_once(tmp_path, monkeypatch):
    calls = []

    def train(plan, train, held_out, number, tell):
        calls.append((train.files, held_out.files, number))
        return [number + 0.5, number + 0.75]

    scaled = []
    encoder = SimpleNamespace(learn_scale=scaled.append)
    plan = SimpleNamespace(job=SimpleNamespace(journal=Journal(tmp_path)), estimator=SimpleNamespace(encoder=encoder))
    monkeypatch.setattr(learning, "_stored", lambda plan, number, designs, tell: list(range(20 + number)))
    monkeypatch.setattr(learning, "_together", lambda plan, files: SimpleNamespace(files=files, behavior=("behavior", len(files))))
    monkeypatch.setattr(learning, "_early_stopping", train)
    monkeypatch.setattr("tellapart.training.save_weights", lambda file, estimator: file.touch())
    loaded = []
    monkeypatch.setattr("tellapart.training.load_weights", lambda file, estimator: loaded.append(file.name))
    for _ in range(2):  # the second time it is read
        for number in range(3):
            history = learn_from_budget(plan, number, None, None)
            assert history == [n + share for n in range(number + 1) for share in (0.5, 0.75)]
    assert calls == [([i for i in range(20 + n) if i not in (9, 19)], [9, 19], n) for n in range(3)]
    assert scaled == [("behavior", 18)]
    assert loaded == [f"round-{n}.safetensors" for n in range(3)] * 2
