"""Trust: who is flagged, who is not, and who rightly cannot be.

The promise: of participants simulated from a model with parameters from its prior, at most 1 % are flagged, on average over the
references that they are compared with. Rates here have four standard errors of room, for the participants and for the references.
"""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from evidence import Recorded

import tellapart
from tellapart import AEG, GLS, WSLTS, Behavior, BernoulliBandit, Field, PosteriorEstimator, Question, Study, simulate_models
from tellapart.models.simulation import Simulations
from tellapart.training import with_missing
from tellapart.validation.statistics import plain_statistics
from tellapart.validation.trust import CLOUD, NUMBER, Trust, View, _alike, _reach, _References, simulate_references, trust, whole

TASK = BernoulliBandit(3, 2, 30)
DESIGN = np.array([[0.2, 0.5, 0.8], [0.3, 0.4, 0.7]])
MODELS = [WSLTS(), AEG(), GLS()]
EXAMPLES = Path(tellapart.__file__).parent / "examples"


def play(choose, n=200, seed=0):
    """Participants who choose by `choose(rng, trial, choices so far)`."""
    rng = np.random.default_rng(seed)
    choice, reward = np.zeros((n, 2, 30), np.int16), np.zeros((n, 2, 30), np.int8)
    for i, b, t in np.ndindex(n, 2, 30):
        choice[i, b, t] = choose(rng, t, choice[i, b, :t])
        reward[i, b, t] = rng.random() < DESIGN[b, choice[i, b, t]]
    return Behavior({"choice": choice, "reward": reward})


