"""How many people? The share of studies that reach the right conclusion, against the number of people, by simulated groups.

People are simulated once, each with what the study would learn of them (evidences, posterior draws). Groups are drawn from these
people, as many as the assumed population says, and analysed as real ones would be. So hundreds of groups cost no simulation at all; and
as a group of 40 begins with the group of 20, the curve is smooth.

What a study may want to conclude is in `power_models.py` and `power_parameters.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import norm

from ..progress import Progress, unheard
from .frequencies import Counts, Floats

Stages = Sequence[Sequence[int]]
Verdicts = Callable[[np.random.Generator, Sequence[int]], list[bool]]
"""Whether one study, drawn by a generator, comes to the right conclusion with each of some numbers of people."""

STAGES: Stages = ((5, 8, 12, 16, 20, 25, 30, 40), (50, 65, 80, 100), (130, 160, 200), (250, 320, 400), (500, 600, 800))
"""Numbers of people that are tried for each group, a stage after the other until enough studies are right."""

MOST_PEOPLE = 1_000
"""People that are drawn for a group, so that a study has the same ones at every stage."""

REFINED = 2
"""How often a size is added where the target is reached."""

ENOUGH = 0.98
"""A curve ends where this share of studies is right."""


@dataclass(frozen=True, eq=False)
class PowerCurve:
    """The share of studies with the right conclusion, against the number of people.

    Arguments:
        conclusion: What is to be found, in words.
        sizes: Numbers of people (in each group, if there are two), ascending, (S,).
        share: Of studies that are right, (S,).
        studies: How many were simulated at each size.
        groups: How many groups of that size a study has.
        people: How many simulated people groups are drawn from, in effect: a sum over n of them is known to n / people of its variance.
        failed: How many of the people who were simulated for it could not be.
    """

    conclusion: str
    sizes: Counts
    share: Floats
    studies: int
    groups: int = 1
    people: float = np.inf
    failed: int = 0

    @property
    def se(self) -> Floats:
        """Standard errors of `share`, (S,): over studies, and over the simulated people, who are the same in all of them.

        Other people would move all studies alike. A study is right if a sum over its n people passes a threshold; the mean of that sum is
        known to a share sqrt(n / people) of its spread, and the share of studies that pass changes by the normal density there.
        """
        over_studies = (self.share * (1 - self.share) + 0.25 / self.studies) / self.studies
        inside = (self.share * self.studies + 0.5) / (self.studies + 1)
        return np.asarray(np.sqrt(over_studies + norm.pdf(norm.ppf(inside)) ** 2 * self.sizes / self.people))

    def needed(self, target: float = 0.8) -> float | None:
        """The least number of people (in each group) with which the target is reached; none if it is not reached.

        More people are never worse, so the curve is first made to rise (isotonic regression); between sizes it is a line.
        """
        return self._reached(self.share, target)

    def limits(self, target: float = 0.8) -> tuple[float | None, float | None]:
        """The same number if all shares were two standard errors higher, and if they were two lower: all are of the same studies."""
        return self._reached(self.share + 2 * self.se, target), self._reached(self.share - 2 * self.se, target)

    def _reached(self, share: Floats, target: float) -> float | None:
        rising = isotonic_regression(share).x
        if rising[-1] < target:
            return None
        last = int(np.argmax(rising >= target))
        if last == 0:
            return float(self.sizes[0])
        (x0, x1), (y0, y1) = self.sizes[last - 1 : last + 1], rising[last - 1 : last + 1]
        return float(x0 + (x1 - x0) * (target - y0) / (y1 - y0))

    def between(self, target: float) -> list[int]:
        """A size to try next, to know better where the target is reached; none where neighbours are close enough."""
        rising = isotonic_regression(self.share).x
        last = int(np.argmax(rising >= target))
        low, high = (int(size) for size in self.sizes[last - 1 : last + 1]) if last else (0, 0)
        return [round((low * high) ** 0.5)] if high > 1.15 * low + 1 and low else []

    def to_json(self, target: float = 0.8) -> dict[str, Any]:
        low, high = self.limits(target)
        points = zip(self.sizes.tolist(), self.share.tolist(), self.se.tolist(), strict=True)
        return ({"failed": self.failed} if self.failed else {}) | {
            "conclusion": self.conclusion,
            "groups": self.groups,
            "target": target,
            "needed": self.needed(target),
            "needed_low": low,
            "needed_high": high,
            "curve": [{"people": size, "share": share, "se": se} for size, share, se in points],
        }


def power_curve(
    conclusion: str,
    right: Verdicts,
    *,
    groups: int = 1,
    people: float = np.inf,
    stages: Stages = STAGES,
    studies: int = 400,
    target: float = 0.8,
    seed: int = 0,
    progress: Progress = unheard,
) -> PowerCurve:
    """The share of simulated studies that are right at each size.

    Later stages are made only if earlier ones have not shown enough; then sizes are added where the target is reached.
    """
    shares: dict[int, float] = {}

    def measure(sizes: Sequence[int], stage: str) -> PowerCurve:
        verdicts = []
        for study in range(studies):
            verdicts.append(right(np.random.default_rng([seed, study]), sizes))
            progress(study + 1, studies, stage)
        shares.update(zip(sizes, np.mean(verdicts, axis=0).tolist(), strict=True))
        order = sorted(shares)
        return PowerCurve(conclusion, np.array(order, np.intp), np.array([shares[n] for n in order]), studies, groups, people)

    for stage in stages:
        curve = measure(stage, f"groups of {stage[0]}" + (f" to {stage[-1]}" if len(stage) > 1 else ""))
        if curve.share[-1] >= ENOUGH:
            break
    for _ in range(REFINED):
        between = curve.between(target)
        curve = measure(between, f"groups of {between[0]}") if between else curve
    return curve
