"""The training loop of all estimators.

A *source* says what is trained on at each step: fresh simulations that are never seen again (`Stream`), or a fixed set of them in
epochs (`Stored`; `Epochs` if they are prepared already). A batch is a function of the source's seed and the step alone, and so is
the learning rate (the plateau schedule also remembers what validation told it). That makes a run resumable to the byte: a
checkpoint is the weights, the optimizer's moments and the step.
"""

from __future__ import annotations

import ctypes
import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Callable, ClassVar, Iterator, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .errors import RunError
from .estimators.base import Batch, Estimator
from .files import written_whole
from .models.failures import Failure
from .models.simulation import Simulations
from .optimizer import Muon, OptimizerName
from .progress import Progress


@dataclass(frozen=True)
class TrainingSettings:
    """How weights are moved.

    Arguments:
        learning_rate: At its peak.
        optimizer: "muon" (`optimizer.py`), or "adam".
        weight_decay: Adam's L2 penalty; Muon has none.
        schedule: "cosine" (a short warm-up, then down to nothing at the last step), or "plateau" (times `factor` when
            validation has not improved for `patience` epochs).
        warmup: The share of steps over which "cosine" rises.
        factor: See "plateau".
        patience: See "plateau".
        clip: The largest norm of a gradient.
        pieces: In how many pieces the gradient of a batch is computed, at the same time on as many cores. Part of the result, and
            so not a property of the machine.
    """

    learning_rate: float = 2e-3
    optimizer: OptimizerName = "adam"
    weight_decay: float = 0.0
    schedule: Literal["cosine", "plateau"] = "cosine"
    warmup: float = 0.03
    factor: float = 0.5
    patience: int = 25
    clip: float = math.inf
    pieces: int = 1


class Source(Protocol):
    """What is trained on."""

    ahead: ClassVar[bool]
    """Is it worth making the next batch in a thread while the present one is trained on?"""

    def batch(self, step: int) -> Batch:
        """The batch of a step; always the same for the same step."""
        ...


@dataclass(frozen=True)
class Stream:
    """Fresh simulations at every step, over designs drawn anew.

    Arguments:
        estimator: Whose models are simulated.
        designs: Draws n designs, (n, B, V).
        size: Participants in each step.
        seed: With the step, decides everything.
        incomplete: The share of participants that are shown as if they had stopped early or missed trials.
        failures: Who could not be simulated so far.
    """

    estimator: Estimator
    designs: Callable[[int, np.random.Generator], NDArray[np.float64]]
    size: int
    seed: tuple[int, ...]
    incomplete: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    ahead: ClassVar[bool] = True

    def batch(self, step: int) -> Batch:
        rng = np.random.default_rng([*self.seed, step])
        estimator = self.estimator
        simulations = estimator.question.simulate(estimator.task, self.designs(self.size, rng), self.size, rng, by_lot=True)
        self.failures.extend(simulations.failures)
        return estimator.prepare(with_missing(simulations, self.incomplete, rng, estimator.in_order))


@dataclass(frozen=True)
class Stored:
    """Simulations that were kept, in a new random order in each epoch, and each time with other trials missing.

    Arguments:
        estimator: What is trained.
        simulations: All of them.
        size: Participants in each step.
        seed: Decides the orders.
        incomplete: See `Stream`.
    """

    estimator: Estimator
    simulations: Simulations
    size: int
    seed: tuple[int, ...]
    incomplete: float = 0.0

    ahead: ClassVar[bool] = True

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return math.ceil(len(self.simulations) / self.size)

    def batch(self, step: int) -> Batch:
        epoch, place = divmod(step, self.steps)
        order = np.random.default_rng([*self.seed, 0, epoch]).permutation(len(self.simulations))
        chosen = self.simulations[order[place * self.size : (place + 1) * self.size]]
        rng = np.random.default_rng([*self.seed, 1, step])
        return self.estimator.prepare(with_missing(chosen, self.incomplete, rng, self.estimator.in_order))


def with_missing(simulations: Simulations, share: float, rng: np.random.Generator, in_order: bool = False) -> Simulations:
    """Some of the participants as if they had stopped early, missed trials, or both.

    A missed trial is as if it had never been: those that follow it are the ones that would have come in its place. If memory may go on from
    block to block (`in_order`), only the last block that was begun is left early: others are whole but for missed trials, which are few.
    """
    behavior = simulations.behavior
    n, blocks, trials = behavior.shape
    if not share:
        return simulations
    kind = np.where(rng.random((n, 1, 1)) < share, rng.integers(1, 4, (n, 1, 1)), 0)  # 1: stops early, 2: misses trials, 3: both
    begun = np.arange(blocks)[:, None] < rng.integers(1, blocks + 1, (n, 1, 1))
    shown = np.arange(trials) < rng.integers(1, trials + 1, (n, 1, 1))
    if in_order:
        shown = shown | (np.cumsum(begun[:, ::-1], axis=1)[:, ::-1] > 1)
    missed = (rng.random((n, blocks, trials)) < 0.3 * rng.random((n, 1, 1))) & (kind >= 2)
    place = np.argsort(missed, axis=2, kind="stable")  # where the trials go, those in excess to where nothing is recorded
    moved = behavior.rearranged(np.argsort(place, axis=2), 2)
    seen = moved.mask & ~missed & ((begun & shown) | (kind % 2 == 0))
    return replace(simulations, behavior=replace(moved, mask=seen))


