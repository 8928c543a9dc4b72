"""What adapting is worth, before anybody takes part.

Simulated participants, with models and parameters from their priors, take part twice: with blocks that the policy chooses for them, and
with the best fixed design. What their data tell of the truth, log q(v | y) / p(v), is averaged: a lower bound on information in both
cases, by the same q. The difference is paired: the same people, the same random numbers block by block.

Who cannot be simulated at what the policy or the fixed design gives them is left out of both, and counted. How much that could matter
is said too: the difference if they had told nothing where they failed.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..information.estimate import Difference, InformationEstimate, Pointwise
from ..models.failures import Failure
from ..models.simulation import Simulations, stop_unless_skipped
from ..progress import Progress, unheard
from ..tasks.space import Floats
from ..validation.model_calibration import ModelCalibration
from ..validation.rank_calibration import RankCalibration
from .playing import Played, play
from .policy import Policy
from .stopping import Stopped, Stopping, calibration_after, doubts, stop, verdicts

MATTERS = 0.03
"""The share of the fixed design's information below which a gain is not worth the trouble."""

LIMIT, MOMENTS = 1.0, 8
"""How long a server waits for a decision unless it is told otherwise, in seconds; decisions by which it is said how long they take."""

POINTS = 8
"""Numbers of blocks at which the two are compared, at most."""


@dataclass(frozen=True)
class Dropped:
    """Participants who are left out of the comparison.

    Arguments:
        policy: How many could not be simulated at what the policy gave them.
        fixed: How many not at the fixed design.
        replaced: How many more could not be simulated at the fixed design, and have others in their place.
        of: Of how many that are simulated.
        difference: Policy minus fixed if they were not left out, and had told nothing where they failed.
        first: The first failure.
    """

    policy: int
    fixed: int
    replaced: int
    of: int
    difference: Difference
    first: Failure

    def __str__(self) -> str:
        text = f"{self.policy} of {self.of} participants could not be simulated at what the policy gave them"
        text += f", {self.fixed} not at the fixed design"
        text += f"; they are left out of both. Had they told nothing there, the difference would be {self.difference}"
        return text + (f". {self.replaced} more failed at the fixed design, and others took their place" if self.replaced else "")

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "reproduction": self.first.reproduction}


@dataclass(frozen=True, eq=False)
class Worth:
    """The policy beside the fixed design.

    Arguments:
        policy: What participants tell who are given what the policy decides.
        fixed: What they tell who are given the fixed design.
        difference: Policy minus fixed, paired.
        curve: After b blocks: b, policy, fixed, and their difference.
        equal: From how many blocks on the policy tells as much as the whole fixed design; None if never.
        models, parameters: Are posteriors right on adaptively made data?
        seconds: The median and the 95th percentile of a decision's time, its share of that of all participants together.
        played: What participants were given by the policy, and what they did.
        dropped: Who could not be simulated; None if everybody could.
        alone: The median and the longest of a few decisions for one participant alone, in seconds: how a server asks.
        limit: How long a server waits for one, in seconds.
    """

    policy: InformationEstimate
    fixed: InformationEstimate
    difference: Difference
    curve: tuple[tuple[int, float, float, Difference], ...]
    equal: int | None
    stopped: Stopped
    models: ModelCalibration | None
    parameters: tuple[RankCalibration, ...]
    seconds: tuple[float, float]
    played: Played
    dropped: Dropped | None = None
    alone: tuple[float, float] = (0.0, 0.0)
    limit: float = LIMIT

    @property
    def late(self) -> str:
        """What is to be done if a server would not wait for decisions; empty if it would."""
        if self.alone[1] <= self.limit:
            return ""
        text = f"A decision for one participant takes {self.alone[0]:.2g} s here (median), {self.alone[1]:.2g} s at most"
        text += f", and a server waits {self.limit:g} s (policy_seconds of serve.toml): later ones are not used, the planned block is."
        return f"{text} Set policy_seconds = {np.ceil(2 * self.alone[1]):.0f}, or use a faster machine."

    @property
    def doubts(self) -> str:
        """What is to be done if posteriors are not right; empty if no error was found."""
        found = [*verdicts((self.models, self.parameters)), *verdicts((self.stopped.models, self.stopped.parameters))]
        return doubts(found, "on adaptively made data")

    @property
    def verdict(self) -> str:
        """ "worth it", "not worth it here", or "not clear"."""
        least, gain = max(MATTERS * self.fixed.nats, 0.01), self.difference
        if gain.nats >= least and gain.nats > 2 * gain.se:
            return "worth it"
        return "not worth it here" if gain.nats + 2 * gain.se < least else "not clear"

    def to_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy.to_json(),
            "fixed": self.fixed.to_json(),
            "difference": asdict(self.difference),
            "verdict": self.verdict,
            "curve": [{"blocks": b, "policy": one, "fixed": other, "difference": asdict(d)} for b, one, other, d in self.curve],
            "equal_after_blocks": self.equal,
            "stopping": {
                "blocks": float(self.stopped.blocks.mean()),
                "saved": self.stopped.saved[0],
                "se": self.stopped.saved[1],
                "accuracy": self.stopped.accuracy,
                "calibration": verdicts((self.stopped.models, self.stopped.parameters)),
            },
            "calibration": verdicts((self.models, self.parameters)),
            "seconds": {"median": self.seconds[0], "p95": self.seconds[1], "alone": {"median": self.alone[0], "longest": self.alone[1]}},
            "policy_seconds": self.limit,
            "late": self.late,
            "doubts": self.doubts,
            "dropped": self.dropped and self.dropped.to_json(),
            "designs": self.played.simulations.designs[:24].tolist(),
        }


