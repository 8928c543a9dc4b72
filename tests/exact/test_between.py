"""Bounds by likelihood where integrals are sampled: below and above the truth, closing as draws grow, called exact only if they agree."""

from dataclasses import dataclass

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.between import information_between
from tellapart.information.exact import exact_pointwise
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings

TASK, DESIGN = NoisyReadings(1, 2), np.array([[1.0]])


@dataclass(frozen=True)
class Sampled(ta.LikelihoodModel):
    """The hidden number, with `spare` parameters that do nothing, and no integral of its own."""

    spare: int = 0
    name = "sampled"

    @property
    def parameters(self):
        return {"theta": ta.Normal(), **{f"spare_{i}": ta.Uniform() for i in range(self.spare)}}

    def simulate(self, parameters, designs, rng, task):
        return HiddenNumber().simulate({"theta": parameters["theta"]}, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        return HiddenNumber().log_likelihood({"theta": parameters["theta"]}, behavior, designs, task)


class Prior:
    """A proposal that knows nothing."""

    def __init__(self, size=1):
        self.size = size

    def draw(self, m, behavior, designs, draws, rng):
        return rng.standard_normal((draws, len(designs), self.size))

    def log_density(self, m, behavior, designs, z):
        return -0.5 * (z**2 + np.log(2 * np.pi)).sum(-1)


class Right:
    """The posterior itself as a proposal."""

    def __init__(self, spread=1.0):
        self.spread = spread

    def _moments(self, behavior, designs):
        mean, variance = HiddenNumber().posterior_moments(behavior, designs, TASK)
        return mean, self.spread * np.sqrt(variance)

    def draw(self, m, behavior, designs, draws, rng):
        mean, sd = self._moments(behavior, designs)
        return (mean + sd * rng.standard_normal((draws, len(mean))))[..., None]

    def log_density(self, m, behavior, designs, z):
        mean, sd = self._moments(behavior, designs)
        return -0.5 * ((z[..., 0] - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


def simulated(question, n, seed=0):
    return question.simulate(TASK, np.broadcast_to(DESIGN, (n, 1, 1)), n, np.random.default_rng(seed))


@pytest.mark.parametrize("draws", [8, 64, 1024])
def test_the_truth_lies_between_and_the_bounds_close(draws):
    """Each side by more than 4.5 standard errors of a paired difference: false-alarm rate below 1e-5."""
    question, exact = ta.Question((Sampled(),), "estimate"), ta.Question((HiddenNumber(),), "estimate")
    people = simulated(question, 4000)
    lower, upper, _ = information_between(TASK, question, people, np.random.default_rng(1), draws=draws)
    truth = exact_pointwise(TASK, exact, DESIGN, 4000, np.random.default_rng(0))
    assert (lower.kind, upper.kind) == ("lower bound", "upper bound")
    for low, high in ((lower, truth), (truth, upper)):
        gain = high.minus(low)
        assert gain.nats > -4.5 * gain.se
    assert upper.minus(lower).nats < 4.0 / draws


def test_a_good_proposal_closes_the_gap_and_a_bad_one_breaks_nothing():
    question = ta.Question((Sampled(),), "estimate")
    people = simulated(question, 2000)
    gaps = {}
    for name, proposal in (("prior", Prior()), ("first look", None), ("right", Right()), ("too narrow", Right(0.2))):
        lower, upper, _ = information_between(TASK, question, people, np.random.default_rng(1), proposal, draws=16)
        gaps[name] = upper.minus(lower).nats
        assert lower.estimate().nats - 4.5 * lower.estimate().se < HiddenNumber.information(DESIGN, TASK)
        assert upper.estimate().nats + 4.5 * upper.estimate().se > HiddenNumber.information(DESIGN, TASK)
    assert gaps["right"] < 0.3 * gaps["prior"]
    assert gaps["first look"] < 0.5 * gaps["prior"]


def test_a_first_look_finds_what_the_prior_hardly_ever_hits():
    """Sixty precise readings: of 64 draws from the prior hardly one falls where the posterior is, of those after a first look most do."""
    task, design, question = NoisyReadings(2, 30), np.full((2, 1), 3.0), ta.Question((Sampled(1),), "estimate")
    people = question.simulate(task, np.broadcast_to(design, (200, 2, 1)), 200, np.random.default_rng(0))
    by_prior, by_look = (
        information_between(task, question, people, np.random.default_rng(1), proposal, draws=64) for proposal in (Prior(2), None)
    )
    assert by_look.upper.minus(by_look.lower).nats < 0.25 * by_prior.upper.minus(by_prior.lower).nats


def test_without_luck_the_mean_is_the_same_and_the_noise_less():
    """A z-test against the truth, false alarm 1e-5. Of the variance 2/3, by hand, 4/9 is luck."""
    question, designs = ta.Question((Sampled(),), "estimate"), np.broadcast_to(DESIGN, (2000, 1, 1))
    people = question.simulate(TASK, designs, 2000, np.random.default_rng(3))
    upper = information_between(TASK, question, people, np.random.default_rng(4), draws=256).upper
    with_luck, without = upper.estimate(), upper.without_luck().estimate()
    assert abs(without.nats - HiddenNumber.information(DESIGN, TASK)) < 4.5 * without.se + 0.005
    assert without.se == pytest.approx(np.sqrt(2 / 9 / 2000), rel=0.2)
    assert with_luck.se == pytest.approx(np.sqrt(2 / 3 / 2000), rel=0.2)


def test_what_is_sampled_badly_is_not_called_exact(monkeypatch):
    """Sixty precise readings and no more than four draws."""
    task, design, question = NoisyReadings(2, 30), np.full((2, 1), 3.0), ta.Question((Sampled(3),), "estimate")
    monkeypatch.setattr("tellapart.information.between.DRAWS", 4)
    rough = exact_pointwise(task, question, design, 60, np.random.default_rng(0)).estimate()
    assert rough.kind == "upper bound"
    assert rough.nats > HiddenNumber.information(design, task)


def test_models_are_told_apart_as_exactly_as_by_their_own_integrals():
    @dataclass(frozen=True)
    class Louder(Sampled):
        name = "louder"

        def simulate(self, parameters, designs, rng, task):
            return super().simulate(parameters, 2 * designs, rng, task)

        def log_likelihood(self, parameters, behavior, designs, task):
            return super().log_likelihood(parameters, behavior, 2 * designs, task)

    question = ta.Question((Sampled(), Louder()), "discriminate", prior=(0.7, 0.3))
    lower, upper, _ = information_between(TASK, question, simulated(question, 3000), np.random.default_rng(1), draws=512)
    assert 0 <= upper.minus(lower).nats < 0.02
    assert lower.estimate().nats < question.most