def simulated(n, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    return with_missing(simulate_models(TASK, MODELS, DESIGN, n, rng), missing, rng)


def most(rate, n, references):
    """The largest share that is compatible with a rate, for n participants and so many references of each model."""
    return rate + 4 * np.sqrt(rate * (1 - rate) * (1 / n + 1 / references))


@pytest.fixture(scope="module")
def references(about_models):
    return simulate_references(about_models, DESIGN, 1500)


@pytest.fixture(scope="module")
def check(about_models, references):
    return partial(trust, about_models, designs=DESIGN, kept=references)


@pytest.mark.parametrize(("missing", "each"), [(0.0, 1000), (1.0, 500)], ids=["complete", "missed trials"])
def test_of_each_model_no_more_are_flagged_than_stated(check, missing, each, monkeypatch):
    """Fewer who missed trials, in fewer shares of blocks, since those of each share have references of their own."""
    monkeypatch.setattr("tellapart.validation.trust.SHARES", (0.75, 0.3))
    people = simulated(3 * each, 1, missing)
    said = check(people.behavior)
    assert said.flagged.mean() < most(0.01, 3 * each, 900)
    for m, name in enumerate(said.by_model):
        own = people.model == m
        assert said.flagged[own].mean() < most(0.01, each, 900)
        for rate in (0.01, 0.1, 0.5):
            assert np.mean(said.by_model[name][own] <= rate) < most(rate, each, 900)


def test_p_values_of_complete_data_are_not_only_safe_but_right(check):
    people = simulated(3000, 2)
    said = check(people.behavior)
    for m, name in enumerate(said.by_model):
        assert np.mean(said.by_model[name][people.model == m] <= 0.5) > 0.35


@pytest.mark.parametrize("pattern", [lambda t: t % 3, lambda t: t % 2], ids=["in a fixed order", "two in turn"])
def test_who_ignores_rewards_in_a_pattern_is_flagged(check, pattern):
    people = play(lambda rng, t, past: pattern(t), 100)
    assert check(people).flagged.mean() > 0.9
    assert check(people.first(trials=20)).flagged.mean() > 0.9


def test_ten_of_each_is_like_what_few_participants_do(check):
    # a model that stays after wins does that now and then
    assert np.median(check(play(lambda rng, t, past: (t // 10) % 3, 100)).p) < 0.03


def test_a_random_chooser_is_one_of_the_models_and_is_not_flagged(check):
    # epsilon-greedy with epsilon = 1 and no stickiness chooses at random
    said = check(play(lambda rng, t, past: rng.integers(3)))
    assert said.flagged.mean() < 0.05
    assert np.median(said.by_model["aeg"]) > 0.05


def test_always_one_key_is_flagged_where_it_is_rare(check):
    # staying forever is a corner of the parameters of wslts and aeg; with 60 trials few simulated participants get there
    assert check(play(lambda rng, t, past: 0, 100)).flagged.mean() > 0.9


def test_always_one_key_is_not_flagged_where_a_model_does_that():
    # the same data against simulated participants of whom a tenth stay with what they have, come what may
    rng = np.random.default_rng(6)
    stuck, others = (rng.random(2000) < 0.1), rng.random((2, 2000))
    parameters = {"epsilon": np.where(stuck, 1.0, others[0]), "phi": np.where(stuck, 1.0, others[1])}
    own = AEG().simulate(parameters, np.broadcast_to(DESIGN, (2000, 2, 3)), rng, TASK)
    view = View.of(plain_statistics(own[:1000], TASK.fields))
    usual, always = (view.distance(plain_statistics(part, TASK.fields)) for part in (own[1000:], play(lambda rng, t, past: 0, 50)))
    assert np.median(always) <= np.quantile(usual, 0.99)


def test_the_flag_does_not_depend_on_who_else_is_in_the_data(about_models):
    people = simulated(12, 3, 1.0).behavior
    together = trust(about_models, people, DESIGN, n=300)
    alone = [trust(about_models, people[[i]], DESIGN, n=300) for i in range(0, 12, 4)]
    assert [float(one.p[0]) for one in alone] == together.p[::4].tolist()


def test_who_stopped_after_three_trials_is_not_flagged_for_that(check):
    few = simulated(600, 4).behavior.first(blocks=1, trials=3)
    assert check(few[:10]).flagged.sum() <= 1
    assert check(few).flagged.mean() < most(0.01, 600, 900)


def test_missed_trials_anywhere_are_as_if_they_had_never_been(check):
    people = simulated(20, 5).behavior
    short = people.first(trials=27)
    spread = np.sort(np.random.default_rng(0).permuted(np.tile(np.arange(30), (20, 2, 1)), axis=2)[:, :, :27], axis=2)
    fields, mask = {name: np.zeros(people.shape, values.dtype) for name, values in people.fields.items()}, np.zeros(people.shape, bool)
    np.put_along_axis(mask, spread, True, 2)
    for name, values in short.fields.items():
        np.put_along_axis(fields[name], spread, values, 2)
    assert np.array_equal(check(Behavior(fields, mask)).p, check(short).p)


def test_nobody_is_flagged_of_whom_nothing_is_known(check):
    assert check(TASK.nothing(3)).p.tolist() == [1.0] * 3


def test_each_participant_may_have_a_design(about_models, check):
    designs = np.stack([DESIGN, DESIGN, 1 - DESIGN])
    people = simulated(3, 6).behavior
    said = trust(about_models, people, designs, n=300)
    assert np.array_equal(said.p[:2], trust(about_models, people[:2], DESIGN, n=300).p)
    assert said.p[2] == trust(about_models, people[2:], 1 - DESIGN, n=300).p[0]


def test_references_survive_their_file(about_models, references, tmp_path):
    references.save(tmp_path / "trust.safetensors")
    again = Simulations.load(tmp_path / "trust.safetensors", MODELS)
    people = play(lambda rng, t, past: rng.integers(3), 20)
    one, other = (trust(about_models, people, DESIGN, kept=kept) for kept in (references, again))
    assert np.array_equal(one.p, other.p)


def test_progress_is_told(about_models):
    heard = []
    trust(about_models, simulated(12, 7, 1.0).behavior, DESIGN, n=300, progress=lambda *told: heard.append(told))
    assert heard[-1][:2] == (12, 12)
    assert [told[0] for told in heard] == sorted(told[0] for told in heard)


# tasks of other kinds: fields that are real or positive, lengths that the design decides, trials that models miss


def estimator_of(task, models, **asked):
    """Untrained: the promise does not depend on what was learned."""
    return PosteriorEstimator(Question(tuple(models), **asked), Recorded(task), hidden=(8,)).eval()


@pytest.fixture(scope="module")
def dots():
    study = Study.from_file(EXAMPLES / "accumulation")
    return estimator_of(study.task, study.models)


@pytest.fixture(scope="module")
def readings():
    from tellapart.models.hidden_number import HiddenNumber
    from tellapart.tasks.readings import NoisyReadings

    return estimator_of(NoisyReadings(2, 20), [HiddenNumber()], goal="estimate")


AT = {"dots": np.array([[0.03, 15], [0.1, 15], [0.4, 30]]), "readings": np.array([[0.5], [2.0]])}


@pytest.mark.parametrize(("which", "missing"), [("dots", 0.0), ("readings", 0.0), ("readings", 1.0)])
def test_the_promise_holds_for_other_kinds_of_task(request, which, missing):
    """Where models miss trials themselves (dots), trials that were missed on top of that are unlike them, and may be flagged."""
    estimator, rng = request.getfixturevalue(which), np.random.default_rng(8)
    models = estimator.question.models
    people = with_missing(simulate_models(estimator.task, models, AT[which], 1000 * len(models), rng), missing, rng)
    said = trust(estimator, people.behavior, AT[which])
    for m in range(len(models)):
        assert said.flagged[people.model == m].mean() < most(0.01, 1000, NUMBER - CLOUD)


def test_who_stopped_is_compared_up_to_there_where_models_miss_trials(dots):
    people = simulate_models(dots.task, dots.question.models, AT["dots"], 2000, np.random.default_rng(9)).behavior
    assert not people.mask[:, 0, :15].all()  # the deadline
    mask = people.mask.copy()
    mask[:, 2, 12:] = False
    said = trust(dots, Behavior(people.fields, mask), AT["dots"])
    assert said.flagged.mean() < most(0.01, 2000, NUMBER - CLOUD)


def test_response_times_ten_times_too_short_are_flagged_in_any_unit(dots):
    people = simulate_models(dots.task, dots.question.models, AT["dots"], 100, np.random.default_rng(10)).behavior
    hasty = Behavior({**people.fields, "seconds": people.fields["seconds"] / 10}, people.mask)
    assert trust(dots, hasty, AT["dots"]).flagged.mean() > 0.95


def test_missed_trials_do_not_count_as_zeros(readings):
    """Far from zero, recorded zeros would stand out: a person's mask on simulated ones must leave them out."""
    people = readings.question.simulate(readings.task, AT["readings"], 500, np.random.default_rng(11)).behavior
    mask = np.random.default_rng(12).random(people.shape) < 0.7
    strange = Behavior({"reading": people.fields["reading"] * 0.0}, mask)
    assert trust(readings, Behavior(people.fields, mask), AT["readings"]).flagged.mean() < 0.03
    assert trust(readings, strange, AT["readings"]).flagged.mean() > 0.95


def test_plain_statistics_take_any_kind_of_field():
    rng = np.random.default_rng(5)
    kinds = {"key": "categorical", "time": "positive", "count": "count", "x": "real", "right": "binary"}
    fields = tuple(Field(name, kind, 4 if kind == "categorical" else None) for name, kind in kinds.items())
    values = {
        "key": rng.integers(0, 4, (6, 2, 5)),
        "time": rng.random((6, 2, 5)) + 0.1,
        "count": rng.integers(0, 9, (6, 2, 5)),
        "x": rng.standard_normal((6, 2, 5)),
        "right": rng.integers(0, 2, (6, 2, 5)),
    }
    mask = rng.random((6, 2, 5)) < 0.8
    statistics = plain_statistics(Behavior(values, mask), fields)
    assert statistics.shape == (6, 1 + 4 + 3 + 3 + 2 + 4 * 4)
    assert np.isfinite(statistics).all()
    other = {name: np.where(mask, array, 3) for name, array in values.items()}  # what stands at missed trials is nobody's business
    assert np.array_equal(statistics, plain_statistics(Behavior(other, mask), fields))


# arithmetic on a few numbers


def test_distances_from_a_cloud_by_hand():
    """Whitened by the covariance of the standardised cloud, no direction smaller than the floor; the fifth neighbour counts."""
    rng = np.random.default_rng(0)
    cloud = rng.standard_normal((60, 3)) @ np.array([[1, 0.9, 0], [0, 0.1, 0], [0, 0, 5.0]]) + [10, 0, -3]
    people = np.array([[10.0, 0.0, -3.0], [14.0, 0.0, -3.0], [10.0, 3.0, 20.0]])
    z = (cloud - cloud.mean(0)) / cloud.std(0)
    values, vectors = np.linalg.eigh(np.cov(z.T))
    whitened = z @ vectors / np.sqrt(np.maximum(values, 0.1))
    size = np.sqrt((whitened**2).sum(1).mean())
    view = View.of(cloud)
    assert np.sqrt((view.cloud**2).sum(1).mean()) == pytest.approx(1)
    np.testing.assert_allclose(view.cloud, whitened / size)
    others = (people - cloud.mean(0)) / cloud.std(0) @ vectors / np.sqrt(np.maximum(values, 0.1)) / size
    expected = [sorted(np.linalg.norm(view.cloud - one, axis=1))[4] for one in others]
    np.testing.assert_allclose(view.distance(people), np.round(expected, 3))
    few = View.of(cloud[:3])
    assert few.distance(people[:1])[0] == pytest.approx(
        np.linalg.norm(few.cloud - (people[0] - few.centre) @ few.whitening, axis=1).max(), abs=1e-3
    )


def test_what_does_not_vary_in_a_cloud_is_measured_by_its_size():
    steady = np.column_stack([np.linspace(0, 1, 20), np.full(20, 4.0), np.zeros(20), 1e6 + 1e-3 * np.arange(20)])
    view = View.of(steady)
    assert np.isfinite(view.cloud).all()
    assert view.distance(steady[:1])[0] < 1
    for column in (1, 2, 3):
        strange = steady[:1].copy()
        strange[0, column] += 3 * max(1.0, steady[0, column])
        assert view.distance(strange)[0] > 5
    alone = View.of(np.full((4, 1), 2.0))
    assert (alone.distance(np.array([[2.0]]))[0], alone.distance(np.array([[4.0]]))[0] > 0) == (0.0, True)


def test_how_far_participants_came():
    mask = np.array([[[1, 1, 0, 0], [0, 0, 0, 0]], [[1, 0, 1, 0], [0, 0, 0, 1]]], bool)
    assert _reach(mask).tolist() == [[2, 0], [3, 4]]
    task = BernoulliBandit(2, 3, 6)
    padded = whole(Behavior({"choice": np.ones((2, 2, 4), int), "reward": np.ones((2, 2, 4), int)}, mask, np.array(["a", "b"])), task)
    assert padded.shape == (2, 3, 6)
    np.testing.assert_array_equal(padded.mask[:, :2, :4], mask)
    assert padded.mask.sum() == mask.sum()
    assert padded.participants.tolist() == ["a", "b"]


def test_equal_rows_come_together_each_place_once():
    rows = np.array([[[1, 2]], [[0, 5]], [[1, 2]], [[3, 3]], [[0, 5]]])
    assert sorted(group.tolist() for group in _alike(rows)) == [[0, 2], [1, 4], [3]]
    assert list(_alike(rows[:0])) == []


def references_of(exists, behaviors=()):
    made = _References.__new__(_References)
    made.exists, made.models = exists, list(behaviors)
    return made


def test_trials_that_are_compared_are_shares_of_blocks():
    """All if all are complete; else of each block nine tenths, three quarters, … or three trials, two, one or none."""
    exists = np.ones((2, 20), bool)
    exists[1, 10:] = False  # the second block is shorter
    reach = [(20, 10), (19, 10), (18, 9), (17, 8), (3, 2), (1, 0), (2, 7)]
    mask = np.stack([np.arange(20) < np.array(ends)[:, None] for ends in reach])
    shown = references_of(exists).reached(mask)
    assert shown.sum(2).tolist() == [[20, 10], [18, 9], [18, 9], [15, 7], [3, 2], [1, 0], [2, 7]]
    gap = mask[:1].copy()
    gap[0, 0, 4] = False  # a missed trial in the middle shortens nothing
    assert references_of(exists).reached(gap).sum(2).tolist() == [[20, 10]]


def test_a_share_of_the_simulated_that_look_as_strange():
    """Half of those simulated are the cloud; the others say how far is usual. Of two descriptions the stranger one counts."""
    made = references_of(None, [range(20)])
    usual = np.linspace(0, 1, 10)
    cloud = np.zeros(10)
    cloud[::2] = 0.01
    near, far = np.concatenate([cloud, usual])[:, None], np.concatenate([cloud, usual[::-1] * 0])[:, None]
    made.describe = lambda behavior, shown: (near, far)
    people = np.array([[0.0], [0.5], [2.0]]), np.array([[0.0], [0.0], [0.0]])
    rows, m, p = made.compare(np.array([4, 5, 6]), 0, people, None)
    views = View.of(near[:10]), View.of(far[:10])
    beyond = np.maximum(views[0].distance(near[10:]), views[1].distance(far[10:]))
    own = np.maximum(views[0].distance(people[0]), views[1].distance(people[1]))
    assert (rows.tolist(), m) == ([4, 5, 6], 0)
    np.testing.assert_allclose(p, [(1 + (beyond >= one).sum()) / 11 for one in own])
    assert p[2] == pytest.approx(1 / 11)


def test_columns_of_trust():
    found = Trust(np.array([0.5, 0.01]), np.array([False, True]), 0.01, {"aeg": np.array([0.5, 0.01])}, 3)
    assert list(found.columns()) == ["unlike_models", "unlike_models.p", "unlike_models.p.aeg"]
    assert found.columns()["unlike_models.p"].tolist() == [0.5, 0.01]


def test_p_values_of_all_comparisons_become_one_verdict(monkeypatch):
    """The largest over comparisons and models; at most the false-alarm rate is flagged; who cannot be compared is not."""
    made, designs = [], np.stack([DESIGN, DESIGN[::-1], DESIGN, DESIGN])

    class Fixed:
        def __init__(self, estimator, simulated):
            self.design = simulated.designs[0]

        def jobs(self, people):
            if len(people) == 3:  # those at the first design: one model compares twice, the other leaves the last out
                yield lambda: (np.array([0, 1, 2]), 0, np.array([0.002, 0.5, 0.01]))
                yield lambda: (np.array([0, 1, 2]), 0, np.array([0.01, 0.1, 0.005]))
                yield lambda: (np.array([0, 1]), 1, np.array([0.004, 0.011]))
            else:
                yield lambda: (np.array([0]), 1, np.array([0.009]))

    def simulate(estimator, design, n, seed):
        made.append((design.tolist(), n, seed))
        return SimpleNamespace(designs=design[None], failures=("one", "two"))

    monkeypatch.setattr("tellapart.validation.trust._References", Fixed)
    monkeypatch.setattr("tellapart.validation.trust.simulate_references", simulate)
    estimator = SimpleNamespace(task=TASK, question=SimpleNamespace(names=("a", "b")))
    kept = SimpleNamespace(designs=DESIGN[None], failures=("three",))
    heard = []
    found = trust(
        estimator, play(lambda rng, t, past: 0, n=4), designs, kept=kept, n=50, seed=9, progress=lambda *told: heard.append(told[:2])
    )
    assert made == [(DESIGN[::-1].tolist(), 50, 9)]  # the other design is kept
    assert found.by_model["a"].tolist() == [0.01, 1.0, 0.5, 0.01]
    assert found.by_model["b"].tolist() == [0.004, 0.009, 0.011, 1.0]
    assert found.p.tolist() == [0.01, 1.0, 0.5, 1.0]
    assert found.flagged.tolist() == [True, False, False, False]
    assert (found.failed, found.false_alarm) == (3, 0.01)
    assert heard[-1] == (4, 4)
    assert sorted(done for done, _ in heard) == [done for done, _ in heard]


def test_who_does_what_everybody_does_is_not_strange():
    """Networks round otherwise for one participant than for many: where all are alike, rounding is not a difference."""
    described = np.array([0.3, -1.2, 0.0]) * np.ones((50, 1))
    rounded = described * (1 + 1e-7 * np.random.default_rng(1).standard_normal(described.shape))
    for cloud in (described, rounded):
        view, near = View.of(cloud), cloud[:5] * [1 + 3e-7, 1 - 3e-7, 1] + [0, 3e-4, 0]
        assert view.distance(near).max() == view.distance(cloud).max() == 0.0
        assert view.distance(described[:1] * [1.05, 1, 1]).min() > 0.1
