"""How a search counts, chooses and reports, with estimates that are known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.estimate import Pointwise
from tellapart.journal import Journal
from tellapart.search.amortized import CLIMBS, ESTIMATED, HABITS, LAST, LOOKED_AT, LOOKS, _as_good, _Finder
from tellapart.tasks.readings import NoisyReadings
from tellapart.workers import HERE, Workers

TASK = ta.BernoulliBandit(2, 2, 6)
QUESTION = ta.Question((ta.WSLTS(), ta.AEG()))
NOISE = np.tile([-1.0, 1.0], 200)
SE = float(np.std(NOISE, ddof=1) / np.sqrt(400))


@pytest.fixture(autouse=True)
def symmetries_hold(monkeypatch):
    """To look into that takes simulations."""
    monkeypatch.setattr("tellapart.search.base.broken_by", lambda models, task, seed: {})


def points(worth, own=0.0):
    """Participants who tell so much on average, all alike but for noise that is common to all designs; and for `own` noise."""
    return Pointwise(worth + NOISE + own * np.tile([1.0, 1.0, -1.0, -1.0], 100), np.zeros(400, np.intp), (1.0,), "lower bound")


class Finder(_Finder):
    """A search whose designs are worth what their first number says, and in the last report a little else."""

    def __init__(self, folder, **settings):
        self.told, self.asked = [], []
        search = ta.Amortized(
            **{"steps": 40, "survey": 16, "survey_simulations": 50, "finalists": 2, "finalist_simulations": 100, **settings}
        )
        super().__init__(search, ta.Job(TASK, QUESTION, 3, Journal(folder), lambda *told: self.told.append(told)))
        self.last = None

    def _estimate(self, what, designs, n, purpose):
        self.asked.append((what, len(designs), n, purpose))
        self._done += self._cost(len(designs) * n, ESTIMATED)
        return [points(float(design[0, 0])) for design in designs]

    def _climb_further(self, design):
        self.job.journal.put("survey last", {"tried": 7})
        return self.last


def drawn(monkeypatch, worth):
    designs = np.stack([np.full((2, 2), value) for value in worth])
    monkeypatch.setattr(ta.BernoulliBandit, "baseline", lambda self, n, rng: designs[:n])


def test_the_best_is_reported_and_those_that_are_as_good(tmp_path, monkeypatch):
    drawn(monkeypatch, [0.1, 0.3, 0.2])
    finder = Finder(tmp_path, baselines=3, baseline_simulations=200)
    finder.job.journal.put("survey 0", {"tried": 5})
    found = finder._report(np.stack([np.full((2, 2), value) for value in (0.8, 0.9)]), [1.0, 2.0])
    assert found.design.tolist() == [[0.9, 0.9]] * 2
    assert found.information.nats == pytest.approx(0.9)
    assert found.alternatives == ()  # the differences are certain
    assert found.baseline.mean.nats == pytest.approx(0.2)
    assert found.baseline.gain.nats == pytest.approx(0.7)
    finalists = 2 + min(3, HABITS)
    assert [(what, count, n) for what, count, n, _ in finder.asked] == [
        ("baseline", 3, 200),
        ("finalist", finalists, 100),
        ("recommended", 1, 200),
        ("recommended", 1, 200),
    ]
    assert len({purpose for *_, purpose in finder.asked[:3]}) == 3  # simulations of their own
    assert finder.asked[0][3] == finder.asked[3][3]  # the same participants beside the baseline
    assert found.details["steps"] == 2
    assert found.details["tried"] == 5 + 7
    assert found.details["last_climb"] == {"tried": 7}
    assert (found.details["method"], found.details["estimator"]) == ("amortized", "likelihood")
    assert "broken_symmetries" not in found.details


def test_drawn_designs_may_win_and_alternatives_come_in_their_order(tmp_path, monkeypatch):
    drawn(monkeypatch, [0.1, 0.95, 0.94, 0.93])
    finder = Finder(tmp_path, baselines=4)
    own = {0.95: 0.0, 0.94: 0.4, 0.93: 0.4, 0.9: 0.0, 0.8: 0.0}
    plain = Finder._estimate

    def uncertain(self, what, designs, n, purpose):
        plain(self, what, designs, n, purpose)
        return [points(float(d[0, 0]), own.get(round(float(d[0, 0]), 2), 0.0)) for d in designs]

    monkeypatch.setattr(Finder, "_estimate", uncertain)
    found = finder._report(np.stack([np.full((2, 2), value) for value in (0.8, 0.9)]), [1.0])
    assert found.design[0, 0] == 0.95
    assert [(float(one.design[0, 0]), one.drawn) for one in found.alternatives] == [(0.94, True), (0.93, True)][: HABITS - 1]
    np.testing.assert_allclose([one.behind.nats for one in found.alternatives], [0.01, 0.02][: HABITS - 1])


@pytest.mark.parametrize("climbed", [False, True])
def test_a_drawn_design_that_wins_gains_nothing_where_all_designs_are_alike(climbed, tmp_path, monkeypatch):
    """Its gain is measured on participants who did not make it a finalist, nor what a last climb began at: designs beside each other tell
    the same of the same people. False-alarm rate below 1e-4: 5 standard errors.
    """
    people, rng = 100, np.random.default_rng(1)
    drawn(monkeypatch, np.arange(1, 11) / 20)
    kept = {}

    def alike(self, what, designs, n, purpose):
        values = [kept.setdefault((purpose, round(float(d[0, 0]), 2)), rng.standard_normal(people)) for d in designs]
        return [Pointwise(value, np.zeros(people, np.intp), (1.0,), "lower bound") for value in values]

    monkeypatch.setattr(Finder, "_estimate", alike)
    if climbed:
        monkeypatch.setattr(Finder, "_climb_further", lambda self, design: design + 0.001)
    finder, gains = Finder(tmp_path, baselines=10), []
    finder.job.journal.put("survey last", {"tried": 7})
    while len(gains) < 100:
        kept.clear()
        found = finder._report(np.full((1, 2, 2), 0.9), [1.0])
        if found.design[0, 0] < 0.9:
            gains.append(found.baseline.gain.nats / found.baseline.gain.se)
    assert abs(np.mean(gains)) < 5 / np.sqrt(len(gains))


def test_a_model_to_which_blocks_are_not_alike_may_not_say_that_each_begins_anew(tmp_path, monkeypatch):
    """Networks would add blocks up, and lose which is which."""
    monkeypatch.setattr("tellapart.search.base.broken_by", lambda models, task, seed: {"blocks": ["aeg"]})
    with pytest.raises(ta.ModelError, match="'aeg' says that each block begins anew"):
        Finder(tmp_path)
    monkeypatch.setattr(ta.AEG, "resets", None)
    Finder(tmp_path)


def test_where_a_last_climb_led_is_recommended(tmp_path):
    finder = Finder(tmp_path, baselines=0)
    finder.last = np.full((2, 2), 0.97)
    found = finder._report(np.stack([np.full((2, 2), value) for value in (0.8, 0.9)]), [1.0])
    assert found.design[0, 0] == 0.97
    assert found.baseline is None
    assert found.details["last_climb"]["nats"] == pytest.approx(0.07)


@pytest.mark.parametrize(("behind", "good"), [(1.99, True), (2.01, False), (-3.0, True)])
def test_as_good_is_within_two_standard_errors(behind, good):
    best = points(1.0)
    other = replace(best, values=np.full(400, 1.0 - behind * SE))
    assert _as_good(other, best) == good


def test_the_bound_over_training_is_shown_at_a_hundred_points(tmp_path):
    finder = Finder(tmp_path)
    finder.job.journal.put("survey 0", {"tried": 5})
    assert finder._trace([1.0, 3.0]) == [{"step": 1, "training": 1.0}, {"step": 2, "training": 3.0}, {"survey": "survey 0", "tried": 5}]
    trace = finder._trace([float(value) for value in range(450)])[:-1]
    assert len(trace) == 112
    assert trace[0] == {"step": 4, "training": 1.5}
    assert trace[-1] == {"step": 448, "training": 445.5}


def test_costs_are_counted_in_steps_and_progress_never_passes_the_end(tmp_path):
    finder = Finder(tmp_path, batch=64)
    assert [finder._cost(participants, 1 / 4) for participants in (0, 256, 700, 2560)] == [1, 1, 3, 10]
    looks, settings = sum(LOOKS) * 16 * 50, finder.settings
    assert finder.climbing == 16 * 50  # four numbers
    surveys = finder._cost(looks + (sum(CLIMBS) + LAST) * 16 * 50, LOOKED_AT)
    chosen, drawn = 2 * (settings.finalists + HABITS) * settings.finalist_simulations, settings.baselines * settings.baseline_simulations
    assert finder.total == 40 + surveys + finder._cost(chosen + drawn, ESTIMATED)
    finder._tell(10, "training", "more")
    finder._done = 10**9
    finder._tell(10, "training")
    assert finder.told == [(10, finder.total, "training", "more"), (finder.total, finder.total, "training", "")]


def test_climbs_are_longer_where_designs_have_many_numbers(tmp_path):
    job = ta.Job(ta.BernoulliBandit(4, 6, 3), QUESTION, 3, Journal(tmp_path), workers=Workers(2))
    settings = ta.Amortized(steps=40, survey=16, survey_simulations=50)
    assert _Finder(settings, job).climbing == 16 * 50 * 8  # 24 numbers are 4 times 6 of them
    assert _Finder(replace(settings, simulations=10_000), job).climbing == 16 * 50
    # a quick simulator's work is done here, that of a slow one elsewhere
    assert [_Finder(replace(settings, simulations=n), job).workers for n in (0, 10_000)] == [HERE, job.workers]


def test_steps_of_training():
    many = ta.Question((ta.WSLTS(), ta.AEG()), "both")
    nuisance = ta.Question((ta.AEG(),), "estimate", about=("aeg.epsilon",))  # nothing that a law would correct
    assert ta.Amortized(estimator=ta.PosteriorEstimator).total_steps(TASK, QUESTION) == 4000
    assert ta.Amortized(estimator=ta.PosteriorEstimator).total_steps(TASK, many) == 1000 + 1800 * 3
    assert ta.Amortized().total_steps(TASK, nuisance) == 1000 + 1800
    assert ta.Amortized(steps=7).total_steps(TASK, many) == 7
    assert ta.Amortized().total_steps(NoisyReadings(), QUESTION) == 4000  # a law would be dear where answers are no single choice
    assert ta.Amortized().total_steps(TASK, QUESTION) == round(4000 * 0.4)


@pytest.mark.parametrize("budget", [10_000, 50_000, 10**6, 10**9])
def test_a_budget_is_divided(budget):
    """Surveys have a fifth of it, the comparisons a twentieth each; no setting grows."""
    whole, within = ta.Amortized(), ta.Amortized(simulations=budget)._within_budget()
    share = budget // 20
    assert ta.Amortized()._within_budget() == whole
    names = ("survey", "survey_simulations", "finalists", "finalist_simulations", "baseline_simulations")
    assert all(getattr(within, name) <= getattr(whole, name) for name in names)
    surveys = (sum(LOOKS) + sum(CLIMBS) + LAST) * within.survey * within.survey_simulations
    assert surveys <= 4 * share * 1.1 or (within.survey, within.survey_simulations) == (16, 50)
    assert within.baseline_simulations * (within.baselines + 1) <= share or within.baseline_simulations == 50
    assert within.finalist_simulations * (within.finalists + HABITS + 1) <= share or within.finalist_simulations == 100
    assert 1 <= within.finalists <= max(1, share // 100 - HABITS)
    if budget == 10**9:
        assert replace(within, simulations=0) == whole
    if budget == 50_000:
        each = 10_000 // 64
        surveyed = round(10_000 / (sum(LOOKS) + sum(CLIMBS) + LAST) / each)
        assert (within.survey_simulations, within.survey) == (each, max(16, surveyed))
        assert within.finalists == min(8, 25 - HABITS)
        assert within.finalist_simulations == 2500 // (within.finalists + HABITS + 1)
        assert within.baseline_simulations == 2500 // 26


def test_given_designs_are_estimated_on_fresh_simulations(tmp_path):
    asked = []

    def each(function, pieces):
        asked.extend(pieces)
        return [(points(float(design[0, 0])), ()) for _, design, _, _ in pieces]

    heard = []
    journal = SimpleNamespace(put_failures=lambda failures: None)
    job = SimpleNamespace(seed=5, journal=journal, workers=SimpleNamespace(map=each), progress=lambda *told: heard.append(told[:2]))
    found = ta.Amortized(finalist_simulations=300).evaluate(job, [np.full((2, 2), 0.4), np.full((2, 2), 0.6)], "estimator")
    assert [estimate.nats for estimate in found] == [pytest.approx(0.4), pytest.approx(0.6)]
    assert [(n, seed[0]) for _, _, n, seed in asked] == [(300, 5)] * 2
    assert heard == [(1, 2), (2, 2)]


@pytest.mark.parametrize("simulations", [0, 10_000])
def test_rounds_of_training_are_followed_by_surveys(tmp_path, monkeypatch, simulations):
    """Training turns to where information is high from the third round on; the best of the last survey are the finalists."""
    finder, learned, surveyed, plans = Finder(tmp_path, simulations=simulations, finalists=2), [], [], []

    class Plan:
        def __init__(self, *given):
            plans.append(given)

        def learn(self, number, focus, tell):
            learned.append((number, None if focus is None else float(focus[0, 0, 0])))
            return [float(number)]

    def survey(number, good):
        surveyed.append(None if good is None else float(good[0, 0, 0]))
        return np.stack([np.full((2, 2), 0.1 * number + 0.01 * k) for k in range(4)])

    monkeypatch.setattr("tellapart.search.amortized.Plan", Plan)
    monkeypatch.setattr(finder, "_survey", survey)
    monkeypatch.setattr(finder, "_report", lambda good, history: (good[:, 0, 0].tolist(), history))
    assert finder.find() == (pytest.approx([0.3, 0.31]), [3.0])
    assert learned == [(0, None), (1, None), (2, 0.1), (3, 0.2)]
    assert surveyed == [None, 0.0, 0.1, 0.2]
    estimator, job, steps, rate, batch, unfinished, budget, _ = plans[0]
    assert (estimator, job, steps, rate) == (finder.estimator, finder.job, 40, estimator.learning_rate)
    assert (batch, unfinished, budget) == (256, 0.2, round(0.55 * simulations))


@pytest.mark.parametrize(("survey", "climbs"), [(300, True), (16, False)])
def test_a_search_without_climbs_says_so(tmp_path, survey, climbs):
    """A pass over two blocks takes 7,000 participants, and the comparison at its end 200; three quarters of the survey are climbed with."""
    finder = Finder(tmp_path, baselines=0, survey=survey)
    found = finder._report(np.full((1, 2, 2), 0.8), [1.0])
    assert ("climbs" not in found.details) == climbs
    assert found.details.get("climbs", 0) == 0
