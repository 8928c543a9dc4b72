"""Is this model fit to be used?

A model is simulated at prior draws, at corners of the design space and inside it. What would spoil a study is an *error*: wrong
shapes or types, values that cannot be recorded, random numbers that do not come from `rng`, participants that depend on each other,
outcomes that do not follow the task's rules, a likelihood that contradicts the simulator. What may be meant is a *warning*: a parameter
or a design variable without effect, a symmetry of the task that the model does not have.
"""

from __future__ import annotations

import time
from typing import Mapping

import numpy as np

from ..behavior import Behavior
from ..groups.memory import PEOPLE as SEARCHED
from ..groups.memory import remembers, rules_remember
from ..models.agents import Agent
from ..models.base import Floats, LikelihoodModel, Model
from ..models.chance import beyond_chance, standardised
from ..models.failures import Failure, attempt, impossible, line_of, words
from ..models.simulation import MOST as MOST_SKIPPED
from ..models.simulation import OnError
from ..models.symmetry import SAY_SO, broken_symmetries, denied_difference, statistics
from ..models.with_priors import shipped_with
from ..priors import Prior, sample_priors
from ..tasks.base import Task
from ..tasks.sampling import sample, spread
from ..tasks.scaling import from_unit, to_unit
from .agents import check_agent, how_it_runs
from .findings import Checked, Findings
from .likelihoods import PEOPLE as JUDGED
from .likelihoods import hold_against_simulators
from .rules import departures_from_law, draws_outcomes, unrecorded_effects

SECONDS = 1.0
"""About how long one comparison of a slow model may take; fewer participants are simulated if it would take longer."""
FEWEST, MOST = 24, 2000
"""Participants of a comparison."""
PEOPLE = 8
"""Sets of parameters where participants with the same parameters are compared."""


def check_model(model: Model, task: Task, *, seed: int = 0, raise_errors: bool = True, on_error: OnError = "stop") -> Checked:
    """Check a model at a task. A sound model is called unsound by chance at most once in 10,000 times.

    Arguments:
        seed: Where randomness starts.
        raise_errors: Raise a `ModelError` if there is an error; else it is among the findings of what is returned.
        on_error: What the study does when a participant cannot be simulated; with "skip" a few of them are a warning.
    """
    return _ModelChecker(model, task, seed, on_error).checked(raise_errors)