@dataclass(frozen=True)
class Epochs:
    """A fixed set of simulations, in a new random order in each epoch.

    Arguments:
        data: All of them.
        size: Participants in each step.
        seed: Decides the orders.
    """

    data: Batch
    size: int
    seed: tuple[int, ...]
    _shuffled: dict[int, Batch] = field(default_factory=dict, compare=False, repr=False)

    ahead: ClassVar[bool] = False

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return math.ceil(len(self.data) / self.size)

    def batch(self, step: int) -> Batch:
        epoch, place = divmod(step, self.steps)
        if epoch not in self._shuffled:  # one copy an epoch: a batch is then a view, which is quicker than gathering it
            self._shuffled.clear()
            order = torch.from_numpy(np.random.default_rng([*self.seed, epoch]).permutation(len(self.data)))
            self._shuffled[epoch] = self.data[order]
        return self._shuffled[epoch][place * self.size : (place + 1) * self.size]


@dataclass
class Trainer:
    """An estimator being trained.

    Arguments:
        estimator: What is trained, in place.
        settings: How.
        steps: Steps in all, over which a cosine schedule goes down.
        seed: For bounds that pair participants at random.
    """

    estimator: Estimator
    settings: TrainingSettings
    steps: int
    seed: int = 0
    step: int = 0
    history: list[float] = field(default_factory=list)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.weights = [p for p in self.estimator.parameters() if p.requires_grad]
        self.optimizer = self._optimizer()
        self._scale, self._best, self._waited = 1.0, -math.inf, 0
        self._kept: dict[str, Tensor] = {}
        self._pool = ThreadPoolExecutor(self.settings.pieces)
        keep_memory()

    def _optimizer(self) -> Muon | torch.optim.Adam:
        settings = self.settings
        if settings.optimizer == "muon":
            if settings.weight_decay:
                raise ValueError("Muon has no weight decay: optimizer='adam' has")
            return Muon(self.weights, settings.learning_rate)
        # fused is one tensor operation for all weights: on small networks the loop over them would cost more than the arithmetic
        fused = self.estimator.device.type == "cpu"
        return torch.optim.Adam(self.weights, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=fused)

    def run(
        self,
        source: Source,
        until: int | None = None,
        *,
        every: int = 0,
        after: Callable[[Trainer], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Train up to step `until`.

        Arguments:
            every: Call `after` whenever this many steps are done, counted from step 0.
            after: For validation and checkpoints; may set `stopped` to end training here.
        """
        until = self.steps if until is None else until
        self.estimator.train()
        for batch in _batches_ahead(source, self.step, until) if source.ahead else map(source.batch, range(self.step, until)):
            self._move(batch)
            if progress:
                progress(self.step, self.steps, "training", f"information {self.recent():.3f}")
            if every and after and self.step % every == 0:
                after(self)
            if self.stopped:
                break
        self.estimator.eval()

    def settle(self, source: Source) -> None:
        """Let the estimator choose what is chosen when training is over, by batches that come after the last."""
        self.estimator.settle(map(source.batch, count(self.steps)))

    def _move(self, batch: Batch) -> None:
        """One step of the optimizer."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        loss = self._gradient(batch)
        if math.isfinite(self.settings.clip):
            torch.nn.utils.clip_grad_norm_(self.weights, self.settings.clip)
        self.optimizer.step()
        self.history.append(-loss.item())
        self.step += 1

    def _gradient(self, batch: Batch) -> Tensor:
        """Set the gradient of every weight; the loss."""
        pieces, seed = self.settings.pieces, self.seed * 1_000_003 + self.step
        if pieces == 1:
            self.optimizer.zero_grad()
            loss = self.estimator.loss(batch, torch.Generator().manual_seed(seed % 2**63))
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        def part(piece: int) -> tuple[Tensor, ...]:
            mine = batch[len(batch) * piece // pieces : len(batch) * (piece + 1) // pieces]
            loss = self.estimator.loss(mine, torch.Generator().manual_seed((seed * pieces + piece) % 2**63))
            return loss.detach(), *torch.autograd.grad(loss, self.weights, materialize_grads=True)

        parts = self._pool.map(part, range(pieces))
        loss, *gradients = (torch.stack(values).mean(0) for values in zip(*parts, strict=True))
        for weight, gradient in zip(self.weights, gradients, strict=True):
            weight.grad = gradient
        return loss

    @property
    def learning_rate(self) -> float:
        """The learning rate of the coming step."""
        if self.settings.schedule == "plateau":
            return self.settings.learning_rate * self._scale
        done, warmup = self.step / self.steps, self.settings.warmup
        if done < warmup:
            return self.settings.learning_rate * (0.05 + 0.95 * done / warmup)
        return self.settings.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (done - warmup) / (1 - warmup))))

    def told(self, value: float, *, keep: bool = False) -> bool:
        """Tell the plateau schedule a validation value (larger is better); is it the best so far? Then the weights are kept, on demand."""
        if value > self._best:
            self._best, self._waited = value, 0
            if keep:
                self._kept = {name: tensor.clone() for name, tensor in self.estimator.state_dict().items()}
            return True
        self._waited += 1
        if self._waited > self.settings.patience:
            self._scale, self._waited = self._scale * self.settings.factor, 0
        return False

    def restore(self) -> None:
        """Back to the best weights, if any were kept."""
        if self._kept:
            self.estimator.load_state_dict(self._kept)

    def recent(self, steps: int = 100) -> float:
        """The average of the bound over the last batches, each new to the network if they come from a stream."""
        return float(np.mean(self.history[-steps:])) if self.history else math.nan

    def save(self, path: Path) -> None:
        """Write weights, moments and step, whole or not at all."""
        tensors = {f"weights.{name}": value for name, value in self.estimator.state_dict().items()}
        for index, weight in enumerate(self.weights):
            for name, value in self.optimizer.state[weight].items():
                tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value)
        tensors["history"] = torch.tensor(self.history, dtype=torch.float64)
        state = {"step": self.step, "scale": self._scale, "best": self._best, "waited": self._waited, "settings": asdict(self.settings)}
        save_tensors(path, tensors, {"trainer": json.dumps(state)})

    def load(self, path: Path) -> None:
        """Go on from what `save` wrote."""
        from safetensors import safe_open

        with safe_open(path, "pt") as file:
            state = json.loads(file.metadata()["trainer"])
            # copies: tensors that lie in the file would keep it open, and on Windows the next checkpoint could not replace it
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        if state["settings"].get("optimizer") != self.settings.optimizer:
            raise _made_otherwise(path)
        _set_weights(self.estimator, {name.removeprefix("weights."): t for name, t in tensors.items() if name.startswith("weights.")}, path)
        for index, weight in enumerate(self.weights):
            prefix = f"optimizer.{index}."
            moments = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
            self.optimizer.state[weight] = {name: _beside(weight, name, tensor) for name, tensor in moments.items()}
        self.history = tensors["history"].tolist()
        self.step, self._scale, self._best, self._waited = state["step"], state["scale"], state["best"], state["waited"]


