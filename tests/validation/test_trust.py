"""Trust: who is flagged, who is not, and who rightly cannot be."""

import numpy as np
import pytest

from tellapart import AEG, GLS, WSLTS, Behavior, BernoulliBandit, simulate_models
from tellapart.validation.trust import TrustCheck, View, describe, plain_statistics, trust

TASK = BernoulliBandit(3, 2, 30)
DESIGN = np.array([[0.2, 0.5, 0.8], [0.3, 0.4, 0.7]])


def play(choose, n=200, seed=0):
    """Participants who choose by `choose(rng, trial, choices so far)`."""
    rng = np.random.default_rng(seed)
    choice, reward = np.zeros((n, 2, 30), np.int16), np.zeros((n, 2, 30), np.int8)
    for i, b, t in np.ndindex(n, 2, 30):
        choice[i, b, t] = choose(rng, t, choice[i, b, :t])
        reward[i, b, t] = rng.random() < DESIGN[b, choice[i, b, t]]
    return Behavior({"choice": choice, "reward": reward})


@pytest.fixture(scope="module")
def check(about_models):
    return TrustCheck.of(about_models, DESIGN, n=1500)


def flagged(estimator, check, behavior):
    return trust(estimator, behavior, DESIGN, kept=check).flagged.mean()


def test_participants_of_the_models_are_flagged_as_often_as_stated(about_models, check):
    own = simulate_models(TASK, [WSLTS(), AEG(), GLS()], DESIGN, 3000, np.random.default_rng(1)).behavior
    found = trust(about_models, own, DESIGN, kept=check)
    # 1 % of 3,000, where the threshold itself rests on 1,500 simulations: four standard errors of both
    assert abs(found.flagged.mean() - 0.01) < 4 * np.sqrt(0.01 * 0.99 * (1 / 3000 + 1 / 1500))
    assert abs(np.mean(found.p <= 0.5) - 0.5) < 4 * np.sqrt(0.25 * (1 / 3000 + 1 / 1500))


@pytest.mark.parametrize(
    "choose",
    [lambda rng, t, past: t % 3, lambda rng, t, past: t % 2, lambda rng, t, past: (t // 10) % 3],
    ids=["in a fixed order", "two in turn", "ten of each"],
)
def test_who_ignores_rewards_in_a_pattern_is_flagged(about_models, check, choose):
    assert flagged(about_models, check, play(choose, 100)) > 0.9


def test_a_random_chooser_is_one_of_the_models_and_is_not_flagged(about_models, check):
    # epsilon-greedy with epsilon = 1 and no stickiness chooses at random
    assert flagged(about_models, check, play(lambda rng, t, past: rng.integers(3))) < 0.1


def test_a_random_chooser_is_flagged_where_no_model_chooses_at_random(about_models):
    # against simulated participants who mostly stay with what they have
    rng = np.random.default_rng(3)
    own = AEG().simulate({"epsilon": rng.random(2000) * 0.1, "phi": 0.9 + 0.1 * rng.random(2000)}, DESIGN, rng, TASK)
    view = View.of(describe(about_models, own[:1000], DESIGN)[1])
    limit = np.quantile(view.distance(describe(about_models, own[1000:], DESIGN)[1]), 0.99)
    stranger = play(lambda rng, t, past: rng.integers(3), 100)
    assert np.mean(view.distance(describe(about_models, stranger, DESIGN)[1]) > limit) > 0.99


def test_always_one_key_is_flagged_where_it_is_rare(about_models, check):
    # staying forever is a corner of the parameters of wslts and aeg; with 60 trials few simulated participants get there
    assert flagged(about_models, check, play(lambda rng, t, past: 0, 100)) > 0.9


def test_always_one_key_is_not_flagged_where_a_model_does_that(about_models, check):
    # the same data against simulated participants of whom a tenth stay with what they have, come what may
    rng = np.random.default_rng(6)
    stuck, others = (rng.random(2000) < 0.1), rng.random((2, 2000))
    parameters = {"epsilon": np.where(stuck, 1.0, others[0]), "phi": np.where(stuck, 1.0, others[1])}
    views = [View.of(part) for part in describe(about_models, AEG().simulate(parameters, DESIGN, rng, TASK), DESIGN)]
    described = describe(about_models, play(lambda rng, t, past: 0, 50), DESIGN)
    assert max(view.distance(part).mean() for view, part in zip(views, described, strict=True)) < 1


def test_missed_trials_are_compared_with_missed_trials(about_models):
    own = simulate_models(TASK, [WSLTS(), AEG(), GLS()], DESIGN, 300, np.random.default_rng(4)).behavior
    mask = np.ones(own.shape, bool)
    mask[:, 1, 12:] = False
    assert trust(about_models, Behavior(own.fields, mask), DESIGN, n=600).flagged.mean() < 0.06
    short = own.first(blocks=1)
    assert trust(about_models, short, DESIGN, n=600).flagged.mean() < 0.06


def test_a_check_survives_its_file(about_models, check, tmp_path):
    check.save(tmp_path / "trust.safetensors")
    again = TrustCheck.load(tmp_path / "trust.safetensors")
    behavior = play(lambda rng, t, past: rng.integers(3), 20)
    assert np.array_equal(check.p(about_models, behavior, DESIGN), again.p(about_models, behavior, DESIGN))


def test_plain_statistics_take_any_kind_of_field():
    from tellapart.behavior import Field

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
    statistics = plain_statistics(Behavior(values, rng.random((6, 2, 5)) < 0.8), fields)
    assert statistics.shape == (6, 3 + 3 + 2 + 4 * 3)
    assert np.isfinite(statistics).all()
