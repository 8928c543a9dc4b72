"""Simulations of a set of models: who was simulated, with which parameters, and what they did."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..files import written_whole
from ..tasks.base import Task
from .base import Floats, Model
from .failures import STOP, OnFailure, simulate_soundly


@dataclass(frozen=True)
class Simulations:
    """N simulated participants.

    Arguments:
        models: M models.
        model: Which of them each participant is, (N,).
        parameters: "model.parameter" to values (N,), NaN for participants of other models.
        behavior: What they did.
    """

    models: tuple[Model, ...]
    model: NDArray[np.intp]
    parameters: dict[str, Floats]
    behavior: Behavior

    def __len__(self) -> int:
        return len(self.model)

    def own_rng(self) -> np.random.Generator:
        """Random numbers that are a function of the simulations alone, and as good as independent of them."""
        digest = hashlib.blake2b(digest_size=16)
        for values in (self.model, *self.parameters.values(), *self.behavior.fields.values()):
            digest.update(np.ascontiguousarray(values).tobytes())
        return np.random.default_rng(int.from_bytes(digest.digest(), "little"))

    def save(self, path: Path, designs: ArrayLike) -> None:
        """Keep the simulations and the designs (N, B, V) that they were made at in a file, whole or not at all."""
        from safetensors.numpy import save_file

        arrays = {f"field {name}": values for name, values in self.behavior.fields.items()}
        arrays |= {f"parameter {name}": values for name, values in self.parameters.items()}
        arrays |= {"mask": self.behavior.mask, "model": self.model.astype(np.int64), "designs": np.asarray(designs, np.float64)}
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as temporary:
            save_file({name: np.ascontiguousarray(values) for name, values in arrays.items()}, temporary)

    @classmethod
    def load(cls, path: Path, models: Sequence[Model]) -> tuple[Simulations, Floats]:
        """What `save` kept: the simulations and their designs."""
        from safetensors.numpy import load_file

        arrays = load_file(path)
        parts = {kind: {k.removeprefix(kind): v for k, v in arrays.items() if k.startswith(kind)} for kind in ("field ", "parameter ")}
        behavior = Behavior(parts["field "], arrays["mask"])
        return cls(tuple(models), arrays["model"].astype(np.intp), parts["parameter "], behavior), arrays["designs"]

    def of(self, m: int) -> tuple[dict[str, Floats], Behavior]:
        """Parameters and behavior of the participants of model number `m`."""
        mine = np.flatnonzero(self.model == m)
        model = self.models[m]
        return {name: self.parameters[f"{model.name}.{name}"][mine] for name in model.parameters}, self.behavior[mine]


def simulate_models(
    task: Task, models: Sequence[Model], design: ArrayLike, n: int, rng: np.random.Generator, on_failure: OnFailure = STOP
) -> Simulations:
    """Simulate `n` participants with parameters from the priors, the models taking turns (0, 1, …, M - 1, 0, …).

    Arguments:
        design: One for all (B, V), or one a participant (n, B, V).
        on_failure: What happens when a model cannot simulate a participant.
    """
    designs = task.design_space.check_many(design, n)
    which = np.arange(n) % len(models)
    shape = (n, designs.shape[1], task.trials)
    fields = {f.name: np.zeros(shape, f.dtype) for f in task.fields}
    mask = np.zeros(shape, bool)
    parameters = {f"{m.name}.{p}": np.full(n, np.nan) for m in models for p in m.parameters}
    for m, (model, child) in enumerate(zip(models, rng.spawn(len(models)), strict=True)):
        mine = np.flatnonzero(which == m)
        if not len(mine):
            continue
        draws = model.sample_prior(len(mine), child)
        draws, behavior = simulate_soundly(model, draws, designs[mine], child, task, on_failure)
        for name, values in behavior.fields.items():
            fields[name][mine] = values
        mask[mine] = behavior.mask
        for name, values in draws.items():
            parameters[f"{model.name}.{name}"][mine] = values
    return Simulations(tuple(models), which, parameters, Behavior(fields, mask))
