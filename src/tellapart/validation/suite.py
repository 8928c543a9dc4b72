"""All checks of a study's estimator at once, at the recommended design and at baseline designs side by side.

At "baseline designs" every simulated participant has a design of its own, drawn as the field does by habit: what is shown is
what a scientist who follows the habit can expect, not one lucky or unlucky draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..information.estimate import InformationEstimate
from .answers import Answers, ask, medians
from .calibration import FALSE_ALARM, Calibration, calibration
from .comparison import BaselineComparison, ExactComparison, against_baseline, against_exact, has_likelihoods
from .confusion import Confusion, confusion
from .recovery import AveragedPosterior, Recovery, averaged_posteriors, recovery

if TYPE_CHECKING:
    from ..estimators.base import Estimator

Progress = Callable[[int, int, str], None]
"""Called with (done, in all, a few words)."""


DRAWS_AT = 40
"""Draws from each posterior that is averaged with others: few are enough."""


@dataclass(frozen=True)
class DesignValidation:
    """The checks at one design, or over baseline designs.

    Arguments:
        label: "recommended" or "baseline".
        design: (B, V) as nested tuples; None for baseline designs, of which every participant has one.
        n: Simulated participants.
        confusion: Which model is taken for which, parameters from the prior.
        confusion_at: The same at given parameters.
        recovery: Of each parameter.
        averaged: Averaged marginal posteriors at given parameters.
        calibration: Can probabilities be taken at their word?
        exact: Against the exact answer, where there is one.
    """

    label: str
    design: tuple[tuple[float, ...], ...] | None
    n: int
    confusion: Confusion | None
    confusion_at: Confusion | None
    recovery: tuple[Recovery, ...]
    averaged: tuple[AveragedPosterior, ...]
    calibration: Calibration
    exact: ExactComparison | None


@dataclass(frozen=True)
class Validation:
    """The checks of a study.

    Arguments:
        goal: "discriminate", "estimate" or "both".
        models: M names.
        parameters: The given parameters: model to parameter to value.
        designs: The recommended design, then baseline designs.
        comparison: Information against baseline designs.
        seed: Where randomness started.
    """

    goal: str
    models: tuple[str, ...]
    parameters: dict[str, dict[str, float]]
    designs: tuple[DesignValidation, ...]
    comparison: BaselineComparison | None
    seed: int

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        from pydantic import TypeAdapter

        content: dict[str, Any] = TypeAdapter(Validation).dump_python(self, mode="json")
        return content

    @staticmethod
    def from_json(text: str | bytes) -> Validation:
        """Back from JSON."""
        from pydantic import TypeAdapter

        return TypeAdapter(Validation).validate_json(text)


def validate(
    estimator: Estimator,
    design: ArrayLike,
    *,
    information: InformationEstimate | None = None,
    baseline: Sequence[InformationEstimate] = (),
    parameters: Mapping[str, Mapping[str, float]] | None = None,
    n: int = 1500,
    n_at: int = 1000,
    n_exact: int = 1500,
    seed: int = 0,
    false_alarm: float = FALSE_ALARM,
    progress: Progress | None = None,
) -> Validation:
    """Check an estimator at a design and at baseline designs.

    Arguments:
        design: The recommended one, (B, V).
        information: Its information.
        baseline: The information of baseline designs.
        parameters: Model to parameter to value, for the checks at given parameters; the middle of the prior where not given.
        n: Simulated participants of each design.
        n_at: Participants of each model in the checks at given parameters.
        n_exact: Participants whose exact posteriors are computed; 0 for none.
        false_alarm: How often a perfect estimator may be complained about, at each design.
    """
    goal = estimator.goal
    at = {model.name: {**medians(model), **(parameters or {}).get(model.name, {})} for model in goal.models}
    at |= {name: dict(values) for name, values in (parameters or {}).items() if name not in at}
    checker = _Checker(estimator, at, n, n_at, n_exact if has_likelihoods(goal.models) else 0, false_alarm, seed, progress)
    habit = goal.task.baseline(max(n, n_at * len(goal.models)), np.random.default_rng([seed, 0]))
    checked = (checker.check(0, "recommended", np.asarray(design, dtype=np.float64)), checker.check(1, "baseline", habit))
    comparison = against_baseline(information, baseline) if information is not None and baseline else None
    return Validation(goal.name, tuple(model.name for model in goal.models), at, checked, comparison, seed)


@dataclass(frozen=True, eq=False)
class _Checker:
    """What all designs are checked with; see `validate`."""

    estimator: Estimator
    parameters: Mapping[str, Mapping[str, float]]
    n: int
    n_at: int
    n_exact: int
    false_alarm: float
    seed: int
    progress: Progress | None

    def check(self, place: int, label: str, designs: np.ndarray[Any, np.dtype[np.float64]]) -> DesignValidation:
        """All checks at `designs`: (B, V), or (N, B, V)."""
        goal, rng = self.estimator.goal, np.random.default_rng([self.seed, 1, place])
        self._tell(place, 0, f"participants at the {label} design")
        answers = ask(self.estimator, designs, self.n, rng)
        self._tell(place, 1, f"given parameters at the {label} design")
        at = ask(self.estimator, designs, self.n_at * len(goal.models), rng, DRAWS_AT, self.parameters)
        self._tell(place, 2, f"exact answers at the {label} design")
        exact = self._exact(answers)
        averaged = averaged_posteriors(at, exact=self.n_exact > 0) if goal.about_parameters else ()
        self._tell(place, 3, f"calibration at the {label} design")
        found = DesignValidation(
            label,
            tuple(map(tuple, designs.tolist())) if designs.ndim == 2 else None,
            len(answers.simulations),
            confusion(answers) if goal.about_models else None,
            confusion(at) if goal.about_models else None,
            recovery(answers) if goal.about_parameters else (),
            averaged,
            calibration(answers, rng, self.false_alarm),
            exact,
        )
        self._tell(place, 4, f"the {label} design is done")
        return found

    def _exact(self, answers: Answers) -> ExactComparison | None:
        """Against the exact answer, for the first participants."""
        count = min(self.n_exact, len(answers.simulations))
        return against_exact(self.estimator, answers.first(count)) if count else None

    def _tell(self, place: int, done: int, words: str) -> None:
        if self.progress:
            self.progress(4 * place + done, 8, words)
