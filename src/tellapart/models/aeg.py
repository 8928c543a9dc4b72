"""AEG: auto-regressive epsilon-greedy.

With probability epsilon explore: the previous arm with probability phi + (1 - phi) / K, each other arm (1 - phi) / K.
Otherwise be greedy: the candidates are the m arms of maximal expected reward. If the previous arm is a candidate it has
probability phi + (1 - phi) / m and each other candidate (1 - phi) / m; if it is not, each candidate has 1 / m.

The expected reward is (1 + w) / (2 + w + l); by the convention "released" it is (1 + w) / (1 + w + l).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

import numba as nb

from ..priors import Prior, Uniform
from .bandit import BanditModel, Convention, check_convention
from .compiled import below, bandit_simulator, pick, uniform


@nb.njit(cache=True)
def candidates(wins: Any, losses: Any, prior_losses: Any, scratch: Any) -> Any:
    """Mark in `scratch` the arms of maximal expected reward (1 + w) / (1 + prior_losses + w + l); return how many."""
    best, count = -1.0, 0
    for k in range(wins.size):
        expected = (1.0 + wins[k]) / (1.0 + prior_losses + wins[k] + losses[k])
        if expected > best:
            best, count = expected, 0
        count += expected == best
        scratch[k] = expected
    for k in range(wins.size):
        scratch[k] = 1.0 if scratch[k] == best else 0.0
    return count


@nb.njit(cache=True)
def _choose(previous: Any, wins: Any, losses: Any, theta: Any, prior_losses: Any, scratch: Any, stream: Any) -> Any:
    explore = uniform(stream) < theta[0]
    sticky = uniform(stream) < theta[1]
    if explore:
        return previous if sticky else below(wins.size, stream)
    count = candidates(wins, losses, prior_losses, scratch)
    if sticky and scratch[previous] == 1.0:
        return previous
    return pick(scratch, count, 1.0, stream)


@nb.njit(cache=True)
def choose_paper(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Explore or exploit; theta = (epsilon, phi)."""
    return _choose(previous, wins, losses, theta, 1.0, scratch, stream)


@nb.njit(cache=True)
def choose_released(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """The same by the convention "released"."""
    return _choose(previous, wins, losses, theta, 0.0, scratch, stream)


_simulators = {"paper": bandit_simulator(choose_paper), "released": bandit_simulator(choose_released)}


@dataclass(frozen=True)
class AEG(BanditModel):
    """Auto-regressive epsilon-greedy.

    Arguments:
        convention: "paper", or "released" for the expected reward of the authors' released code.
    """

    convention: Convention = "paper"

    name: ClassVar[str] = "aeg"
    _simulators: ClassVar = _simulators

    def __post_init__(self) -> None:
        check_convention(self.name, self.convention)

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {"epsilon": Uniform(), "phi": Uniform()}