def _beside(weight: Tensor, name: str, moment: Tensor) -> Tensor:
    """A moment on the device of its weight; the count of steps stays on the CPU, unless Adam is fused there."""
    return moment if name == "step" and weight.device.type != "cpu" else moment.to(weight.device)


def keep_memory() -> None:
    """Ask the C library to keep freed memory for the next step instead of returning it to the system at each.

    Steps allocate and free the same tensors of some megabytes again and again; without this a quarter of the time of a step goes
    into fetching their pages anew. Where the C library is not glibc, nothing happens.
    """
    try:
        set_option = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    trim_threshold, mmap_threshold = -1, -3
    set_option(mmap_threshold, 1 << 30)
    set_option(trim_threshold, 1 << 30)


def _batches_ahead(source: Source, start: int, until: int) -> Iterator[Batch]:
    """The batches of steps `start` to `until`, the next one being made while the present one is used."""
    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(source.batch, start) if start < until else None
        for step in range(start, until):
            batch = coming.result()  # type: ignore[union-attr]
            coming = ahead.submit(source.batch, step + 1) if step + 1 < until else None
            yield batch


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file, whole or not at all."""
    from safetensors.torch import save

    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as temporary:
        # by Python: what safetensors raises where a disk is full is no OSError
        temporary.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, metadata))


def save_weights(path: Path, estimator: torch.nn.Module) -> None:
    """Write an estimator's weights."""
    save_tensors(path, dict(estimator.state_dict()))


def load_weights(path: Path, estimator: torch.nn.Module) -> None:
    """Read an estimator's weights into it."""
    from safetensors.torch import load_file

    _set_weights(estimator, load_file(path), path)
    estimator.eval()


def _set_weights(estimator: torch.nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    try:
        estimator.load_state_dict(tensors)
    except RuntimeError as error:  # names or shapes that do not fit
        raise _made_otherwise(path) from error


def _made_otherwise(path: Path) -> RunError:
    fix = "begin anew (what is in the run folder is lost): tellapart design STUDY --fresh; or use the version of before"
    return RunError("The network that is kept there was made by another version of tellapart.", where=str(path), fix=fix)
