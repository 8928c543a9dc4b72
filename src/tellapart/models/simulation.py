"""Simulations of a set of models: who was simulated, with which parameters, at which designs, what they did, and who failed.

A participant that cannot be simulated is a `Failure`. Whoever asks says what becomes of it: "stop", with an error; or "skip": another
one of the same model at the same design, with parameters drawn anew from the prior, takes its place, and the failure is among
what comes back. Information is then about participants that the models can simulate: where more than a few fail, that is another
question than the one asked, and the simulation stops after all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..errors import ModelError
from ..files import written_whole
from ..priors import sample_priors
from ..tasks.base import Task
from .base import Floats, Model
from .failures import Failure, attempt

OnError = Literal["stop", "skip"]

MOST = 0.05
"""The share of participants that may be skipped; in small batches chance is allowed for, by five standard deviations."""

EVEN = 0.05
"""How far a model's turns in a batch that is learned from may be from its share, as a part of the share."""


@dataclass(frozen=True, eq=False)
class Simulations:
    """N simulated participants.

    Arguments:
        models: M models.
        model: Which of them each participant is, (N,).
        parameters: "model.parameter" to values (N,), NaN for participants of other models.
        designs: What they were run at, (N, B, V).
        behavior: What they did.
        within: For each parameter whose prior is over levels: where in its step of the prior's cdf it lies, (N,); see `priors.py`.
        failures: Who could not be simulated, and was replaced.
    """

    models: tuple[Model, ...]
    model: NDArray[np.intp]
    parameters: Mapping[str, Floats]
    designs: Floats
    behavior: Behavior
    within: Mapping[str, Floats] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()

    def __len__(self) -> int:
        return len(self.model)

    def __getitem__(self, which: Any) -> Simulations:
        """Some of the participants: a slice, an index array or a mask."""
        parameters, within = ({k: v[which] for k, v in part.items()} for part in (self.parameters, self.within))
        return Simulations(self.models, self.model[which], parameters, self.designs[which], self.behavior[which], within, self.failures)

    @staticmethod
    def concatenate(parts: Sequence[Simulations]) -> Simulations:
        """All participants of all `parts`, in order."""

        def joined(columns: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
            return {name: np.concatenate([column[name] for column in columns]) for name in columns[0]}

        model, designs = (np.concatenate([getattr(part, name) for part in parts]) for name in ("model", "designs"))
        parameters, within = joined([part.parameters for part in parts]), joined([part.within for part in parts])
        behavior = Behavior.concatenate([part.behavior for part in parts])
        failures = tuple(failure for part in parts for failure in part.failures)
        return Simulations(parts[0].models, model, parameters, designs, behavior, within, failures)

    def of(self, m: int) -> Simulations:
        """The participants of model number `m`."""
        return self[np.flatnonzero(self.model == m)]

    def truth(self, m: int) -> dict[str, Floats]:
        """The parameters of the participants of model number `m`, name to (N_m,)."""
        chosen = self.model == m
        return {name: self.parameters[f"{self.models[m].name}.{name}"][chosen] for name in self.models[m].parameters}

    def failed(self) -> NDArray[np.intp]:
        """How many participants of each model could not be simulated, (M,)."""
        return np.array([sum(failure.model == model.name for failure in self.failures) for model in self.models], np.intp)

    def save(self, path: Path) -> None:
        """Keep the simulations in a file, whole or not at all; all but the failures."""
        from safetensors.numpy import save_file

        parts = {"field ": self.behavior.fields, "parameter ": self.parameters, "within ": self.within}
        arrays = {kind + name: values for kind, part in parts.items() for name, values in part.items()}
        arrays |= {"mask": self.behavior.mask, "model": self.model.astype(np.int64), "designs": self.designs}
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as temporary:
            save_file({name: np.ascontiguousarray(values) for name, values in arrays.items()}, temporary)

    @classmethod
    def load(cls, path: Path, models: Sequence[Model]) -> Simulations:
        """What `save` kept."""
        from safetensors.numpy import load_file

        a = load_file(path)
        fields, parameters, within = (
            {name.removeprefix(kind): values for name, values in a.items() if name.startswith(kind)}
            for kind in ("field ", "parameter ", "within ")
        )
        return cls(tuple(models), a["model"].astype(np.intp), parameters, a["designs"], Behavior(fields, a["mask"]), within)


def simulate_models(
    task: Task,
    models: Sequence[Model],
    designs: ArrayLike,
    n: int,
    rng: np.random.Generator,
    *,
    prior: Sequence[float] | None = None,
    parameters: Mapping[str, Mapping[str, float]] | None = None,
    on_error: OnError = "stop",
    by_lot: bool = False,
) -> Simulations:
    """Simulate `n` participants, the models taking turns as often as their prior says (0, 1, …, M - 1, 0, … if it is uniform).

    Arguments:
        designs: One for all (B, V), or one for each participant (n, B, V).
        prior: The probability of each model, (M,); uniform if not given.
        parameters: Model name to its true parameters; from their priors if not given.
        on_error: What happens when a model cannot simulate a participant.
        by_lot: One of many batches to learn from: see `turns_by_lot`.
    """
    everywhere = np.asarray(designs, dtype=np.float64)
    everywhere = np.broadcast_to(everywhere, (n, *everywhere.shape[-2:])) if everywhere.ndim == 2 else everywhere
    shares = np.full(len(models), 1 / len(models)) if prior is None else np.asarray(prior, dtype=np.float64)
    which = turns_by_lot(shares, n, rng) if by_lot else turns(shares, n)
    everybody = task.nothing(n)
    values = {f"{m.name}.{p}": np.full(n, np.nan) for m in models for p in m.parameters}
    within = {f"{m.name}.{p}": np.full(n, np.nan) for m in models for p, prior in m.parameters.items() if prior.discrete}
    failures: list[Failure] = []
    for m, (model, child) in enumerate(zip(models, rng.spawn(len(models)), strict=True)):
        chosen = np.flatnonzero(which == m)
        if not len(chosen):
            continue
        given = None if parameters is None else parameters[model.name]
        drawn, behavior, failed = _simulate_model(model, given, everywhere[chosen], child, task, on_error)
        failures += failed
        everybody.write(chosen, behavior)
        for name, column in drawn.items():
            values[f"{model.name}.{name}"][chosen] = column
            if model.parameters[name].discrete:
                within[f"{model.name}.{name}"][chosen] = child.random(len(chosen))
    return Simulations(tuple(models), which, values, everywhere, everybody, within, tuple(failures))


def turns(prior: Floats, n: int) -> NDArray[np.intp]:
    """Whose turn it is, (n,): at any moment each model has had its share of the turns, as nearly as can be."""
    counts = np.ceil(prior * n).astype(int) + 1
    due = [(np.arange(count) + 0.5) / share for count, share in zip(counts, prior, strict=True) if share > 0]
    whose = np.repeat(np.flatnonzero(prior > 0), counts[prior > 0])
    return np.asarray(whose[np.lexsort((whose, np.round(np.concatenate(due), 9)))][:n], np.intp)


def turns_by_lot(prior: Floats, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Whose turn it is in one of many small batches, (n,): what does not come out even is drawn.

    Taking turns anew in each batch would give an improbable model no turn in any of them, or far too many. Where every model has its share
    to `EVEN`, nothing is drawn.
    """
    which = turns(prior, n)
    if (abs(np.bincount(which, minlength=len(prior)) - n * prior) <= EVEN * n * prior).all():
        return which
    # n equally spaced points with a random start: so many fall to each model as its share says, on average over batches, and never one more
    ends = np.cumsum(prior) / np.sum(prior)
    drawn = np.searchsorted(ends[:-1], (np.arange(n) + rng.random()) / n, side="right")
    return turns(np.bincount(drawn, minlength=len(prior)) / n, n)


def _simulate_model(
    model: Model, given: Mapping[str, float] | None, designs: Floats, rng: np.random.Generator, task: Task, on_error: OnError
) -> tuple[dict[str, Floats], Behavior, list[Failure]]:
    """Participants of one model at designs (n, B, V): their parameters, what they did, and who failed and was replaced."""

    def draw(n: int) -> dict[str, Floats]:
        return sample_priors(model.parameters, n, rng) if given is None else {k: np.full(n, float(v)) for k, v in given.items()}

    drawn, most = draw(len(designs)), most_skipped(len(designs))
    behavior, failures = attempt(model, drawn, designs, rng, task, 1 if on_error == "stop" else most + 1)
    if not failures:
        return drawn, behavior, []
    listed, missing = list(failures.values()), np.array(list(failures), np.intp)
    done = task.nothing(len(designs))
    done.write(slice(None), behavior)
    while len(missing):
        stop_unless_skipped(listed, len(designs), on_error)
        again = draw(len(missing))
        replaced, failed = attempt(model, again, designs[missing], rng, task, most + 1)
        listed += failed.values()
        done.write(missing, replaced)
        for name, column in again.items():
            drawn[name][missing] = column
        missing = missing[list(failed)]
    return drawn, done, listed


def most_skipped(n: int) -> int:
    """How many of `n` participants may be skipped."""
    return 1 + int(MOST * n + 5.0 * (MOST * n) ** 0.5)


def stop_unless_skipped(failures: Sequence[Failure], n: int, on_error: OnError) -> None:
    """Raise if participants failed who are not to be skipped, or more of `n` than can be skipped in good conscience."""
    if failures and on_error == "stop":
        raise failures[0].as_error()
    if len(failures) > most_skipped(n):
        first = failures[0].as_error()
        what = f"{first.what[:-1]}, and in too many others to be skipped: {len(failures)} of {n} so far."
        raise ModelError(what, where=first.where, expected=f"at most {100 * MOST:.0f} %", got=first.got, fix=first.fix)