class _ModelChecker:
    """Checks of one model at one task."""

    def __init__(self, model: Model, task: Task, seed: int, on_error: OnError) -> None:
        self.model, self.task, self.seed, self.on_error = model, task, seed, on_error
        self.name = str(getattr(model, "name", type(model).__name__))
        self.findings, self.failures, self.simulated = Findings(self.name), list[Failure](), 0
        self.speed = 0.0

    def checked(self, raise_errors: bool) -> Checked:
        stages = [
            [self._has_parameters, lambda: check_agent(self.model, self.task, self.findings, self.seed)],
            [self._can_be_simulated],
            [self._measure_speed, self._leaves_its_inputs_alone, self._follows_the_seed],
            [self._participants_are_independent, self._parameters_have_effects, self._design_has_effects],
            [self._outcomes_follow_the_rules, self._design_acts_through_data, self._has_the_symmetries, self._begins_anew],
            [self._likelihood_fits],
            [self._can_be_sent_away, self._few_were_skipped],
        ]
        self.findings.run(*stages)
        return self.findings.checked(raise_errors, self.speed or None, how_it_runs(self.model, self.task) if self.speed else "")

    def _has_parameters(self) -> None:
        parameters = self.model.parameters
        if not isinstance(parameters, Mapping) or not all(isinstance(prior, Prior) for prior in parameters.values()):
            fix = 'return {"alpha": Uniform(0, 1), …}'
            self.findings.error(f"The parameters of '{self.name}' are not names with priors.", fix, got=repr(parameters)[:100])

    def _can_be_simulated(self) -> None:
        """Everywhere, by many and by one."""
        for n in (32, 1):
            designs, draws = self._designs(n), self._draws(n)
            behavior = self._simulate(draws, designs)
            error = impossible(self.model, behavior, self.task, n)
            if error is not None:
                raise error
            beyond = behavior.mask & (np.arange(self.task.trials) >= self.task.lengths(designs)[..., None])
            if beyond.any():
                fix = "leave the mask False from `task.lengths(designs)` on"
                got = f"{int(beyond.sum())} of {int(behavior.mask.sum())} trials"
                self.findings.error(f"'{self.name}' records trials beyond the lengths that the task gives its blocks.", fix, got=got)

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
        return self._affordable(MOST)

    def _affordable(self, most: int) -> int:
        return int(np.clip(self.speed * SECONDS, FEWEST, most)) // 2 * 2

    def _leaves_its_inputs_alone(self) -> None:
        draws, designs = self._draws(8), self._designs(8)
        before = {name: values.copy() for name, values in draws.items()}, designs.copy()
        attempt(self.model, draws, designs, np.random.default_rng(self.seed), self.task)
        if any((draws[name] != values).any() for name, values in before[0].items()) or (designs != before[1]).any():
            fix = "work on copies: values = values.copy()"
            self.findings.error(f"'{self.name}' changes the parameters or designs that it is given.", fix)

    def _follows_the_seed(self) -> None:
        draws, designs = self._draws(self.n), self._designs(self.n)
        one, same, other = (self._simulate(draws, designs, seed) for seed in (1, 1, 2))
        if not _equal(one, same):
            fix = "draw every random number from `rng`; np.random.random() and generators of your own are not it"
            self.findings.error(f"'{self.name}' gives different data for the same seed.", fix)
        elif _equal(one, other):
            what = f"'{self.name}' gives the same data for different seeds."
            fix = "use `rng` as it is: a generator that is made anew inside the model, default_rng(0), repeats itself"
            if self._leaves_to_chance(one, draws, designs):
                self.findings.error(what, fix)
            else:
                self.findings.warning(what, f"a theory without chance may be meant; if it is not, {fix}")

    def _leaves_to_chance(self, behavior: Behavior, draws: Mapping[str, Floats], designs: Floats) -> bool:
        """Do participants with the same parameters at the same design differ, or could they, by the rules of the task?"""
        twins = {name: np.repeat(values[:1], PEOPLE) for name, values in draws.items()}
        alike = self._simulate(twins, np.repeat(designs[:1], PEOPLE, axis=0), 1)
        differ = any((values != values[:1]).any() for values in (*alike.fields.values(), alike.mask))
        return differ or draws_outcomes(self.task, behavior, designs, np.random.default_rng([self.seed, 13]))

    def _participants_are_independent(self) -> None:
        """Does the first half of participants behave the same, whoever the second half is?"""
        priors = self.model.parameters

        def difference(again: int, n: int) -> dict[str, float]:
            half, designs, rng = n // 2, self._designs(n), np.random.default_rng([self.seed, again])
            draws = {name: prior.quantile(rng.uniform(0.3, 0.7, half)) for name, prior in priors.items()}
            results = []
            for share in (0.001, 0.999):
                others = {name: np.full(half, prior.quantile(share)) for name, prior in priors.items()}
                mixed = {name: np.concatenate([draws[name], others[name]]) for name in draws}
                results.append(self._simulate(mixed, designs, 3 + again)[slice(0, half)])
            x = (statistics(results[0], self.task) - statistics(results[1], self.task)).sum(1)
            return dict(zip(map(str, range(x.shape[1])), standardised(x.sum(0), (x * x).sum(0)).tolist(), strict=True))

        if beyond_chance(difference, self.n):
            fix = "look for means, sums, maxima or sorting over the first axis, which is that of participants"
            self.findings.error(f"The participants of '{self.name}' depend on each other.", fix)

    def _parameters_have_effects(self) -> None:
        draws, designs = self._draws(self.n), self._designs(self.n)
        for name, prior in self.model.parameters.items():
            values = [prior.quantile(share) for share in (0.05, 0.95)]
            if values[0] == values[1]:  # nearly all have this value; the others may do something else
                values = [prior.quantile(share) for share in (1e-9, 1 - 1e-9)]
            low, high = (self._simulate({**draws, name: np.full(self.n, value)}, designs, 4) for value in values)
            if _equal(low, high):
                what = f"The parameter '{name}' of '{self.name}' has no effect on the data."
                self.findings.warning(what, "is it used? is it misspelt?")

    def _design_has_effects(self) -> None:
        space, draws = self.task.design_space, self._draws(self.n)
        unit = to_unit(space, self._designs(self.n))
        for v, variable in enumerate(space.names):
            ends = []
            for place in (0.0, 1.0):
                moved = unit.copy()
                moved[..., v] = place if not space.constraints else 0.5 * (moved[..., v] + place)
                ends.append(from_unit(space, moved))
            if not (ends[0] == ends[1]).all() and _equal(self._simulate(draws, ends[0], 5), self._simulate(draws, ends[1], 5)):
                fix = "is it used? a variable that no model depends on makes the search slower and no wiser"
                self.findings.warning(f"The design variable '{variable}' has no effect on the data of '{self.name}'.", fix)

    def _outcomes_follow_the_rules(self) -> None:
        if not self.task.outcomes:
            return

        def departures(again: int, n: int) -> dict[str, float]:
            designs = self._designs(n)
            behavior = self._simulate(self._draws(n), designs, 6 + again)
            return departures_from_law(self.task, behavior, designs, np.random.default_rng([self.seed, 8, again]))

        clearest = list(beyond_chance(departures, self.n).items())[:3]
        if clearest:
            fix = (
                "let the task draw outcomes: outcomes = task.environment(designs, rng).step(responses); what is there before the response,"
                ' as a stimulus is, is no outcome: leave out by="task"'
            )
            what = f"The outcomes that '{self.name}' records do not follow the rules of the task."
            got = [f"{name}: {'more' if z > 0 else 'less'} so than the rules say (z = {z:.0f})" for name, z in clearest]
            self.findings.error(what, fix, got="; ".join(got))

    def _design_acts_through_data(self) -> None:
        if not self.task.design_acts_through_data:
            return
        few = sample_priors(self.model.parameters, PEOPLE, np.random.default_rng([self.seed, 9]))

        def effects(again: int, n: int) -> dict[str, float]:
            rng = np.random.default_rng([self.seed, 10, again])
            group, designs = np.arange(n) % PEOPLE, sample(self.task.design_space, n, rng)
            behavior = self._simulate({name: values[group] for name, values in few.items()}, designs, 11 + again)
            return unrecorded_effects(self.task, behavior, designs, group, rng)

        for name, z in list(beyond_chance(effects, self._affordable(8 * MOST)).items())[:1]:
            what = f"The participants of '{self.name}' respond to the design beyond what is recorded."
            fix = (
                "record the very outcomes that participants learn from, and show them nothing else of the design; if the task shows it,"
                " leave `design_acts_through_data` False there"
            )
            self.findings.error(what, fix, got=f"{name}, although parameters and recorded past are the same (z = {z:.0f})")

    def _has_the_symmetries(self) -> None:
        broken, variables = broken_symmetries(self.model, self.task, self.seed, self.n), ", ".join(self.task.design_space.names)
        consequence = "the search will not use that symmetry; mend the model if it is not meant"
        if self.model.resets is False and (broken.columns or broken.blocks):
            what = f"'{self.name}' carries memory from block to block (resets=False): blocks cannot change places."
            self.findings.warning(what, "nothing, if it does; else leave resets out")
            return
        if broken.columns:
            what = f"'{self.name}' does not treat the design variables of a block alike ({variables}), as the task declares (columns)."
            self.findings.warning(what, consequence)
        denied = denied_difference([self.model], self.task, [self.name] if broken.blocks else [])
        if denied:
            self.findings.error(denied, SAY_SO)
        elif broken.blocks:
            self.findings.warning(f"'{self.name}' does not treat blocks alike, as the task declares (blocks).", consequence)

    def _begins_anew(self) -> None:
        """A model that says so may be tried out; agents do so by construction."""
        if self.task.blocks == 1 or isinstance(shipped_with(self.model), Agent) or not self.model.resets:
            return
        if rules_remember(self.task, self.seed):  # what happens in a block then goes with what happened before, whoever plays
            return
        z = remembers(self.model, self.task, self.seed, self._affordable(SEARCHED))
        if z:
            what = f"'{self.name}' says that each block begins anew (resets=True), and carries memory from block to block."
            got = f"with the same parameters, what it does in a block goes with what happened in an earlier one (z = {z:.0f})"
            self.findings.error(what, SAY_SO, got=got)

    def _likelihood_fits(self) -> None:
        """The likelihood of simulated data is finite, and tells which of two sets of parameters made them as surely as it says."""
        if not isinstance(self.model, LikelihoodModel):
            return
        n = min(self.n, JUDGED)
        model, draws, designs = self.model, self._draws(n), self._designs(n)
        behavior = self._simulate(draws, designs, 12)
        try:
            own = np.asarray(model.log_likelihood(draws, behavior, designs, self.task))
        except Exception as error:
            self.findings.error(f"The likelihood of '{self.name}' failed.", "mend that line", where=line_of(error), got=words(error))
            return
        if own.shape != (n,):
            fix = f"return one number for each participant, ({n},)"
            self.findings.error(f"The likelihood of '{self.name}' has the wrong shape.", fix, got=str(own.shape))
        elif not np.isfinite(own).all():
            fix, got = "simulator and likelihood disagree about what can happen", f"{(~np.isfinite(own)).sum()} of {n}"
            self.findings.error(f"The likelihood of '{self.name}' calls its own data impossible.", fix, got=got)
        else:
            hold_against_simulators((model, model), self.task, self.findings, self.seed, n)

    def _can_be_sent_away(self) -> None:
        import cloudpickle

        try:
            cloudpickle.dumps(self.model)
        except Exception as error:
            fix = "keep open files, locks and connections out of the model"
            self.findings.warning(f"'{self.name}' cannot be sent to other processes, so it runs on one core.", fix, got=words(error))

    def _few_were_skipped(self) -> None:
        if not self.failures:
            return
        first = self.failures[0]
        if len(self.failures) > MOST_SKIPPED * self.simulated:
            raise first.as_error()
        fix = f"they are skipped; to see the first again: {first.reproduction}"
        got = f"{len(self.failures)} of {self.simulated}, {first.error}"
        self.findings.warning(f"Some participants of '{self.name}' cannot be simulated.", fix, where=first.where, got=got)

    def _draws(self, n: int) -> dict[str, Floats]:
        return sample_priors(self.model.parameters, n, np.random.default_rng([self.seed, n]))

    def _designs(self, n: int) -> Floats:
        """Corners, edges and the inside of the space, and baseline designs, (n, B, V)."""
        rng = np.random.default_rng([self.seed, n, 1])
        everywhere = spread(self.task.design_space, n - n // 4, rng)
        return np.concatenate([everywhere, self.task.baseline(n // 4, rng)]) if n >= 4 else everywhere

    def _simulate(self, draws: Mapping[str, Floats], designs: Floats, seed: int = 0) -> Behavior:
        """Participants with given parameters at given designs; nothing is recorded of those that are skipped."""
        rng = np.random.default_rng([self.seed, seed])
        behavior, failures = attempt(self.model, dict(draws), designs.copy(), rng, self.task, 1 if self.on_error == "stop" else None)
        if failures and self.on_error == "stop":
            raise next(iter(failures.values())).as_error()
        self.failures += failures.values()
        self.simulated += len(designs)
        return behavior


def _equal(one: Behavior, other: Behavior) -> bool:
    """Are these the same data?"""
    same = all(np.array_equal(values, other.fields[name]) for name, values in one.fields.items())
    return same and np.array_equal(one.mask, other.mask)
