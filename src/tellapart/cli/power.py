"""How many people a study takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DataError, StudyError, nearest
from .frame import command, show
from .options import AsJson, Seed, StudyPath, read_study, run_folder, seed_of

if TYPE_CHECKING:
    from ..groups.power import PowerCurve
    from ..progress import Progress
    from ..result import DesignResult
    from ..study import Study


@command
def power(
    study: StudyPath,
    frequencies: Annotated[
        str | None, typer.Option("--frequencies", metavar="A=0.6,…", help="Of models in the population; the first 60 % if not given.")
    ] = None,
    versus: Annotated[
        str | None, typer.Option("--versus", metavar="A=0.2,…", help="Frequencies in a second group: do they differ?")
    ] = None,
    parameter: Annotated[str | None, typer.Option("--parameter", metavar="M.P", help="Ask about a parameter instead: aeg.phi.")] = None,
    width: Annotated[float | None, typer.Option("--width", help="How wide the 90 % interval of its population mean may be.")] = None,
    effect: Annotated[float | None, typer.Option("--effect", help="How much its mean differs between two groups.")] = None,
    target: Annotated[float, typer.Option("--target", min=0.5, max=0.99, help="The share of studies that are to be right.")] = 0.8,
    certainty: Annotated[float, typer.Option("--certainty", min=0.5, max=0.999, help="How sure a right study is.")] = 0.95,
    n: Annotated[int, typer.Option("--n", metavar="N", min=300, help="How many simulated people groups are drawn from.")] = 3000,
    figure: Annotated[Path | None, typer.Option("--figure", metavar="FILE.svg", help="Also draw the curves.")] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """How many people? The share of studies with the right conclusion, against the number of people.

    At the recommended design and at baseline designs, from the run's own network: simulated people are drawn into groups, which are
    analysed as real ones are. Asks whether the most frequent model is found; with --versus, whether two groups differ; with --parameter,
    whether its population mean is known within --width, or a difference of --effect is seen.

    \b
    Example:
      tellapart power examples/bandit --frequencies wslts=0.6,aeg=0.2,gls=0.2
    """
    from ..files import written_whole
    from ..progress import progress_bar
    from ..report.analysis_figures import power_figure
    from ..run import Run

    plan = read_study(study)
    result = Run.finished(plan, run_folder(study)).result()
    asked = _Asked(plan, frequencies, versus, parameter, width, effect, certainty, target, seed_of(plan, seed))
    with progress_bar("drawing groups") as progress:
        curves = {label: asked.curve(result, where, n, progress) for label, where in (("recommended", None), ("baseline", n))}
    if figure is not None:
        with written_whole(figure) as drawing:
            power_figure(curves, target).savefig(drawing, format=figure.suffix.removeprefix(".") or "svg")
    lines = [next(iter(curves.values())).conclusion, *asked.about_whom()]
    lines += [f"{label:<12} {_needed(curve, target)}" for label, curve in curves.items()]
    show({label: curve.to_json(target) for label, curve in curves.items()} if as_json else "\n".join(lines))


def _needed(curve: PowerCurve, target: float) -> str:
    """How many people are needed, in words."""
    found, each = curve.needed(target), " in each group" if curve.groups > 1 else ""
    if found is None:
        return f"more than {int(curve.sizes[-1])} people{each}: {100 * curve.share[-1]:.0f} % of studies are right with so many"
    first = " or fewer" if found <= curve.sizes[0] else ""
    return f"{round(found + 0.499)} people{each}{first}, for {100 * target:.0f} % of studies to be right"


class _Asked:
    """What is to be concluded, from the options of `power`."""

    def __init__(
        self,
        study: Study,
        frequencies: str | None,
        versus: str | None,
        parameter: str | None,
        width: float | None,
        effect: float | None,
        certainty: float,
        target: float,
        seed: int,
    ) -> None:
        self.study, self.certainty, self.target, self.seed = study, certainty, target, seed
        self.width, self.effect = width, effect
        self.parameter = self._parameter(parameter)
        names = study.question.names
        if self.parameter is None and not study.question.about_models:
            raise StudyError("This study is about parameters.", fix="--parameter MODEL.NAME with --width or --effect")
        if self.parameter is not None and (width is None) == (effect is None):
            raise StudyError("One of two questions can be asked about a parameter.", expected="--width or --effect")
        first = [0.6] + [0.4 / (len(names) - 1)] * (len(names) - 1) if self.parameter is None else []
        self.frequencies = first if frequencies is None else _shares(frequencies, names)
        self.versus = None if versus is None else _shares(versus, names)

    def _parameter(self, text: str | None) -> tuple[int, str] | None:
        if text is None:
            return None
        question = self.study.question
        if text not in question.about:
            expected = "a parameter that the study is about"
            raise StudyError(
                f"'{text}' cannot be asked about.", expected=expected, fix=nearest(text, question.about) or 'choose goal = "both"'
            )
        model, name = text.rsplit(".", 1)
        return question.names.index(model), name

    def about_whom(self) -> list[str]:
        """Whose number it is, where models compete for people."""
        names = self.study.question.names
        if self.parameter is None or len(names) == 1:
            return []
        return [f"Counted are people who follow {names[self.parameter[0]]}: divide by how frequent they are in the population."]

    def curve(self, result: DesignResult, baseline: int | None, n: int, progress: Progress) -> PowerCurve:
        """The curve at the recommended design, or at as many baseline designs as people."""
        import numpy as np

        from ..groups.power_models import frequencies_differ, most_frequent_model
        from ..groups.power_parameters import parameter_differs, parameter_within
        from ..groups.power_people import simulated_evidence, simulated_parameter

        task, estimator = self.study.task, result.found.estimator
        rng = np.random.default_rng([self.seed, 15, 1])  # studies have [seed, 0], [seed, 1], …
        designs = np.broadcast_to(result.design, (n, *result.design.shape)) if baseline is None else task.baseline(n, rng)
        settings: dict[str, Any] = {"target": self.target, "seed": self.seed, "progress": progress}
        if self.parameter is not None:
            people = simulated_parameter(estimator, *self.parameter, designs, rng)
            if self.width is not None:
                return parameter_within(people, self.width, **settings)
            assert self.effect is not None
            return parameter_differs(people, self.effect, interval=self.certainty, **settings)
        model, evidence = simulated_evidence(estimator, designs, rng)
        names = self.study.question.names
        if self.versus is not None:
            return frequencies_differ(model, evidence, self.frequencies, self.versus, names, certainty=self.certainty, **settings)
        return most_frequent_model(model, evidence, self.frequencies, names, certainty=self.certainty, **settings)


def _shares(text: str, names: tuple[str, ...]) -> list[float]:
    """Frequencies "a=0.6,b=0.4" in the order of models."""
    try:
        given = {name.strip(): float(share) for name, _, share in (part.partition("=") for part in text.split(","))}
    except ValueError:
        raise DataError("The frequencies cannot be understood.", got=text, expected=",".join(f"{name}=0.3" for name in names)) from None
    for name in given:
        if name not in names:
            raise DataError(f"The study has no model '{name}'.", got=text, fix=nearest(name, names))
    return [given.get(name, 0.0) for name in names]
