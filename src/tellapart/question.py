"""The question: what is to be learned of a participant, the variable of interest v.

    discriminate   v is the model m
    estimate       v is the parameters of one model
    both           v is the model and its parameters

Models have a prior p(m). Of the parameters, v may hold some only; the others are nuisance: nobody asks for them, and they are
averaged over. Information about v is I(v; y), and never more than the entropy of m if v is the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Sequence, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import StudyError, nearest
from .models.base import Model
from .models.simulation import OnError, Simulations, simulate_models
from .priors import Prior
from .tasks.base import Task

Goal = Literal["discriminate", "estimate", "both"]


@dataclass(frozen=True)
class Question:
    """What is to be learned.

    Arguments:
        models: The theories: two or more to tell apart; one whose parameters are to be estimated.
        goal: "discriminate": which model is it? "estimate": which parameters has it? "both".
        prior: The probability of each model before any data, (M,); uniform if not given. Scaled to sum to 1.
        about: The parameters to be learned, as "model.parameter"; all of them if not given.
        on_error: When a model cannot simulate a participant: "stop"; or "skip", and ask about those that can be simulated.
    """

    models: tuple[Model, ...]
    goal: Goal = "discriminate"
    prior: tuple[float, ...] = ()
    about: tuple[str, ...] = ()
    on_error: OnError = "stop"

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models) if isinstance(self.models, Sequence) else (self.models,))
        for model in self.models:
            check_kind(model, Model)
        _check_choice("goal", self.goal, get_args(Goal))
        _check_choice("on_error", self.on_error, get_args(OnError))
        _check_models(self.goal, self.models)
        object.__setattr__(self, "prior", _checked_prior(self.prior, self.models))
        object.__setattr__(self, "about", _checked_about(self.about, self.goal, self.models))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the M models."""
        return tuple(model.name for model in self.models)

    @property
    def about_models(self) -> bool:
        """Is the model part of v?"""
        return self.goal != "estimate"

    @property
    def about_parameters(self) -> bool:
        """Are parameters part of v?"""
        return self.goal != "discriminate"

    @property
    def log_prior(self) -> NDArray[np.float64]:
        """log p(m), (M,)."""
        return np.log(self.prior)

    @property
    def most(self) -> float | None:
        """The most that can be learned, in nats, where there is a most: the entropy of the model."""
        return float(-(np.array(self.prior) @ self.log_prior)) if self.goal == "discriminate" else None

    def share_of_most(self, nats: float) -> str:
        """How much of the most that can be learned that is, in words; nothing where there is no most."""
        if self.most is None:
            return ""
        name = f"log {len(self.models)}" if self.uniform else "entropy of the prior"
        return f"; {round(100 * nats / self.most)} % of the maximum {name} = {self.most:.3f}"

    @property
    def uniform(self) -> bool:
        """Are all models equally probable?"""
        return len(set(self.prior)) == 1

    @property
    def in_words(self) -> str:
        """What is to be learned: "which model a participant follows"."""
        if not self.about_parameters:
            return "which model a participant follows"
        which = "parameters" if self.about == parameter_names(self.models) else f"{', '.join(self.about)}, other parameters being unknown"
        return f"which model a participant follows and its {which}" if self.about_models else f"a participant's {which}"

    def parameters(self, m: int) -> dict[str, Prior]:
        """The parameters of model number `m` that are to be learned, with their priors."""
        model = self.models[m]
        return {name: prior for name, prior in model.parameters.items() if f"{model.name}.{name}" in self.about}

    def places(self, m: int) -> list[int]:
        """Where these are among all parameters of the model."""
        asked = self.parameters(m)
        return [p for p, name in enumerate(self.models[m].parameters) if name in asked]

    @property
    def widest(self) -> int:
        """The largest number of parameters of a model that are to be learned."""
        return max((len(self.parameters(m)) for m in range(len(self.models))), default=0)

    def simulate(self, task: Task, designs: ArrayLike, n: int, rng: np.random.Generator, **given: Any) -> Simulations:
        """`n` participants at one design for all (B, V), or one for each (n, B, V); see `simulate_models`."""
        return simulate_models(task, self.models, designs, n, rng, prior=self.prior, on_error=self.on_error, **given)

    def theta(self, simulations: Simulations) -> NDArray[np.float32]:
        """Each participant's parameters that are to be learned, on the normal scale, (N, widest), zero where its model has fewer."""
        z = np.zeros((len(simulations), self.widest), np.float32)
        for m, model in enumerate(self.models):
            chosen = simulations.model == m
            for p, (name, prior) in enumerate(self.parameters(m).items()):
                key = f"{model.name}.{name}"
                within = simulations.within[key][chosen] if prior.discrete else 0.5
                z[chosen, p] = prior.to_normal(simulations.parameters[key][chosen], within)
        return z


