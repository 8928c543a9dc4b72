"""All checks of a study's estimator at once, at the recommended design and at baseline designs side by side.

At "baseline designs" every simulated participant has a design of its own, drawn at random as the task says: what is shown is
what a scientist who chooses so can expect, not one lucky or unlucky draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Mapping

import numpy as np
from numpy.typing import ArrayLike
from pydantic import TypeAdapter

from ..errors import ModelError, nearest
from ..estimators.base import Estimator
from ..information.estimate import Floats, InformationEstimate
from ..models.evidence import have_likelihoods
from ..priors import medians
from ..progress import Progress, unheard
from ..question import Question
from ..search.base import Baseline
from .calibration import FALSE_ALARM, Calibration, calibration
from .comparison import BaselineComparison, ExactComparison, Reading, against_baseline, against_exact
from .confusion import Confusion, confusion
from .participants import take_part
from .reader import read_independently, readable
from .recovery import AveragedPosterior, Recovery, averaged_posteriors, recovery

PURPOSE = 101
"""Follows the seed of all that is simulated here, so that nothing is simulated again that an estimator was trained on."""

VERSION = 3
"""Of the form in which checks are kept."""

READ = 230_000
"""Participants that an independent reader learns from, unless the estimator itself learned from few."""

FEWEST = 30
"""Of fewer participants nothing is said."""

DRAWS_AT = 40
"""Draws from each posterior that is averaged with others: few are enough."""


@dataclass(frozen=True)
class DesignValidation:
    """The checks at one design, or over baseline designs.

    Arguments:
        label: "recommended" or "baseline".
        design: (B, V) as nested tuples; None for baseline designs, of which every participant has one.
        failed: How many participants could not be simulated, so that others took their places.
        confusion: Which model is taken for which, parameters from the prior.
        confusion_at: The same at given parameters.
        averaged: Averaged marginal posteriors at given parameters.
        calibration: Are probabilities as good as they say, for complete data?
        missed: Are they for participants who missed up to half of the trials, and for those who missed more? With who they are, in words;
            empty if the estimator takes complete data only.
        exact: Against what likelihoods tell, where there are some.
        reading: What an independent reader found that the estimator missed, if one looked.
    """

    label: str
    design: tuple[tuple[float, ...], ...] | None
    n: int
    failed: int
    confusion: Confusion | None
    confusion_at: Confusion | None
    recovery: tuple[Recovery, ...]
    averaged: tuple[AveragedPosterior, ...]
    calibration: Calibration
    missed: tuple[tuple[str, Calibration], ...]
    exact: ExactComparison | None
    reading: Reading | None = None


@dataclass(frozen=True)
class Validation:
    """The checks of a study.

    Arguments:
        goal: "discriminate", "estimate" or "both".
        models: M names.
        parameters: The given parameters: model to parameter to value.
        designs: The recommended design, then baseline designs if the estimator serves them.
        comparison: Information against baseline designs.
        version: Of this form: checks of another one are made again.
    """

    goal: str
    models: tuple[str, ...]
    parameters: dict[str, dict[str, float]]
    designs: tuple[DesignValidation, ...]
    comparison: BaselineComparison | None
    seed: int
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        content: dict[str, Any] = TypeAdapter(Validation).dump_python(self, mode="json")
        return content

    @staticmethod
    def from_json(kept: Mapping[str, Any]) -> Validation:
        """Back from `to_json`."""
        return TypeAdapter(Validation).validate_python(kept)


def validate(
    estimator: Estimator,
    design: ArrayLike,
    *,
    information: InformationEstimate | None = None,
    baseline: Baseline | None = None,
    parameters: Mapping[str, Mapping[str, float]] | None = None,
    every_design: bool = True,
    n: int = 1500,
    n_at: int = 1000,
    n_exact: int = 1500,
    n_reader: int = READ,
    seed: int = 0,
    false_alarm: float = FALSE_ALARM,
    progress: Progress = unheard,
) -> Validation:
    """Check an estimator at a design and at baseline designs.

    Arguments:
        design: The recommended one, (B, V).
        information: Its information.
        baseline: What baseline designs tell, as the search estimated it.
        parameters: Model to parameter to value, for the checks at given parameters; the middle of the prior where not given.
        every_design: Does the estimator serve every design? One that was trained at `design` is not judged by others.
        n: Simulated participants of each design.
        n_at: Participants of each model, on average, in the checks at given parameters.
        n_exact: Participants whose exact posteriors are computed; 0 for none.
        n_reader: Participants that an independent reader learns from, where likelihoods do not tell how much is missing; 0 for none.
        false_alarm: How often a perfect estimator may be complained about, at each design.
    """
    question, task = estimator.question, estimator.task
    at, exact = _true_values(question, parameters or {}), n_exact if have_likelihoods(question.models) else 0
    where = {"recommended": np.asarray(design, dtype=np.float64)}
    if every_design:
        where["baseline"] = task.baseline(max(2 * n, n_at * len(question.models)), np.random.default_rng([seed, PURPOSE]))
    checker = _Checker(estimator, at, n, n_at, exact, false_alarm, seed, len(where), progress)
    checked = [checker.check(place, label, designs) for place, (label, designs) in enumerate(where.items())]
    told = all(part.exact and part.exact.exact for part in checked)
    if n_reader and not told and readable(estimator):
        seeds = (seed, PURPOSE, 1 + len(where))
        readings = read_independently(estimator, where["recommended"], where.get("baseline"), seeds, n_reader, progress=progress)
        checked = [replace(part, reading=reading) for part, reading in zip(checked, readings, strict=True)]
    comparison = against_baseline(information, baseline) if information and baseline else None
    return Validation(question.goal, question.names, at, tuple(checked), comparison, seed)


def _true_values(question: Question, given: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """The parameters of every model: those given, the middle of the prior for the others."""
    values = {model.name: medians(model.parameters) for model in question.models}
    for model, parameters in given.items():
        if model not in values:
            raise ModelError(f"The study has no model '{model}'.", expected=" or ".join(values), fix=nearest(model, list(values)))
        for name, value in parameters.items():
            if name not in values[model]:
                fix = nearest(name, list(values[model]))
                raise ModelError(f"The model '{model}' has no parameter '{name}'.", expected=", ".join(values[model]), fix=fix)
            values[model][name] = float(value)
    return values


@dataclass(frozen=True, eq=False)
class _Checker:
    """What all designs are checked with; see `validate`."""

    estimator: Estimator
    parameters: dict[str, dict[str, float]]
    n: int
    n_at: int
    n_exact: int
    false_alarm: float
    seed: int
    designs: int
    progress: Progress

    def check(self, place: int, label: str, designs: Floats) -> DesignValidation:
        """All checks at `designs`: (B, V), or (N, B, V)."""
        question, rng = self.estimator.question, np.random.default_rng([self.seed, PURPOSE, 1 + place])

        def tell(done: int, detail: str) -> None:
            self.progress(5 * place + done, 5 * self.designs, f"the {label} design{'s' if designs.ndim == 3 else ''}", detail)

        tell(0, "participants")
        whole = take_part(self.estimator, designs, self.n, rng)
        tell(1, "participants with given parameters")
        at = take_part(self.estimator, designs, self.n_at * len(question.models), rng, draws=DRAWS_AT, parameters=self.parameters)
        tell(2, "exact answers")
        count = min(self.n_exact, len(whole))
        exact = against_exact(self.estimator, whole.among(np.arange(len(whole)) < count), rng) if count else None
        averaged = averaged_posteriors(at, exact=exact is not None and exact.exact)
        tell(3, "calibration")
        incomplete = not self.estimator.complete_only
        level = self.false_alarm / (3 if incomplete else 1)
        calibrated, failed = calibration(whole, rng, level), whole.failed + at.failed
        missed: list[tuple[str, Calibration]] = []
        if incomplete:
            tell(4, "calibration with missed trials")
            gaps = take_part(self.estimator, designs, 2 * self.n, rng, missed=True)
            share, failed = gaps.simulations.behavior.mask.mean((1, 2)), failed + gaps.failed
            groups = (("up to half of the trials missed", share >= 0.5), ("more than half of the trials missed", share < 0.5))
            missed = [(who, calibration(gaps.among(them), rng, level)) for who, them in groups if them.sum() >= FEWEST]
        tell(5, "done")
        return DesignValidation(
            label,
            tuple(map(tuple, designs.tolist())) if designs.ndim == 2 else None,
            len(whole),
            failed,
            confusion(whole) if question.about_models else None,
            confusion(at) if question.about_models else None,
            recovery(whole),
            averaged,
            calibrated,
            tuple(missed),
            exact,
        )
