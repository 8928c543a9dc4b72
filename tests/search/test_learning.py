"""Which designs an estimator is trained on."""

from types import SimpleNamespace

import numpy as np

import tellapart as ta
from tellapart.search.learning import Mixture, steps_for, stored

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
