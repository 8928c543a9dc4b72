"""Simulations of several models: whose turn it is, what is kept of them, and what comes back from a file."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.models.simulation import turns, turns_by_lot
from tellapart.tasks.readings import NoisyReadings

TASK = NoisyReadings(2, 3)


@ta.model(name="levels", parameters={"k": ta.Integers(1, 3), "x": ta.Normal()}, vectorised=True)
def levels(parameters, designs, rng, task):
    return {"reading": rng.normal(parameters["k"][:, None, None], 1.0, (len(designs), task.blocks, task.trials))}


@ta.model(name="nothing", parameters={}, vectorised=True)
def nothing(parameters, designs, rng, task):
    return {"reading": rng.standard_normal((len(designs), task.blocks, task.trials))}


def simulated(n=30, seed=1, **more):
    return ta.simulate_models(TASK, [levels(), nothing()], [[1.0], [2.0]], n, np.random.default_rng(seed), **more)


@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.6, 0.3, 0.1), (0.9, 0.05, 0.05), (1 / 3, 1 / 3, 1 / 3)])
def test_every_model_has_had_its_share_at_any_moment(prior):
    whose = turns(np.array(prior), 400)
    counts = np.cumsum(whose[:, None] == np.arange(len(prior)), axis=0)
    assert np.abs(counts - np.arange(1, 401)[:, None] * np.array(prior)).max() <= 1.0 + 1e-9


@pytest.mark.parametrize(("prior", "n"), [([0.999, 0.001], 256), ([0.95, 0.05], 8), ([0.99, 0.004, 0.006], 64), ([1 / 3] * 3, 8)])
def test_small_batches_together_give_every_model_its_share(prior, n):
    batches = 4000
    rng = np.random.default_rng(1)
    counts = np.array([np.bincount(turns_by_lot(np.array(prior), n, rng), minlength=len(prior)) for _ in range(batches)])
    assert (counts.sum(1) == n).all()
    assert (abs(counts - n * np.array(prior)) < 1).all()
    even = np.array(prior) * n % 1
    # a count is one of two neighbours: its variance is known. 5 standard errors, of at most 3 models: by chance less than once in 10^5
    assert (abs(counts.mean(0) - n * np.array(prior)) <= 5 * np.sqrt(even * (1 - even) / batches) + 1e-12).all()


@pytest.mark.parametrize(("prior", "n"), [([1 / 3] * 3, 256), ([0.6, 0.3, 0.1], 256), ([0.5, 0.5], 8), ([1.0], 8), ([1.0, 0.0], 8)])
def test_nothing_is_drawn_where_every_model_has_its_share(prior, n):
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(turns_by_lot(np.array(prior), n, rng), turns(np.array(prior), n))
    assert rng.random() == np.random.default_rng(1).random()


def test_same_seed_same_bytes():
    one, same, other = simulated(), simulated(), simulated(seed=2)
    assert one.behavior.fields["reading"].tobytes() == same.behavior.fields["reading"].tobytes()
    assert one.behavior.fields["reading"].tobytes() != other.behavior.fields["reading"].tobytes()


def test_levels_have_a_place_in_their_step():
    one = simulated()
    within = one.within["levels.k"][one.model == 0]
    assert ((within >= 0) & (within < 1)).all()
    assert len(np.unique(within)) == 15
    assert np.isnan(one.within["levels.k"][one.model == 1]).all()
    assert "levels.x" not in one.within


def test_some_of_them():
    one = simulated()
    some = one[[3, 1, 4]]
    assert some.model.tolist() == one.model[[3, 1, 4]].tolist()
    np.testing.assert_array_equal(some.behavior.fields["reading"], one.behavior.fields["reading"][[3, 1, 4]])
    np.testing.assert_array_equal(one.of(0).parameters["levels.k"], one.truth(0)["k"])
    assert one.truth(1) == {}


def test_there_and_back(tmp_path):
    one = simulated()
    one.save(tmp_path / "deep" / "simulations")
    back = ta.Simulations.load(tmp_path / "deep" / "simulations", one.models)
    assert back.models == one.models
    np.testing.assert_array_equal(back.model, one.model)
    np.testing.assert_array_equal(back.designs, one.designs)
    for part in ("parameters", "within"):
        for name, values in getattr(one, part).items():
            np.testing.assert_array_equal(getattr(back, part)[name], values)
    np.testing.assert_array_equal(back.behavior.fields["reading"], one.behavior.fields["reading"])


def test_one_design_for_all_or_one_for_each():
    designs = np.stack([np.full((2, 1), float(i)) for i in range(3)])
    assert ta.simulate_models(TASK, [nothing()], designs, 3, np.random.default_rng(1)).designs.tolist() == designs.tolist()
    assert simulated(4).designs.shape == (4, 2, 1)


def test_true_parameters_can_be_given():
    one = simulated(parameters={"levels": {"k": 2, "x": 0.5}, "nothing": {}})
    assert set(one.truth(0)["k"]) == {2.0}
    assert set(one.truth(0)["x"]) == {0.5}


def test_only_those_whose_data_cannot_be_recorded_are_simulated_again():
    """The others are kept as they are, and are not simulated one by one."""
    calls = []

    @ta.model(name="far", parameters={"theta": ta.Normal()}, vectorised=True)
    def far(parameters, designs, rng, task):
        calls.append(len(designs))
        theta = parameters["theta"][:, None, None]
        return {"reading": np.where(theta > 2.5, np.nan, theta + 0 * rng.random((len(designs), task.blocks, task.trials)))}

    simulations = ta.simulate_models(NoisyReadings(), [far()], [[1.0]], 1000, np.random.default_rng(1), on_error="skip")
    assert 1 <= len(simulations.failures) <= 30
    np.testing.assert_array_equal(simulations.behavior.fields["reading"][:, 0, 0], simulations.parameters["far.theta"])
    assert all(failure.parameters["theta"] > 2.5 for failure in simulations.failures)
    assert calls[0] == 1000
    assert sum(calls[1:]) < 100
