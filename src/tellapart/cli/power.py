"""How many people a study takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Callable

from ..errors import DataError, StudyError, nearest
from ..files import check_writable
from ..progress import progress_bar
from .frame import command, option, show
from .options import Seed, StudyPath, finished_run, save_figure

if TYPE_CHECKING:
    import numpy as np

    from ..estimators.base import Estimator
    from ..groups.power import PowerCurve
    from ..information.estimate import Floats
    from ..question import Question


@command
def power(
    study: StudyPath,
    frequencies: Annotated[str | None, option("--frequencies A=0.6,…", "Of models in the population; the first 60 % if not given.")] = None,
    versus: Annotated[str | None, option("--versus A=0.2,…", "Frequencies in a second group: do they differ?")] = None,
    parameter: Annotated[str | None, option("--parameter M.P", "Ask about a parameter instead: aeg.phi.")] = None,
    width: Annotated[float | None, option("--width W", "How wide the interval of its population mean may be.")] = None,
    effect: Annotated[float | None, option("--effect E", "How much its mean differs between two groups.")] = None,
    target: Annotated[float, option("--target P", "The share of studies that are to be right.", min=0.5, max=0.99)] = 0.8,
    certainty: Annotated[
        float | None, option("--certainty P", "How sure a right study is; 0.95, with --width 0.9, if not given.", min=0.5, max=0.999)
    ] = None,
    n: Annotated[int, option("--n N", "How many simulated people groups are drawn from; more, if a range is wide.", min=300)] = 3000,
    figure: Annotated[Path | None, option("--figure FILE.svg", "Also draw the curves.")] = None,
    seed: Seed = None,
) -> None:
    """How many people do I need?

    Prints with how many people a study reaches the right conclusion often enough, at the recommended design and at baseline designs,
    from the run's own network: simulated people are drawn into groups, which are analysed as real ones are. Asks whether the most
    frequent model is found; with --versus, whether two groups differ; with --parameter, whether its population mean is known within
    --width, or a difference of --effect is seen.

    \b
    Example:
      tellapart power examples/bandit --frequencies wslts=0.6,aeg=0.2,gls=0.2
    """
    import numpy as np

    plan, result = finished_run(study, seed)
    names = plan.question.names
    about = None if parameter is None else _parameter(plan.question, parameter)
    conclude = _conclusion(plan.question, about, width, effect, frequencies, versus, certainty)
    if figure is not None:
        check_writable(figure)
    curves = {}
    with progress_bar("drawing groups") as progress:
        for label in ("recommended", "baseline")[: 1 if plan.search.trains_at_each_design else 2]:
            rng = np.random.default_rng([plan.seed, 15, 1])  # studies have [seed, 0], [seed, 1], …
            recommended = np.broadcast_to(result.design, (n, *result.design.shape))
            designs = recommended if label == "recommended" else plan.task.baseline(n, rng)
            curves[label] = conclude(result.found.estimator, designs, rng, target=target, seed=plan.seed, progress=progress)
    if figure is not None:
        from ..report.analysis_figures import power_figure

        save_figure(power_figure(curves, target), figure)
    lines = [f"the right conclusion: {curves['recommended'].conclusion}"]
    if about is not None and len(names) > 1:
        lines += [f"Counted are people who follow {names[about[0]]}: divide by how frequent they are in the population."]
    lines += [f"{label:<12} {_needed(curve, target)}" for label, curve in curves.items()]
    if plan.search.trains_at_each_design:
        lines += [f"baseline     not known: the network of the search '{plan.search.name}' knows the recommended design only"]
    if failed := sum(curve.failed for curve in curves.values()):
        lines += [
            f"{failed:,} of the people who were simulated for this could not be: all of it is about people whom the models can simulate."
        ]
    show({label: curve.to_json(target) for label, curve in curves.items()}, "\n".join(lines))


def _needed(curve: PowerCurve, target: float) -> str:
    """How many people are needed, in words, with two standard errors."""
    found, each, limits = curve.needed(target), " in each group" if curve.groups > 1 else "", curve.limits(target)
    if found is None:
        right = f"{100 * curve.share[-1]:.0f} ± {100 * curve.se[-1]:.0f} % of studies are right with so many"
        return f"more than {int(curve.sizes[-1])} people{each}: {right}"
    first = " or fewer" if found <= curve.sizes[0] else ""
    low, high = (None if limit is None else round(limit + 0.499) for limit in limits)
    could = f"{low} to {high}" if high is not None else f"{low} to more than {int(curve.sizes[-1])}"
    people = f"{round(found + 0.499)} people{each}{first} ({could}, by {curve.studies} simulated studies)"
    return f"{people}, for {100 * target:.0f} % of studies to be right"


def _parameter(question: Question, text: str) -> tuple[int, str]:
    """The number of a model and the name of a parameter of it that the study is about."""
    if text not in question.about:
        fix = nearest(text, question.about) or 'choose goal = "both"'
        raise StudyError(f"'{text}' cannot be asked about.", expected="a parameter that the study is about", fix=fix)
    model, name = text.rsplit(".", 1)
    return question.names.index(model), name


def _conclusion(
    question: Question,
    parameter: tuple[int, str] | None,
    width: float | None,
    effect: float | None,
    frequencies: str | None,
    versus: str | None,
    certainty: float | None,
) -> Callable[..., PowerCurve]:
    """What is to be concluded: the power curve of an estimator, the designs of people, where randomness comes from, and settings."""
    from ..groups.power_models import frequencies_differ, most_frequent_model
    from ..groups.power_parameters import parameter_differs, parameter_within
    from ..groups.power_people import simulated_evidence, simulated_parameter

    names, sure = question.names, certainty or 0.95
    if parameter is None and not question.about_models:
        raise StudyError("This study is about parameters.", fix="--parameter MODEL.NAME with --width or --effect")
    if width is not None and not width > 0:
        raise StudyError("No interval is as narrow as that.", where="--width", expected="a number above 0", got=width)
    if parameter is not None and (width is None) == (effect is None):
        raise StudyError("One of two questions can be asked about a parameter.", expected="--width or --effect")
    if parameter is not None and (frequencies is not None or versus is not None):
        fix = "leave out --frequencies and --versus, or --parameter"
        raise StudyError("A question about a parameter is not one about frequencies of models.", fix=fix)
    if parameter is None and (width is not None or effect is not None):
        raise StudyError("--width and --effect are about a parameter.", fix="--parameter MODEL.NAME says which")
    usual = [0.6] + [0.4 / (len(names) - 1)] * (len(names) - 1) if parameter is None else []
    shares = usual if frequencies is None else _shares(frequencies, names)
    others = None if versus is None else _shares(versus, names)
    if others == shares:
        raise DataError(
            "These two groups do not differ.", where="--versus", expected="other frequencies than those of the first", got=versus
        )

    def curve(estimator: Estimator, designs: Floats, rng: np.random.Generator, **settings: Any) -> PowerCurve:
        if parameter is not None:
            people = simulated_parameter(estimator, *parameter, designs, rng)
            if width is not None:
                return replace(parameter_within(people, width, interval=certainty or 0.9, **settings), failed=people.failed)
            assert effect is not None
            return replace(parameter_differs(people, effect, interval=sure, **settings), failed=people.failed)
        model, evidence, failed = simulated_evidence(estimator, designs, rng)
        if others is not None:
            return replace(frequencies_differ(model, evidence, shares, others, names, certainty=sure, **settings), failed=failed)
        return replace(most_frequent_model(model, evidence, shares, names, certainty=sure, **settings), failed=failed)

    return curve


def _shares(text: str, names: tuple[str, ...]) -> list[float]:
    """Frequencies "a=0.6,b=0.4" in the order of models."""
    try:
        given = {name.strip(): float(share) for name, _, share in (part.partition("=") for part in text.split(","))}
    except ValueError:
        raise DataError("The frequencies cannot be understood.", got=text, expected=",".join(f"{name}=0.3" for name in names)) from None
    for name in given:
        if name not in names:
            raise DataError(f"The study has no model '{name}'.", got=text, fix=nearest(name, names))
    if not abs(sum(given.values()) - 1) <= 1e-6:
        fix = "write 60 % as 0.6" if max(given.values()) > 1 else "models that are not named have frequency 0: name them too"
        raise DataError(
            "These are no frequencies of the models: they do not sum to 1.",
            expected=",".join(f"{name}=…" for name in names),
            got=text,
            fix=fix,
        )
    return [given.get(name, 0.0) for name in names]