def worth(policy: Policy, n: int, seed: int, stopping: Stopping | None = None, progress: Progress = unheard, limit: float = LIMIT) -> Worth:
    """Simulate adaptive participants.

    Arguments:
        n: How many.
        stopping: When they would stop.
        limit: How long a server waits for a decision, in seconds.
    """
    question, task = policy.way.question, policy.task
    people = question.simulate(task, policy.plan, n, np.random.default_rng([seed, 97]))

    def taking_part(turn: int, designs: Floats | None) -> Played:
        """One of the two turns, from the same random numbers."""

        def heard(done: int, total: int, stage: str = "", detail: str = "") -> None:
            progress(turn * total + done, 2 * total, stage, detail)

        return play(policy, people, np.random.default_rng([seed, 98]), designs=designs, progress=heard)

    adaptive, fixed = taking_part(0, None), taking_part(1, np.repeat(policy.plan[None], n, axis=0))
    failed, dropped = {**fixed.failures, **adaptive.failures}, None
    if failed or people.failures:
        stop_unless_skipped(list(failed.values()), n, question.on_error)
        everybody = (_points(policy, adaptive, task.blocks), _points(policy, fixed, task.blocks))
        nothing = [_telling_nothing(one, played) for one, played in zip(everybody, (adaptive, fixed), strict=True)]
        first, counts = [*failed.values(), *people.failures][0], (len(adaptive.failures), len(fixed.failures), len(people.failures))
        dropped = Dropped(*counts, n, nothing[0].minus(nothing[1]), first)
        adaptive, fixed = adaptive.without(failed), fixed.without(failed)
    lengths = np.unique(np.linspace(1, task.blocks, min(POINTS, task.blocks)).round().astype(int))
    pairs = {int(b): tuple(_points(policy, one, int(b)) for one in (adaptive, fixed)) for b in lengths}
    curve = tuple((b, one.estimate().nats, other.estimate().nats, one.minus(other)) for b, (one, other) in pairs.items())
    one, other = pairs[task.blocks]
    less = [i for i, (_, nats, _, _) in enumerate(curve) if nats < other.estimate().nats]
    enough = curve[less[-1] + 1 if less else 0 :]  # from there on it is never less: to be as much once may be chance
    models, parameters = calibration_after(adaptive, np.full(len(adaptive), task.blocks, np.intp), seed)
    return Worth(
        one.estimate(),
        other.estimate(),
        one.minus(other),
        curve,
        enough[0][0] if enough else None,
        stop(adaptive, question, stopping or Stopping(), seed),
        models,
        parameters,
        (float(np.median(adaptive.seconds)), float(np.quantile(adaptive.seconds, 0.95))),
        adaptive,
        dropped,
        _alone(policy, adaptive.simulations),
        limit,
    )


def _alone(policy: Policy, people: Simulations) -> tuple[float, float]:
    """The median and the longest time of decisions for one participant alone, in all parts of the experiment."""
    seconds = []
    for i, block in enumerate(np.linspace(0, policy.task.blocks - 1, MOMENTS).round().astype(int)):
        who, start = i % len(people), time.perf_counter()
        policy.row(people.behavior[who], people.designs[who], int(block))
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), max(seconds)


def _telling_nothing(points: Pointwise, played: Played) -> Pointwise:
    """The same with nothing told by those who failed."""
    values = points.values.copy()
    values[list(played.failures)] = 0.0
    return replace(points, values=values)


def _points(policy: Policy, played: Played, blocks: int) -> Pointwise:
    """What participants tell after a number of blocks."""
    question, people = policy.way.question, played.simulations
    values = policy.way.values(replace(people, behavior=people.behavior.until(blocks)), question)
    correct = played.probabilities[:, blocks].argmax(1) == people.model if question.about_models else None
    return Pointwise(values, people.model, question.prior, "lower bound", None, correct)
