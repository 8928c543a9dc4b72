"""The evidence of each person for each model: by likelihoods where every model has one, else by the network.

People are not simulations: what they do may be rare under every prior, and there a network has seen little. A likelihood knows no such
places. With draws z_1 … z_L on the normal scale, a share of them from the network's posterior q(z | y) and the rest from the prior,

    p(y) ≈ the average over l of p(y | z_l) p(z_l) / mixture(z_l),     mixture = share q + (1 - share) prior,

and the same weights make draws from the exact posterior. The spread of weights gives the error of each evidence. The prior's part keeps
weights bounded where the network is wrong. Where the error is large, better draws are proposed from around the best of these
(`importance.py`). Models that integrate their own likelihood give their evidence without error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ..behavior import Behavior
from ..estimators.base import Estimator
from ..models.base import IntegratedModel, LikelihoodModel
from ..models.evidence import have_likelihoods, log_likelihoods
from ..models.logsumexp import logsumexp
from ..posterior import FOLLOWED, at_the_edge
from ..progress import Progress, unheard
from ..question import Question
from .frequencies import Counts, Floats
from .importance import Weighted, sharpened

NETWORK = 0.8
"""The share of draws that come from the network, where it has a posterior of the parameters."""

WORK = 4_000_000
"""Pairs of a person and a draw whose likelihood is asked for, of a model, at most."""

FEW = 50.0
"""Fewer effective draws of a person than this are too few."""

UNSURE = 0.3
"""The standard error of a log evidence from which on it cannot be told either: fewer than a dozen draws, 1 / error², carry the weight."""


@dataclass(frozen=True, eq=False)
class PeopleEvidence:
    """What is known of each of N people by itself.

    Arguments:
        log_evidence: For each of M models, up to a constant for each person, (N, M).
        se: Standard errors of these, (N, M); 0 where there is none.
        draws: Model name to posterior draws of the parameters asked about, on the normal scale, (N, L, P).
        route: "likelihoods", "network" or "refined network".
        words: What was done, in a sentence or two.
    """

    log_evidence: Floats
    se: Floats
    draws: Mapping[str, Floats] = field(default_factory=dict)
    route: str = "network"
    words: str = ""

    def __getitem__(self, who: NDArray[np.bool_]) -> PeopleEvidence:
        """Some of the people."""
        draws = {model: z[who] for model, z in self.draws.items()}
        return PeopleEvidence(self.log_evidence[who], self.se[who], draws, self.route, self.words)

    def doubtful(self, question: Question) -> NDArray[Any]:
        """Why parameters of somebody are not to be believed, in words, (N,), empty for most.

        By likelihoods: so few different draws fit that they say little of what else would. By a network: it has seen hardly anybody there.
        """
        shares, nothing = self.probabilities(question.prior), np.zeros((len(self.se), 1, 0))
        draws = {name: (tuple(question.parameters(m)), self.draws.get(name, nothing)) for m, name in enumerate(question.names)}
        if self.route != "likelihoods":
            return at_the_edge(draws, shares)
        texts = np.full(len(self.se), "", object)
        for m, (model, (_, z)) in enumerate(draws.items()):
            for n in np.flatnonzero(shares[:, m] >= FOLLOWED) if z.shape[2] else ():
                counts = np.unique(z[n], axis=0, return_counts=True)[1]
                effective = float(counts.sum() ** 2 / (counts**2).sum())
                if effective < FEW:
                    texts[n] += f"{'; ' if texts[n] else ''}{model}: {effective:.0f} draws carry the weight"
        return texts

    def probabilities(self, prior: Sequence[float]) -> Floats:
        """Model probabilities of each person by itself, (N, M)."""
        joint = self.log_evidence + np.log(prior)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))


def draws_for(people: int) -> int:
    """How many draws of each person: the more people, the fewer, as memory has it."""
    return int(np.clip(400_000 // max(people, 1), 1_000, 10_000))


def network_evidence(estimator: Estimator, behavior: Behavior, designs: Floats, draws: int | None = None, seed: int = 0) -> PeopleEvidence:
    """Evidences and draws by the network alone: p(y | m) is p(m | y) / p(m), up to a constant."""
    question, rng = estimator.question, np.random.default_rng(seed)
    inputs, log_p = estimator.inputs(behavior, designs), np.zeros((len(behavior), 1))
    count = draws_for(len(behavior)) if draws is None else draws
    if question.about_models:
        log_p = estimator.log_probabilities(inputs).cpu().numpy() - question.log_prior
    z = {model.name: estimator.draws(inputs, m, count, rng) for m, model in enumerate(question.models) if question.parameters(m)}
    words = "Model probabilities and parameters are the network's, which was trained on simulations with parameters from the priors."
    return PeopleEvidence(log_p, estimator.log_evidence_se(inputs).double().cpu().numpy(), z, "network", words)


def likelihood_evidence(
    estimator: Estimator, behavior: Behavior, designs: Floats, draws: int | None = None, seed: int = 0, progress: Progress = unheard
) -> PeopleEvidence:
    """Evidences and draws by likelihoods, the network proposing parameters."""
    estimator = estimator.quick  # draws are proposed by flows
    question, rng = estimator.question, np.random.default_rng(seed)
    count = draws_for(len(behavior)) if draws is None else draws
    columns, errors, kept = [], [], {}
    assert have_likelihoods(question.models)
    for m, model in enumerate(question.models):
        progress(m, len(question.models), "evidence by likelihoods", model.name)
        priors = question.parameters(m)
        weighted = None
        if priors or not isinstance(model, IntegratedModel):
            weighted = _weigh(estimator, m, model, behavior, designs, min(count, max(WORK // max(len(behavior), 1), 200)), rng)
        if isinstance(model, IntegratedModel):
            columns.append(model.log_evidence(behavior, designs, estimator.task))
            errors.append(np.zeros(len(behavior)))
        else:
            assert weighted is not None
            columns.append(weighted.log_evidence)
            errors.append(weighted.se)
        if priors and weighted is not None:
            kept[model.name] = weighted.resampled(rng)[..., question.places(m)]
    progress(1, 1, "evidence by likelihoods")
    log_p, se = np.stack(columns, axis=1), np.stack(errors, axis=1)
    network = bool(getattr(estimator, "flows", {}))
    return PeopleEvidence(log_p, se, kept, "likelihoods", _in_words(se, network))


def _in_words(se: Floats, network: bool) -> str:
    """What was done; did the `network` propose parameters?"""
    if not se.any():
        return "Evidences were computed from the models' likelihoods, which every model integrates by its own method."
    proposed = "proposed by the network and the prior" if network else "drawn from the prior"
    better = "where too few of those fit, around the best of them"
    return f"Evidences were computed from the models' likelihoods, at parameters {proposed} and, {better}; {errors_of(se)}."


def errors_of(se: Floats) -> str:
    """Standard errors of log evidences in words; one of them is not 0."""
    middle, most = float(np.median(se[se > 0])), float(se.max())
    return f"standard errors of log evidences are {middle:.3f} (median) and {most:.3f} at most{beyond(most)}"


def beyond(se: float) -> str:
    """What has to be added to a standard error of a log evidence, from the number on at which it is none."""
    return f"; above {UNSURE} they are too low, since a few draws carry the weight, and the error may be several times as large" * (
        se > UNSURE
    )


def _weigh(
    estimator: Estimator, m: int, model: LikelihoodModel, behavior: Behavior, designs: Floats, count: int, rng: np.random.Generator
) -> Weighted:
    """Draws weighted to the posterior of model number `m`: the first from the network and the prior, and better ones where they fail."""
    z = rng.standard_normal((len(behavior), count, len(model.parameters)))
    log_mixture = np.zeros((len(behavior), count))  # relative to the prior
    flow = getattr(estimator, "flows", {})
    if f"{m}" in flow:
        columns = estimator.question.places(m)
        from_network = int(NETWORK * count)
        z[:, :from_network, columns] = estimator.draws(estimator.inputs(behavior, designs), m, from_network, rng)
        ratio = _log_ratio(estimator, m, behavior, designs, z[..., columns])
        log_mixture = np.logaddexp(np.log(NETWORK) + ratio, np.log(1 - NETWORK))

    def score(who: Counts, draws: Floats) -> Floats:
        theta = {name: prior.from_normal(draws[..., p]) for p, (name, prior) in enumerate(model.parameters.items())}
        log_p = log_likelihoods(model, theta, behavior[who], designs[who], estimator.task)
        return np.where(np.isnan(log_p), -np.inf, log_p)

    return sharpened(Weighted(z, score(np.arange(len(behavior)), z) - log_mixture), score, rng)


def _log_ratio(estimator: Any, m: int, behavior: Behavior, designs: Floats, z: Floats) -> Floats:
    """log q(z | y) / p(z) by the network's flow, (N, L)."""
    flow, rows = estimator.flows[f"{m}"], []
    with torch.no_grad():
        summaries = torch.from_numpy(estimator.summaries(behavior, designs)).to(estimator.device)
        for person, s in zip(z, summaries, strict=True):
            points = torch.from_numpy(person.astype(np.float32)).to(estimator.device)
            rows.append(flow.information(points, s.expand(len(points), -1)).double().cpu().numpy())
    return np.stack(rows)
