"""Is this task fit to be used? Its design space and rules, its baseline designs, its fields and its description of trials."""

from __future__ import annotations

import json

import numpy as np

from ..behavior import Behavior, Field
from ..errors import StudyError
from ..tasks.base import Task, check_counts
from ..tasks.environment import Environment, NoOutcomes
from ..tasks.sampling import any_behavior, sample, spread
from .findings import Checked, Findings


def check_task(task: Task, *, seed: int = 0, raise_errors: bool = True) -> Checked:
    """Check a task.

    Arguments:
        seed: Where randomness starts.
        raise_errors: Raise a `ModelError` if there is an error; else it is among the findings of what is returned.
    """
    checker = _TaskChecker(task, seed)
    described = [checker.has_shape, checker.has_fields, checker.space_is_sound, checker.baseline_is_feasible, checker.has_lengths]
    played = [checker.has_rules, checker.goes_on_where_it_was, checker.history_looks_back, checker.history_loses_nothing]
    checker.findings.run(described, played)
    return checker.findings.checked(raise_errors)


class _TaskChecker:
    """Checks of one task."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task, self.seed, self.name = task, seed, str(getattr(task, "name", type(task).__name__))
        self.findings = Findings(self.name)

    def has_shape(self) -> None:
        check_counts(f"'{self.name}'", {"blocks": 1, "trials": 1}, {"blocks": self.task.blocks, "trials": self.task.trials})
        if self.task.design_space.blocks != self.task.blocks:
            fix, got = "give both the same", f"{self.task.design_space.blocks} and {self.task.blocks}"
            self.findings.error(f"The design space of '{self.name}' has another number of blocks than the task.", fix, got=got)

    def has_fields(self) -> None:
        fields = self.task.fields
        if not fields or not all(isinstance(field, Field) for field in fields):
            fix = 'return (Field("choice", "binary"),)'
            raise StudyError(f"'{self.name}' records nothing that is a Field.", got=repr(fields)[:100], fix=fix)
        names = [field.name for field in fields]
        reserved = {"participant", "model", "block", "trial", "mask"} & set(names)
        if len(set(names)) < len(names) or reserved:
            fix = "give each field a name of its own, and none of participant, model, block, trial, mask"
            self.findings.error(f"The fields of '{self.name}' need other names.", fix, got=", ".join(names))
        for field in fields:
            if field.kind == "categorical" and not field.levels:
                fix = f'Field("{field.name}", "categorical", levels)'
                self.findings.error(f"The categorical field '{field.name}' of '{self.name}' has no number of levels.", fix)
            if len(set(field.labels)) < len(field.labels):
                fix, got = "give each category a label of its own", ", ".join(field.labels)
                self.findings.error(f"Two categories of the field '{field.name}' of '{self.name}' have the same label.", fix, got=got)
        if not self.task.responses:
            fix = 'a field is a response unless it says by="task"'
            self.findings.error(f"Participants of '{self.name}' give no response.", fix, got=", ".join(names))
        if self.task.outcomes and self.task.rules is NoOutcomes:
            fix = (
                "write an `Environment` whose `draw` gives them, and name it in the task: rules: ClassVar = MyRules; what is there before"
                ' the response, as a stimulus is, goes without by="task"'
            )
            got = ", ".join(field.name for field in self.task.outcomes)
            self.findings.error(f"'{self.name}' records outcomes but has no rules that draw them.", fix, got=got)

    def space_is_sound(self) -> None:
        space, rng = self.task.design_space, np.random.default_rng(self.seed)
        for designs in (sample(space, 64, rng), spread(space, 64, rng)):
            space.check_many(designs, 64)
            repaired = space.repair(designs.copy())
            if not np.allclose(space.repair(repaired.copy()), repaired, atol=1e-6):
                fix = "`repair` must leave designs alone that obey it; where two rules undo each other's work, write one that does both"
                raise StudyError(f"The constraints of '{self.name}' change designs that obey them.", fix=fix)
            canonical = space.canonical(designs)
            if not np.allclose(space.repair(canonical.copy()), canonical, atol=1e-6):
                fix = "a constraint that orders blocks cannot go with Symmetry(blocks=True): it already says that the order is free"
                raise StudyError(f"The constraints and the symmetry of '{self.name}' contradict each other.", fix=fix)

    def baseline_is_feasible(self) -> None:
        shape = self.task.design_space.shape
        one, same = (self.task.baseline(16, np.random.default_rng(self.seed)) for _ in range(2))
        if np.shape(one) != (16, *shape):
            fix = f"return n designs, (n, blocks, variables), here {(16, *shape)}"
            raise StudyError(f"The baseline of '{self.name}' has the wrong shape.", got=np.shape(one), fix=fix)
        self.task.design_space.check_many(one, 16)
        if not np.array_equal(one, same):
            self.findings.error(f"The baseline of '{self.name}' gives different designs for the same seed.", "draw from `rng` alone")

    def has_lengths(self) -> None:
        """Each block has a whole number of trials, within what the task has."""
        designs = spread(self.task.design_space, 16, np.random.default_rng(self.seed))
        lengths = np.asarray(self.task.lengths(designs))
        if lengths.shape != designs.shape[:2] or lengths.dtype.kind not in "iu" or lengths.min() < 0 or lengths.max() > self.task.trials:
            fix = f"return whole numbers from 0 to {self.task.trials}, (participants, blocks), here {designs.shape[:2]}"
            got = f"{lengths.dtype} {lengths.shape}, from {lengths.min()} to {lengths.max()}"
            self.findings.error(f"The lengths of the blocks of '{self.name}' are impossible.", fix, got=got)

    def has_rules(self) -> None:
        """Outcomes of a whole experiment: all of them, values that can be recorded, the same for the same seed."""
        few = any_behavior(self.task, 4, np.random.default_rng(self.seed))
        designs = spread(self.task.design_space, 4, np.random.default_rng(self.seed))
        first = {f.name: few.fields[f.name][:, 0, 0] for f in self.task.responses}
        drawn = self.task.environment(designs, np.random.default_rng(self.seed)).draw(first)
        if sorted(drawn) != sorted(f.name for f in self.task.outcomes):
            expected, got = ", ".join(f.name for f in self.task.outcomes), ", ".join(drawn)
            raise StudyError(f"The rules of '{self.name}' draw other outcomes than it records.", expected=expected, got=got)
        one, same = (self._played() for _ in range(2))
        self.task.check(one.behavior)
        if not all(np.array_equal(one.behavior.fields[name], same.behavior.fields[name]) for name in one.behavior.fields):
            self.findings.error(f"The rules of '{self.name}' give different outcomes for the same seed.", "draw from `self.rng` alone")
        trials = np.arange(self.task.trials) < self.task.lengths(one.designs)[..., None]
        if not np.array_equal(one.behavior.mask, trials):
            self.findings.error(f"The rules of '{self.name}' do not keep to the lengths of its blocks.", "leave `follow` as it is")

    def goes_on_where_it_was(self) -> None:
        """A session that is saved and restored must not differ from one that is not."""
        whole, half = self._played(), self._played(until=(self.task.blocks - 1, self.task.trials // 2))
        again = self.task.environment(half.designs, np.random.default_rng(1))
        again.restore(json.loads(json.dumps(half.save())))
        again = self._played(again)
        if not all(np.array_equal(values, again.behavior.fields[name]) for name, values in whole.behavior.fields.items()):
            fix = "keep what the rules remember in `self.state`, as arrays, and change it in `learn` only"
            self.findings.error(f"The rules of '{self.name}' do not go on where they were after `save` and `restore`.", fix)

    def _played(self, begun: Environment | None = None, until: tuple[int, int] | None = None) -> Environment:
        """An environment in which participants at random designs respond at random, up to a block and trial; or one that was begun."""
        designs = spread(self.task.design_space, 12, np.random.default_rng(self.seed))
        responses = any_behavior(self.task, 12, np.random.default_rng(self.seed))
        environment = begun or self.task.environment(designs, np.random.default_rng(self.seed))
        while not environment.done and (environment.block, environment.trial) != until:
            given = {f.name: responses.fields[f.name][:, environment.block, environment.trial] for f in self.task.responses}
            environment.step(given)
        return environment

    def history_looks_back(self) -> None:
        """What describes a trial must not change when later trials are taken away."""
        behavior = any_behavior(self.task, 6, np.random.default_rng(self.seed))
        described = self.task.history(behavior)
        if described is None:
            return
        if described.shape[:3] != behavior.shape or described.ndim != 4 or not np.isfinite(described).all():
            fix = f"return finite numbers (participants, blocks, trials, features), here {behavior.shape} and the features"
            raise StudyError(f"The history of '{self.name}' has the wrong shape or is not finite.", got=described.shape, fix=fix)
        half = max(1, self.task.trials // 2)
        earlier = self.task.history(behavior.first(trials=half))
        if earlier is None or not np.allclose(earlier, described[:, :, :half], atol=1e-6):
            self.findings.error(f"The history of '{self.name}' looks ahead.", "describe a trial by those before it and by itself alone")

    def history_loses_nothing(self) -> None:
        """Where something else was recorded, in one trial or in all of them, the description must be another."""
        rng = np.random.default_rng(self.seed)
        behavior, others = any_behavior(self.task, 64, rng), any_behavior(self.task, 64, rng).fields
        described, one = self.task.history(behavior), np.zeros(behavior.shape, bool)
        if described is None:
            return
        one.reshape(64, -1)[np.arange(64), rng.integers(0, one[0].size, 64)] = True
        for f in self.task.fields:
            count = 2 if f.kind == "binary" else f.levels
            values = behavior.fields[f.name]
            other = (values + 1) % count if count else others[f.name]
            for where in (one, np.ones_like(one)):
                fields = {**behavior.fields, f.name: np.where(where, other, values).astype(f.dtype)}
                seen = self.task.history(Behavior(fields))
                if seen is not None and (seen == described).all((1, 2, 3)).any():
                    what = f"The history of '{self.name}' does not show which '{f.name}' was recorded."
                    fix = "add it to what `history` returns: a network that cannot see it takes different participants for the same"
                    self.findings.warning(what, fix)
                    break
