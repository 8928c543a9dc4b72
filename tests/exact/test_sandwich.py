"""On every task with likelihoods: upper bound >= exact information >= lower bound, up to noise.

Each side by 4.5 standard errors of a paired difference, in 14 comparisons: the false-alarm rate of all is below 1e-4.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.between import information_between
from tellapart.information.exact import exact_values, log_evidences
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / name / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Hidden(ta.LikelihoodModel):
    """A model that keeps its evidence to itself."""

    model: ta.LikelihoodModel

    @property
    def name(self):
        return self.model.name

    @property
    def parameters(self):
        return self.model.parameters

    def simulate(self, parameters, designs, rng, task):
        return self.model.simulate(parameters, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        return self.model.log_likelihood(parameters, behavior, designs, task)


BANDIT, DISCOUNTING, RETENTION = ta.BernoulliBandit(3, 2, 5), example("discounting"), example("retention")
ASKED = {
    "bandits": (BANDIT, (ta.WSLTS(), ta.AEG()), "both"),
    "aeg": (BANDIT, (ta.AEG(),), "estimate"),
    "readings": (NoisyReadings(2, 3), (HiddenNumber(),), "estimate"),
    "discounting": (DISCOUNTING.Questions(4, 3), (DISCOUNTING.exponential(), DISCOUNTING.hyperbolic()), "discriminate"),
    "retention": (RETENTION.Retention(3, 6), (RETENTION.power(), RETENTION.exponential()), "both"),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_exact_information_lies_between(name):
    task, models, goal = ASKED[name]
    rng, n = np.random.default_rng(1), 200
    question = ta.Question(tuple(models), goal)
    people = question.simulate(task, task.baseline(n, rng), n, rng)
    hidden = ta.Question(tuple(map(Hidden, models)), goal)
    lower, upper, _ = information_between(task, hidden, people, rng, draws=64)
    values = exact_values(task, question, people, log_evidences(task, question, people.behavior, people.designs))
    exact = ta.Pointwise(values, people.model, question.prior, "exact")
    for low, high in ((lower, exact), (exact, upper)):
        gain = high.minus(low)
        assert gain.nats > -4.5 * gain.se - 1e-9
    assert upper.minus(lower).nats < 0.5


@dataclass(frozen=True)
class Level(ta.LikelihoodModel):
    """Readings of one of three levels."""

    name = "level"

    @property
    def parameters(self):
        return {"theta": ta.Categorical((0.5, 0.3, 0.2))}

    def simulate(self, parameters, designs, rng, task):
        return HiddenNumber().simulate(parameters, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        return HiddenNumber().log_likelihood(parameters, behavior, designs, task)


class Elsewhere:
    """A proposal that knows nothing of the data and leans to one side, also within the step of a level."""

    def draw(self, m, behavior, designs, draws, rng):
        return 1.5 + 0.5 * rng.standard_normal((draws, len(behavior), 1))

    def log_density(self, m, behavior, designs, z):
        return -0.5 * ((z[..., 0] - 1.5) / 0.5) ** 2 - np.log(0.5 * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("draws", [4, 256])
def test_a_wrong_proposal_breaks_nothing_for_levels(draws):
    task, question, n = NoisyReadings(1, 2), ta.Question((Level(),), "estimate"), 6000
    rng = np.random.default_rng(2)
    people = question.simulate(task, np.ones((n, 1, 1)), n, rng)
    lower, upper, _ = information_between(task, question, people, rng, Elsewhere(), draws)
    logs = [Level().log_likelihood({"theta": np.full(n, level)}, people.behavior, people.designs, task) for level in (0.0, 1.0, 2.0)]
    given = Level().log_likelihood(people.truth(0), people.behavior, people.designs, task)
    marginal = np.log(np.exp(np.stack(logs, -1)) @ np.array([0.5, 0.3, 0.2]))
    exact = ta.Pointwise(given - marginal, people.model, question.prior, "exact")
    for low, high in ((lower, exact), (exact, upper)):
        gain = high.minus(low)
        assert gain.nats > -4.5 * gain.se
