"""How many people does it take to know a parameter's population mean, or that two groups differ in it?

Simulated people have parameters from the prior, N(0, 1) on the normal scale. A population N(mean, spread) is drawn from them with chances
in the ratio of the two densities. Groups are analysed by the chain of `chain.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from ..errors import DataError
from ..models.logsumexp import logsumexp
from ..priors import Prior
from .chain import run_chain
from .frequencies import Counts, Floats
from .parameters import population
from .power import MOST_PEOPLE, PowerCurve, Stages, power_curve

STAGES: Stages = ((8,), (15,), (25,), (40,), (60,), (90,), (130,), (200,), (300,))
SWEEPS, BURN_IN, STUDIES = 2_400, 300, 60


@dataclass(frozen=True, eq=False)
class SimulatedPeople:
    """People of one model, with parameters from the prior, and what the study would learn of one of these.

    Arguments:
        name: The parameter that is asked about.
        prior: Its prior.
        truth: Its true values on the normal scale, (N,).
        draws: Posterior draws of all parameters on the normal scale, the one asked about first, (N, L, P).
        failed: How many could not be simulated, and have others in their place.
    """

    name: str
    prior: Prior
    truth: Floats
    draws: Floats
    failed: int = 0

    def chances(self, mean: float, spread: float) -> Floats:
        """The chance of each to be drawn for a population N(mean, spread), (N,)."""
        log_w = 0.5 * (self.truth**2 - ((self.truth - mean) / spread) ** 2)
        chance = np.exp(log_w - logsumexp(log_w))
        effective = effective_people(chance)
        if effective < 100:
            fix = "ask about a population nearer to the prior, or simulate more people"
            raise DataError("Too few simulated people are like that population.", expected="100 or more", got=f"{effective:.0f}", fix=fix)
        return np.asarray(chance / chance.sum())

    def means(self, chosen: Counts, rng: np.random.Generator) -> Floats:
        """Draws of the population mean on the parameter's own scale, given the chosen people."""
        mu, sigma, *_ = run_chain(self.draws[chosen], np.full(len(chosen), np.inf), SWEEPS, BURN_IN, 2, rng)
        return np.asarray(population(self.prior, mu[:, 0], sigma[:, 0])[0])


def effective_people(chances: Floats) -> float:
    """How many people are drawn from, who have these chances to be drawn: as many as if all had the same."""
    return 1 / float((chances**2).sum())


def parameter_within(
    people: SimulatedPeople,
    width: float,
    *,
    mean: float = 0.0,
    spread: float = 0.5,
    interval: float = 0.9,
    stages: Stages = STAGES,
    studies: int = STUDIES,
    **settings: Any,
) -> PowerCurve:
    """How often the interval of the population mean is at most `width` wide, on the parameter's own scale.

    Arguments:
        mean, spread: Of the population, on the normal scale.
        settings: See `power_curve`.
    """
    chances = people.chances(mean, spread)

    def right(rng: np.random.Generator, sizes: Sequence[int]) -> list[bool]:
        chosen = rng.choice(len(chances), MOST_PEOPLE, p=chances)
        ends = [np.quantile(people.means(chosen[:n], rng), _ends(interval)) for n in sizes]
        return [bool(high - low <= width) for low, high in ends]

    conclusion = f"the {100 * interval:g} % interval of the population mean of {people.name} is at most {width:g} wide"
    return power_curve(conclusion, right, people=effective_people(chances), stages=stages, studies=studies, **settings)


def parameter_differs(
    people: SimulatedPeople,
    effect: float,
    *,
    mean: float = 0.0,
    spread: float = 0.5,
    interval: float = 0.95,
    stages: Stages = STAGES,
    studies: int = STUDIES,
    **settings: Any,
) -> PowerCurve:
    """How often the interval of the difference of two population means leaves out 0, on its right side.

    Arguments:
        effect: The true difference, first minus second, on the parameter's own scale.
        mean, spread: On the normal scale: the middle of the two populations, and the spread within each.
        settings: See `power_curve`.
    """
    chances = [people.chances(at, spread) for at in means_apart(people.prior, mean, spread, effect)]

    def right(rng: np.random.Generator, sizes: Sequence[int]) -> list[bool]:
        first, second = (rng.choice(len(chance), MOST_PEOPLE, p=chance) for chance in chances)
        gaps = [people.means(first[:n], rng) - rng.permutation(people.means(second[:n], rng)) for n in sizes]
        ends = [np.quantile(gap, _ends(interval)) for gap in gaps]
        return [bool(low > 0 if effect > 0 else high < 0) for low, high in ends]

    conclusion = f"two groups differ in the population mean of {people.name}, by {effect:g}; the {100 * interval:g} % interval leaves out 0"
    people_each = min(map(effective_people, chances))
    return power_curve(conclusion, right, groups=2, people=people_each, stages=stages, studies=studies, **settings)


def means_apart(prior: Prior, mean: float, spread: float, effect: float) -> tuple[float, float]:
    """Two means on the normal scale, around `mean`, whose populations' means differ by `effect` on the parameter's own scale."""
    distance = np.linspace(0.0, 4.0, 2_001)
    above, below = (population(prior, mean + sign * distance / 2, np.full(len(distance), spread))[0] for sign in (1, -1))
    gap = above - below
    if not 0 < abs(effect) <= gap.max():
        raise DataError("No two such populations differ that much.", expected=f"more than 0, at most {gap.max():.3g}", got=effect)
    half = float(np.interp(abs(effect), gap, distance)) / 2 * (1 if effect > 0 else -1)
    return mean + half, mean - half


def _ends(interval: float) -> list[float]:
    return [(1 - interval) / 2, (1 + interval) / 2]
