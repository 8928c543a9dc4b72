"""Is this model, is this task, fit to be used? What `tellapart check` runs, and what you can run in tests of your own:

    from tellapart.testing import check_model, check_task

    def test_my_model():
        check_model(MyModel(), MyTask())

A model is simulated at prior draws and at corners of the design space. What would spoil a study is an *error*: wrong shapes
or types, values that cannot be recorded, random numbers that do not come from `rng`, participants that depend on each other, a
likelihood that contradicts the simulator. What may be meant is a *warning*: a parameter or a design variable without effect.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, Mapping, cast

import numpy as np
from numpy.typing import NDArray

from .behavior import Behavior, Field
from .errors import ModelError, StudyError, TellapartError
from .models.base import Floats, HasLikelihood, Model
from .models.failures import line_of, simulate_soundly, words
from .priors import Prior
from .tasks.base import Task

SECONDS = 1.0
"""About how long one comparison of a slow model may take; fewer participants are simulated if it would take longer."""
MOST = 400
"""Participants of a comparison."""
UNLIKELY = 5.0
"""Standard errors beyond which a difference is not chance."""
TYPICAL_SEARCH = 2_500_000
"""Participants that the search simulates if nothing is set."""
PATIENCE = 1800.0
"""Seconds of simulation beyond which a budget of simulations is suggested."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Arguments:
        severity: "error": results would be wrong; "warning": look whether it is meant.
        what: One sentence.
        fix: The usual way out.
        where: The line of code, if one is known.
        got: What was found.
    """

    severity: Literal["error", "warning"]
    what: str
    fix: str | None = None
    where: str | None = None
    got: str | None = None

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.what}"]
        lines += [f"  {label + ':':<10}{text}" for label, text in (("where", self.where), ("got", self.got), ("fix", self.fix)) if text]
        return "\n".join(lines)


@dataclass(frozen=True)
class Checked:
    """What a check found.

    Arguments:
        name: The model or task.
        findings: Errors first.
        speed: Participants simulated a second, for a model that can be simulated.
    """

    name: str
    findings: tuple[Finding, ...]
    speed: float | None = None

    @property
    def sound(self) -> bool:
        """Is there no error?"""
        return not any(finding.severity == "error" for finding in self.findings)

    def raise_errors(self) -> None:
        """Raise a `ModelError` that lists all errors, if there are any."""
        errors = [str(finding) for finding in self.findings if finding.severity == "error"]
        if errors:
            raise ModelError(f"'{self.name}' is not sound.\n" + "\n".join(errors))

    def speed_in_words(self) -> str:
        """What the speed means for a search."""
        if not self.speed:
            return ""
        seconds = TYPICAL_SEARCH / self.speed
        told = f"{_round(self.speed)} participants a second; a search with the default settings simulates for about {_duration(seconds)}"
        if seconds < PATIENCE:
            return told
        budget = max(10_000, int(round(self.speed * PATIENCE / 2, -3)))
        return f"{told}. For {_duration(budget / self.speed)} of simulation set simulations = {budget} in [search]; more workers divide it"


def check_model(model: Model, task: Task, *, seed: int = 0, raise_errors: bool = True) -> Checked:
    """Check a model at a task.

    Arguments:
        seed: Where randomness starts.
        raise_errors: Raise a `ModelError` if there is an error; else it is among the findings of what is returned.
    """
    checker = _ModelChecker(model, task, seed)
    checked = checker.checked()
    if raise_errors:
        checked.raise_errors()
    return checked


def check_task(task: Task, *, seed: int = 0, raise_errors: bool = True) -> Checked:
    """Check a task: its design space and rules, its baseline designs, its fields and its description of trials."""
    checked = _TaskChecker(task, seed).checked()
    if raise_errors:
        checked.raise_errors()
    return checked


class _Checker:
    """Collects findings."""

    def __init__(self, seed: int) -> None:
        self.seed, self.findings = seed, list[Finding]()

    def error(self, what: str, fix: str | None = None, **more: str | None) -> None:
        self.findings.append(Finding("error", what, fix, **more))

    def warning(self, what: str, fix: str | None = None, **more: str | None) -> None:
        self.findings.append(Finding("warning", what, fix, **more))

    def ordered(self) -> tuple[Finding, ...]:
        return tuple(sorted(self.findings, key=lambda finding: finding.severity))


class _ModelChecker(_Checker):
    """Checks of one model at one task."""

    def __init__(self, model: Model, task: Task, seed: int) -> None:
        super().__init__(seed)
        self.model, self.task, self.name = model, task, str(getattr(model, "name", type(model).__name__))
        self.speed: float | None = None

    def checked(self) -> Checked:
        if self._has_parameters() and self._can_be_simulated():
            self._measure_speed()
            self._leaves_its_inputs_alone()
            if self._follows_the_seed():
                self._participants_are_independent()
                self._parameters_have_effects()
                self._design_has_effects()
            self._likelihood_fits()
            self._can_be_sent_away()
        return Checked(self.name, self.ordered(), self.speed)

    def _has_parameters(self) -> bool:
        parameters = self.model.parameters
        fix = 'return {"alpha": Uniform(0, 1), …}'
        if not isinstance(parameters, Mapping) or not all(isinstance(prior, Prior) for prior in parameters.values()):
            self.error(f"The parameters of '{self.name}' are not names with priors.", fix, got=repr(parameters)[:100])
            return False
        return True

    def _can_be_simulated(self) -> bool:
        """Everywhere: at prior draws, at corners of the space, with one design for all and with one for each."""
        try:
            designs = self._designs(32)
            self._simulate(self._draws(32), designs)
            for design in designs[:4]:
                self._check(self.model.simulate(self._draws(8), design, np.random.default_rng(self.seed), self.task), 8)
            self._check(self.model.simulate(self._draws(1), designs[:1], np.random.default_rng(self.seed), self.task), 1)
        except TellapartError as error:
            self.error(error.what, error.fix, where=error.where, got=_got(error))
        except Exception as error:
            self.error(f"'{self.name}' failed.", "mend that line", where=line_of(error), got=words(error))
        return not self.findings

    def _check(self, behavior: Any, n: int) -> None:
        from .models.failures import impossible

        error = impossible(self.model, behavior, self.task, n)
        if error is not None:
            raise error

    def _measure_speed(self) -> None:
        """Participants a second, from a batch that takes a moment."""
        n, seconds = 16, 0.0
        while seconds < 0.05 and n < 20_000:
            n *= 4
            draws, designs = self._draws(n), self._designs(n)
            started = time.perf_counter()
            self._simulate(draws, designs)
            seconds = time.perf_counter() - started
        self.speed = n / max(seconds, 1e-9)

    @property
    def n(self) -> int:
        """Participants of a comparison."""
        assert self.speed is not None
        return int(np.clip(self.speed * SECONDS, 24, MOST)) // 2 * 2

    def _leaves_its_inputs_alone(self) -> None:
        draws, designs = self._draws(8), self._designs(8)
        before = {name: values.copy() for name, values in draws.items()}, designs.copy()
        self.model.simulate(draws, designs, np.random.default_rng(self.seed), self.task)
        if any((draws[name] != values).any() for name, values in before[0].items()) or (designs != before[1]).any():
            self.error(f"'{self.name}' changes the parameters or designs that it is given.", "work on copies: values = values.copy()")

    def _follows_the_seed(self) -> bool:
        draws, designs = self._draws(self.n), self._designs(self.n)
        one, same, other = (self._simulate(draws, designs, seed) for seed in (1, 1, 2))
        if not _equal(one, same):
            fix = "draw every random number from `rng`; np.random.random() and generators of your own are not it"
            self.error(f"'{self.name}' gives different data for the same seed.", fix)
            return False
        if _equal(one, other):
            fix = "use `rng` as it is: a generator that is made anew inside the model, default_rng(0), repeats itself"
            self.error(f"'{self.name}' gives the same data for different seeds.", fix)
            return False
        return True

    def _participants_are_independent(self) -> None:
        """Does the first half of participants behave the same, whoever the second half is?"""
        half, designs = self.n // 2, self._designs(self.n)
        rng = np.random.default_rng(self.seed)
        draws = {name: prior.quantile(rng.uniform(0.3, 0.7, half)) for name, prior in self.model.parameters.items()}
        results = []
        for share in (0.001, 0.999):
            others = {name: np.full(half, prior.quantile(share)) for name, prior in self.model.parameters.items()}
            mixed = {name: np.concatenate([draws[name], others[name]]) for name in draws}
            results.append(self._simulate(mixed, designs, 3)[slice(0, half)])
        if not _equal(*results) and _differ(*results):
            fix = "look for means, sums, maxima or sorting over the first axis, which is that of participants"
            self.error(f"The participants of '{self.name}' depend on each other.", fix)

    def _parameters_have_effects(self) -> None:
        draws, designs = self._draws(self.n), self._designs(self.n)
        for name, prior in self.model.parameters.items():
            low, high = (self._simulate({**draws, name: np.full(self.n, prior.quantile(share))}, designs, 4) for share in (0.05, 0.95))
            if _equal(low, high):
                self.warning(f"The parameter '{name}' of '{self.name}' has no effect on the data.", "is it used? is it misspelt?")

    def _design_has_effects(self) -> None:
        space, draws = self.task.design_space, self._draws(self.n)
        unit = space.to_unit(self._designs(self.n))
        for v, variable in enumerate(space.variables):
            ends = []
            for place in (0.0, 1.0):
                moved = unit.copy()
                moved[..., v] = place if not space.constraints else 0.5 * (moved[..., v] + place)
                ends.append(space.from_unit(moved))
            if not (ends[0] == ends[1]).all() and _equal(self._simulate(draws, ends[0], 5), self._simulate(draws, ends[1], 5)):
                fix = "is it used? a variable that no model depends on makes the search slower and no wiser"
                self.warning(f"The design variable '{variable}' has no effect on the data of '{self.name}'.", fix)

    def _likelihood_fits(self) -> None:
        """The likelihood of own data is finite and, on average, largest at the parameters that made them (Gibbs' inequality)."""
        if not hasattr(self.model, "log_likelihood"):
            return
        model, draws, designs = cast(HasLikelihood, self.model), self._draws(self.n), self._designs(self.n)
        behavior = self._simulate(draws, designs, 6)
        try:
            own = np.asarray(model.log_likelihood(draws, behavior, designs, self.task))
            others = {name: np.roll(values, 1) for name, values in draws.items()}
            other = np.asarray(model.log_likelihood(others, behavior, designs, self.task))
        except Exception as error:
            self.error(f"The likelihood of '{self.name}' failed.", "mend that line", where=line_of(error), got=words(error))
            return
        if own.shape != (self.n,):
            fix = f"return one number a participant, ({self.n},)"
            self.error(f"The likelihood of '{self.name}' has the wrong shape.", fix, got=str(own.shape))
        elif not np.isfinite(own).all():
            fix, got = "simulator and likelihood disagree about what can happen", f"{(~np.isfinite(own)).sum()} of {self.n}"
            self.error(f"The likelihood of '{self.name}' calls its own data impossible.", fix, got=got)
        else:
            gain = own - np.maximum(other, -1e6)
            if gain.mean() < -UNLIKELY * gain.std() / len(gain) ** 0.5:
                what = f"The likelihood of '{self.name}' prefers wrong parameters to those that made the data."
                self.error(what, "compare it with `simulate`")

    def _can_be_sent_away(self) -> None:
        import cloudpickle

        try:
            cloudpickle.dumps(self.model)
        except Exception as error:
            fix = "keep open files, locks and connections out of the model"
            self.warning(f"'{self.name}' cannot be sent to other processes, so it runs on one core.", fix, got=words(error))

    def _draws(self, n: int) -> dict[str, Floats]:
        return self.model.sample_prior(n, np.random.default_rng([self.seed, n]))

    def _designs(self, n: int) -> Floats:
        """Corners, edges and the inside of the space, and baseline designs, (n, B, V)."""
        rng = np.random.default_rng([self.seed, n, 1])
        return np.concatenate([self.task.design_space.spread(n - n // 4, rng), self.task.baseline(n // 4, rng)])

    def _simulate(self, draws: dict[str, Floats], designs: Floats, seed: int = 0) -> Behavior:
        return simulate_soundly(self.model, dict(draws), designs.copy(), np.random.default_rng([self.seed, seed]), self.task)[1]


class _TaskChecker(_Checker):
    """Checks of one task."""

    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(seed)
        self.task, self.name = task, str(getattr(task, "name", type(task).__name__))

    def checked(self) -> Checked:
        for check in (self._has_shape, self._has_fields, self._space_is_sound, self._baseline_is_feasible, self._history_looks_back):
            try:
                check()
            except TellapartError as error:
                self.error(error.what, error.fix, where=error.where, got=_got(error))
            except Exception as error:
                self.error(f"'{self.name}' failed.", "mend that line", where=line_of(error), got=words(error))
        return Checked(self.name, self.ordered())

    def _has_shape(self) -> None:
        for what in ("blocks", "trials"):
            value = getattr(self.task, what)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise StudyError(f"The '{what}' of '{self.name}' must be a whole number.", expected="1 or more", got=repr(value))
        if self.task.design_space.blocks != self.task.blocks:
            got = f"{self.task.design_space.blocks} and {self.task.blocks}"
            self.error(f"The design space of '{self.name}' has another number of blocks than the task.", "give both the same", got=got)

    def _has_fields(self) -> None:
        fields = self.task.fields
        if not fields or not all(isinstance(field, Field) for field in fields):
            self.error(f"'{self.name}' records nothing that is a Field.", 'return (Field("choice", "binary"),)', got=repr(fields)[:100])
            return
        names = [field.name for field in fields]
        reserved = {"participant", "model", "block", "trial", "mask"} & set(names)
        if len(set(names)) < len(names) or reserved:
            fix = "give each field a name of its own, and none of participant, model, block, trial, mask"
            self.error(f"The fields of '{self.name}' need other names.", fix, got=", ".join(names))
        for field in fields:
            if field.kind == "categorical" and not field.levels:
                fix = f'Field("{field.name}", "categorical", levels)'
                self.error(f"The categorical field '{field.name}' of '{self.name}' has no number of levels.", fix)

    def _space_is_sound(self) -> None:
        space, rng = self.task.design_space, np.random.default_rng(self.seed)
        for designs in (space.sample(64, rng), space.spread(64, rng)):
            space.check_many(designs, 64)
            repaired = space.repair(designs.copy())
            if not np.allclose(space.repair(repaired.copy()), repaired, atol=1e-6):
                fix = "`repair` must leave designs alone that obey it; where two rules undo each other's work, write one that does both"
                self.error(f"The rules of '{self.name}' change designs that obey them.", fix)
                return
            canonical = space.canonical(designs)
            if not np.allclose(space.repair(canonical.copy()), canonical, atol=1e-6):
                fix = "a rule that orders blocks cannot go with Symmetry(blocks=True): it already says that the order is free"
                self.error(f"The rules and the symmetry of '{self.name}' contradict each other.", fix)
                return

    def _baseline_is_feasible(self) -> None:
        one, same = (self.task.baseline(16, np.random.default_rng(self.seed)) for _ in range(2))
        expected = (16, *self.task.design_space.shape)
        if np.shape(one) != expected:
            fix = f"return n designs, (n, blocks, variables), here {expected}"
            self.error(f"The baseline of '{self.name}' has the wrong shape.", fix, got=str(np.shape(one)))
            return
        self.task.design_space.check_many(one, 16)
        if not np.array_equal(one, same):
            self.error(f"The baseline of '{self.name}' gives different designs for the same seed.", "draw from `rng` alone")

    def _history_looks_back(self) -> None:
        """What describes a trial must not change when later trials are taken away."""
        behavior = _any_behavior(self.task, 6, np.random.default_rng(self.seed))
        described = self.task.history(behavior)
        if described is None:
            return
        expected = behavior.shape
        if described.shape[:3] != expected or described.ndim != 4 or not np.isfinite(described).all():
            fix = f"return finite numbers (participants, blocks, trials, features), here {expected} and the features"
            self.error(f"The history of '{self.name}' has the wrong shape or is not finite.", fix, got=str(described.shape))
            return
        half = max(1, self.task.trials // 2)
        earlier = self.task.history(behavior.first(trials=half))
        if earlier is None or not np.allclose(earlier, described[:, :, :half], atol=1e-6):
            self.error(f"The history of '{self.name}' looks ahead.", "describe a trial by those before it and by itself alone")


def _any_behavior(task: Task, n: int, rng: np.random.Generator) -> Behavior:
    """Data that the task could record, at random."""
    shape = (n, task.blocks, task.trials)
    values: dict[str, NDArray[Any]] = {}
    for f in task.fields:
        if f.kind in ("real", "positive"):
            drawn: NDArray[Any] = rng.standard_normal(shape) if f.kind == "real" else rng.lognormal(0.0, 1.0, shape)
        else:
            drawn = rng.integers(0, {"binary": 2, "count": 10}.get(f.kind, f.levels or 1), shape)
        values[f.name] = drawn.astype(f.dtype)
    return Behavior(values)


def _equal(one: Behavior, other: Behavior) -> bool:
    """Are these the same data?"""
    same = all(np.array_equal(values, other.fields[name]) for name, values in one.fields.items())
    return same and np.array_equal(one.mask, other.mask)


def _differ(one: Behavior, other: Behavior) -> bool:
    """Do two samples of participants, alike in all that should matter, differ by more than chance?"""
    statistics = [_statistics(behavior) for behavior in (one, other)]
    difference = statistics[0] - statistics[1]
    error = difference.std(0, ddof=1) / len(difference) ** 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, difference.mean(0) / error, 0.0)
    return bool(np.abs(z).max(initial=0.0) > UNLIKELY)


def _statistics(behavior: Behavior) -> NDArray[np.float64]:
    """For each participant the mean of each field, its square, and the trials recorded; (N, S)."""
    columns = [behavior.mask.mean((1, 2))]
    for values in behavior.fields.values():
        ranked = np.sign(values) * np.log1p(np.abs(values.astype(np.float64)))  # heavy tails must not hide a shift
        columns += [(ranked**power).mean((1, 2)) for power in (1, 2)]
    return np.stack(columns, axis=1)


def _got(error: TellapartError) -> str | None:
    parts = [f"expected {error.expected}" if error.expected else None, None if error.got is None else f"got {error.got}"]
    return "; ".join(part for part in parts if part) or None


def _round(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1.0, seconds):.0f} seconds"
