"""The posterior bound of Barber and Agakov: learn the posterior, and information is what it gains over the prior.

For any conditional distribution q(v | y)

    I(v; y) = E[log p(v | y) / p(v)] >= E[log q(v | y) / p(v)],

with equality if q is the posterior; the gap is the average Kullback-Leibler divergence of q from it. Here q is a
classifier for the model and a normalizing flow for the parameters; for questions about both it is their product,
q(model | y) q(theta | model, y). The variance is far below that of critic bounds, and q *is* the posterior.

Every simulated participant comes with all its parameters, and which model it was says little beside them. So while it learns what is
asked about, the encoder also learns to tell the parameters that are not, roughly and on the side: the same summaries serve both,
and are learned from far fewer participants. The bound and the posterior are those of the question alone.

References:
    Barber & Agakov (2003), The IM algorithm: a variational approach to information maximization.
    Foster et al. (2019), Variational Bayesian optimal experimental design.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..models.simulation import Simulations
from ..networks.base import Encoder
from ..networks.heads import Classifier, Flow, Sketch
from ..question import Question, nuisance
from .base import Batch, Estimator

ASIDE = 0.3
"""How much what nobody asks about counts in training."""


class PosteriorEstimator(Estimator):
    """q(v | y) and its bound.

    Arguments:
        hidden: Units of the hidden layers of classifier and flows.
        transforms: Splines that follow each other in a flow.
        bins: Pieces of a spline.
    """

    log_prior: Tensor

    name: ClassVar[str] = "posterior"
    sources: tuple[str, ...] = ("barber2003im", "foster2019variational")

    def __init__(
        self, question: Question, encoder: Encoder, hidden: tuple[int, ...] = (128, 128), transforms: int = 2, bins: int = 8
    ) -> None:
        super().__init__(question, encoder)
        self.widths = [len(question.parameters(m)) for m in range(len(question.models))]
        if question.about_models:
            self.classifier = Classifier(encoder.summaries, len(question.models), hidden[:1])
            self.register_buffer("log_prior", torch.tensor(question.log_prior, dtype=torch.float32), persistent=False)
        self.flows = nn.ModuleDict({f"{m}": Flow(encoder.summaries, p, transforms, hidden, bins) for m, p in enumerate(self.widths) if p})
        self.rest = nuisance(question)  # the parameters that nobody asks about
        if self.rest:
            self.sketch = Sketch(encoder.summaries, [len(self.rest.parameters(m)) for m in range(len(question.models))])
        if self.flows:
            self.sources = (*self.sources, *Flow.sources)

    def code(self, simulations: Simulations) -> NDArray[np.float32]:
        """The parameters asked about, on the normal scale, and behind them the others."""
        asked = self.question.theta(simulations)
        return np.concatenate([asked, self.rest.theta(simulations)], axis=1) if self.rest else asked

    def loss(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        return self.loss_of(self.encoder(batch.inputs), batch)

    def loss_of(self, summaries: Tensor, batch: Batch) -> Tensor:
        """Minus the bound, where summaries are known already; its gradient is also that of what is learned on the side."""
        loss = -self.bound_of(summaries, batch).mean()
        if self.rest:
            aside = -ASIDE * self.sketch.information(batch.v[:, self.question.widest :], batch.model, summaries).mean()
            loss = loss + aside - aside.detach()
        return loss

    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        return self.bound_of(self.encoder(batch.inputs), batch)

    def bound_of(self, summaries: Tensor, batch: Batch) -> Tensor:
        """The bound where summaries are known already, (N,)."""
        total = torch.zeros(len(batch), device=summaries.device)
        if self.question.about_models:
            log_q = self.classifier(summaries) - self.log_prior
            total = total + log_q.gather(-1, batch.model[:, None]).squeeze(-1)
        for m, chosen in batch.by_model():
            if width := self.widths[m]:
                # of a prior of which a share cannot be simulated, the rest is denser by 1 / (the share that is kept)
                information = self.head(m).information(batch.v[chosen][:, :width], summaries[chosen]) + batch.kept[m]
                total = total.index_add(0, chosen, information)
        return total

    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        log_q: Tensor = self.classifier(self.encoder(inputs))
        return log_q

    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        random = torch.Generator().manual_seed(int(generator.integers(2**63)))  # torch's own one is shared by all threads
        return self.head(model).sample(self.encoder(inputs), draws, random)

    def flow(self, inputs: Tensor, model: int) -> Any:
        return self.head(model).given(self.encoder(inputs))

    def head(self, model: int) -> Flow:
        """The flow of the parameters of a model that are asked about."""
        flow = self.flows[f"{model}"]
        assert isinstance(flow, Flow)
        return flow
