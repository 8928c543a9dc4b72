"""The posterior bound of Barber and Agakov: learn the posterior, and information is what it gains over the prior.

For any conditional distribution q(v | y)

    I(v; y) = E[log p(v | y) / p(v)] >= E[log q(v | y) / p(v)],

with equality if q is the posterior; the gap is the average Kullback-Leibler divergence of q from it. Here q is a
classifier for the model and a normalizing flow for the parameters; for the goal "both" it is their product,
q(model | y) q(theta | model, y). The variance is far below that of critic bounds, and q *is* the posterior.

References:
    Barber & Agakov (2003), The IM algorithm: a variational approach to information maximization.
    Foster et al. (2019), Variational Bayesian optimal experimental design.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from ..networks.encoders import Encoder
from ..networks.heads import Classifier, Flow
from .base import Batch, Estimator, Goal


class PosteriorEstimator(Estimator):
    """q(v | y) and its bound.

    Arguments:
        hidden: Units of the hidden layers of classifier and flows.
        transforms: Splines that follow each other in a flow.
        bins: Pieces of a spline.
    """

    def __init__(self, goal: Goal, encoder: Encoder, hidden: tuple[int, ...] = (128, 128), transforms: int = 2, bins: int = 8) -> None:
        super().__init__(goal, encoder)
        if goal.about_models:
            self.classifier = Classifier(encoder.summaries, len(goal.models), hidden[:1])
        if goal.about_parameters:
            self.flows = nn.ModuleList(Flow(encoder.summaries, len(m.parameters), transforms, hidden, bins) for m in goal.models)

    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        summaries = self.encoder(batch.inputs)
        total = torch.zeros(len(batch), device=summaries.device)
        if self.goal.about_models:
            log_q = self.classifier(summaries).gather(-1, batch.model[:, None]).squeeze(-1)
            total = total + log_q + math.log(len(self.goal.models))
        if self.goal.about_parameters:
            for m in range(len(self.goal.models)):
                mine = torch.nonzero(batch.model == m).squeeze(-1)
                if len(mine):
                    theta = batch.theta[mine][:, : len(self.goal.models[m].parameters)]
                    total = total.index_add(0, mine, self._flow(m).information(theta, summaries[mine]))
        return total

    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        log_q: Tensor = self.classifier(self.encoder(inputs))
        return log_q

    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(generator.integers(2**63)))
            return self._flow(model).sample(self.encoder(inputs), draws)

    def _flow(self, model: int) -> Flow:
        flow = self.flows[model]
        assert isinstance(flow, Flow)
        return flow
