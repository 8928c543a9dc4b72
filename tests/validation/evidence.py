"""Estimators to check: one that is exact, or exact and then tempered on purpose, and one that was trained for a moment."""

from functools import cache

import numpy as np
import pytest
import torch

from tellapart import AEG, GLS, WSLTS, Behavior, BernoulliBandit, Estimator, HistoryEncoder, PosteriorEstimator, Question
from tellapart.information.exact import log_evidences
from tellapart.models.evidence import exact_posterior
from tellapart.networks.base import Encoder
from tellapart.training import Stream, Trainer, TrainingSettings

TASK = BernoulliBandit(arms=3, blocks=2, trials=10)
DESIGN = np.array([[0.1, 0.5, 0.9], [0.3, 0.3, 0.7]])


class Recorded(Encoder):
    """Shows the fields as they are; its summaries are their averages."""

    name = "recorded"

    def __init__(self, task):
        super().__init__(task, len(task.fields), len(task.fields))
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def features(self, behavior):
        return np.stack([behavior.fields[f.name] for f in self.task.fields], -1).astype(np.float64)

    def forward(self, inputs):
        return inputs[..., : self.summaries].mean((1, 2))


class ExactEstimator(Estimator):
    """The exact posterior p(v | y), or p(v | y)^power, normalised: overconfident for a power above 1, underconfident below it."""

    complete_only = True

    def __init__(self, question, task=TASK, power=1.0):
        super().__init__(question, Recorded(task))
        self.power = power

    def code(self, simulations):
        return self.question.theta(simulations)

    def bound(self, batch, generator=None):
        log_q = self.log_model_probabilities(batch.inputs) - torch.from_numpy(self.question.log_prior)
        return log_q.gather(-1, batch.model[:, None]).squeeze(-1)

    def log_model_probabilities(self, inputs):
        behavior = self._behavior(inputs)
        evidence = log_evidences(self.task, self.question, behavior, self._designs(len(behavior))) + self.question.log_prior
        return torch.log_softmax(self.power * torch.from_numpy(evidence), -1)

    def sample_theta(self, inputs, model, draws, generator):
        behavior = self._behavior(inputs)
        posterior = exact_posterior(self.question.models[model], behavior, self._designs(len(behavior)), self.task)
        z = [self._draw(posterior, name, prior, draws, generator) for name, prior in self.question.parameters(model).items()]
        return torch.from_numpy(np.stack(z, -1).astype(np.float32))

    def _draw(self, posterior, name, prior, draws, generator):
        """Draws of one parameter on the normal scale, (draws, N), by inverting the distribution function on its nodes."""
        order = np.argsort(posterior.nodes[name], kind="stable")
        nodes, weights = posterior.nodes[name][order], posterior.weights[name][:, order]
        width = np.gradient(prior.cdf(nodes))
        density = np.where(width > 0, weights / np.maximum(width, 1e-12), 0.0) ** self.power * width
        below = np.cumsum(density, axis=1) - 0.5 * density
        below /= density.sum(axis=1, keepdims=True)
        u = generator.random((len(below), draws))
        return prior.to_normal(np.stack([np.interp(u[i], below[i], nodes) for i in range(len(below))])).T

    def _behavior(self, inputs):
        values = inputs.numpy()
        return Behavior({f.name: values[..., i].astype(f.dtype) for i, f in enumerate(self.task.fields)})

    def _designs(self, n):
        return np.broadcast_to(DESIGN, (n, *DESIGN.shape))


def exact(goal="discriminate", power=1.0, models=None, **asked):
    models = models or ((WSLTS(), AEG()) if goal != "estimate" else (AEG(),))
    return ExactEstimator(Question(tuple(models), goal, **asked), power=power)


def train(question, task=TASK, steps=80, seed=0):
    """A posterior estimator after a few steps of training over baseline designs."""
    torch.manual_seed(seed)
    encoder = HistoryEncoder(task, summaries=16, width=24)
    estimator = PosteriorEstimator(question, encoder, hidden=(32, 32), transforms=1, bins=4)
    trainer = Trainer(estimator, TrainingSettings(learning_rate=5e-3, clip=1.0), steps)
    trainer.run(Stream(estimator, lambda n, rng: task.baseline(n, rng), 96, (seed,), 0.2))
    return estimator.eval()


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small networks are quicker on one thread, much so if the other cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def trained(goal):
    """The estimators below: trained once, though both this folder and that of the report have the fixtures."""
    return (
        train(Question((WSLTS(), AEG()), "both")) if goal == "both" else train(Question((WSLTS(), AEG(), GLS())), BernoulliBandit(3, 2, 30))
    )


@pytest.fixture(scope="session")
def about_both(one_thread):
    """Trained for a moment to tell two models apart and to estimate their parameters."""
    return trained("both")


@pytest.fixture(scope="session")
def about_models(one_thread):
    """Trained for a moment to tell three models apart, with more trials."""
    return trained("discriminate")