def everything(question: Question) -> Question:
    """The question about the model and all parameters."""
    return replace(question, goal="both" if len(question.models) > 1 else "estimate", about=())


def nuisance(question: Question) -> Question | None:
    """The question about the parameters that `question` does not ask about; None if it asks about all."""
    asked = question.about if question.about_parameters else ()
    rest = tuple(name for name in parameter_names(question.models) if name not in asked)
    return replace(everything(question), about=rest) if rest else None


def which_model(question: Question) -> Question:
    """The question about the model alone."""
    return replace(question, goal="discriminate", about=())


def parameter_names(models: Sequence[Model]) -> tuple[str, ...]:
    """All parameters of all models, each as "model.parameter", in their order."""
    return tuple(f"{model.name}.{name}" for model in models for name in model.parameters)


class Asked(Protocol):
    """A question put to participants in a task; a `Study` is one."""

    @property
    def task(self) -> Task: ...

    @property
    def question(self) -> Question: ...


def check_kind(value: Any, kind: type) -> None:
    """Raise a `StudyError` unless `value` is a task, a model, a search."""
    if not isinstance(value, kind):
        forgotten = isinstance(value, type) and issubclass(value, kind)
        given = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
        fix = f"write {value.__name__}() with parentheses" if forgotten else None
        raise StudyError(f"This is not a {kind.__name__.lower()}.", expected=f"a tellapart.{kind.__name__}", got=given, fix=fix)


def _check_choice(key: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        expected = " or ".join(f'"{choice}"' for choice in known)
        raise StudyError(
            f"The '{key}' of the study is unknown.", expected=expected, got=repr(value), fix=nearest(str(value), known), key=key
        )


def _check_models(goal: Goal, models: Sequence[Model]) -> None:
    """The goal makes sense for these models, and each has a name of its own."""
    names = [model.name for model in models]
    if goal == "estimate" and len(names) != 1:
        raise StudyError(
            "The goal 'estimate' is about the parameters of one model.",
            expected="one model",
            got=f"{len(names)} ({', '.join(names)})" if names else "none",
            fix="leave one model, or choose the goal 'both'" if names else "add a [[models]] section",
        )
    if goal != "estimate" and len(names) < 2:
        raise StudyError(
            f"The goal '{goal}' tells models apart.",
            expected="two models or more",
            got=f"one ({names[0]})" if names else "none",
            fix="add a [[models]] section, or choose the goal 'estimate'",
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        fix = f"leave out one '{repeated[0]}', or give a subclass of it another name"
        expected, got = "a name of its own for each model", ", ".join(names)
        raise StudyError("Two models of the study have the same name.", expected=expected, got=got, fix=fix)
    if goal == "estimate" and not models[0].parameters:
        what = f"The goal 'estimate' is about parameters, and the model '{names[0]}' has none."
        raise StudyError(what, expected="one parameter or more", fix="choose another model")


def _checked_prior(prior: Sequence[float], models: Sequence[Model]) -> tuple[float, ...]:
    """Probabilities of the models that sum to 1."""
    shares = np.asarray(prior if len(prior) else np.ones(len(models)), dtype=np.float64)
    if shares.shape != (len(models),) or not (np.isfinite(shares) & (shares > 0)).all():
        expected = f"{len(models)} numbers above 0, one for each model"
        fix = "leave out a model that is impossible; give all models a prior, or none"
        got = ", ".join("none" if share != share else f"{share:g}" for share in prior)
        raise StudyError("The prior over models is impossible.", expected=expected, got=got, fix=fix, key="prior")
    total = float(shares.sum())
    return tuple(float(share) for share in (shares if abs(total - 1.0) < 1e-9 else shares / total))


def _checked_about(about: Sequence[str], goal: Goal, models: Sequence[Model]) -> tuple[str, ...]:
    """The parameters to be learned, in the order of the models."""
    known = parameter_names(models)
    wanted = [about] if isinstance(about, str) else list(about)
    if goal == "discriminate":
        if wanted:
            fix = "leave it out, or choose the goal 'estimate' or 'both'"
            raise StudyError("The goal 'discriminate' is not about parameters.", got=f"about = {wanted}", fix=fix, key="about")
        return ()
    for name in wanted:
        if name not in known:
            raise StudyError(f"There is no parameter '{name}'.", expected=", ".join(known), fix=nearest(name, known), key="about")
    return tuple(name for name in known if not wanted or name in wanted)
