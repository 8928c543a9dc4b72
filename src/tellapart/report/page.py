"""The report: one HTML page that holds everything it shows, and needs no network and no script."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from ..models.base import Model
from ..tasks.base import Task
from ..validation import words
from . import figures
from .citations import citations
from .style import inline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..validation.suite import Validation


@dataclass(frozen=True, eq=False)
class Content:
    """What a report is made of.

    Arguments:
        name: Of the study.
        goal: "discriminate", "estimate" or "both".
        task: What participants do.
        models: The theories.
        result: The run's result.json.
        provenance: The run's provenance.json.
        validation: The run's checks, if it has been validated.
        curve: Points of the information curve, each with "blocks", "trials", "nats" and "se".
        study_text: The study file.
        command: What reproduces it all.
    """

    name: str
    goal: str
    task: Task
    models: Sequence[Model]
    result: Mapping[str, Any]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    validation: Validation | None = None
    curve: Sequence[Mapping[str, Any]] = ()
    study_text: str = ""
    command: str = ""

    @property
    def most(self) -> float | None:
        """The most that can be learned, in nats, where there is a most."""
        return math.log(len(self.models)) if self.goal == "discriminate" else None


@dataclass(frozen=True)
class Panel:
    """A figure on the page: its SVG, and what it shows in words."""

    svg: str
    caption: str


def render(content: Content) -> str:
    """The page as HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tellapart.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html").render(
        content=content,
        lead=recommendation(content),
        design=_design(content),
        information=_information(content),
        curve=_curve(content),
        confusion=_confusion(content),
        recovery=_recovery(content),
        averaged=_averaged(content),
        calibration=_calibration(content),
        exact=_exact(content),
        alternatives=_alternatives(content),
        search=_search(content),
        method=_method(content),
        settings=[(name, json.dumps(value)) for name, value in _settings(content).items()],
        facts=_facts(content.provenance),
        bibtex=citations(_used(content), content.goal != "discriminate", content.validation is not None),
    )


def recommendation(content: Content) -> str:
    """What to do, in a sentence or two."""
    information, baseline = content.result["information"], content.result.get("baseline")
    about = {"discriminate": "which model a participant follows", "estimate": "a participant's parameters"}
    target = about.get(content.goal, "which model a participant follows and with which parameters")
    design = content.task.design_space.format(content.result["design"])
    kind = "at least " if information["kind"] == "lower bound" else ""
    text = f"Run the design {design}. One participant is expected to tell {kind}{information['nats']:.2f} nats about {target}"
    text += f", {100 * information['nats'] / content.most:.0f} % of the most possible" if content.most else ""
    if baseline:
        gain = information["nats"] - baseline["nats"]
        unsure = 2 * math.hypot(information["se"], baseline["se"])
        sign = "more than" if gain > unsure else "less than" if gain < -unsure else "about as much as"
        text += f": {sign} designs chosen by habit ({baseline['nats']:.2f} on average)"
        text += "; so the search has not found the best, and should be run with more steps" if gain < -unsure else ""
    text += "."
    accuracy = information.get("accuracy")
    return text if accuracy is None else f"{text} The right model will be recognised for {100 * accuracy:.0f} % of participants."


def _design(content: Content) -> Panel:
    space, design = content.task.design_space, content.result["design"]
    label = content.task.design_label
    figure = figures.design_figure(design, space.variables, space.low, space.high, label)
    caption = f"The recommended design: {label} of {', '.join(space.variables)} in each of {space.blocks} blocks."
    return Panel(inline(figure, "design", f"{caption} {space.format(design)}"), caption)


def _information(content: Content) -> Panel | None:
    validation = content.validation
    if validation is None or validation.comparison is None:
        return None
    exact = {part.label: part.exact.exact for part in validation.designs if part.exact}
    figure = figures.information_figure(validation.comparison, content.most, exact)
    return Panel(inline(figure, "information", words.against_habit(validation.comparison)), words.against_habit(validation.comparison))


def _curve(content: Content) -> Panel | None:
    if not content.curve:
        return None
    baseline = content.result.get("baseline")
    figure = figures.curve_figure(content.curve, baseline["nats"] if baseline else None)
    last = max(content.curve, key=lambda point: (point["blocks"], point["trials"]))
    caption = f"What shorter experiments would tell, at the same design. With all trials: {last['nats']:.2f} nats."
    if baseline:
        enough = [p for p in content.curve if p["blocks"] == last["blocks"] and p["nats"] >= baseline["nats"]]
        least = min((point["trials"] for point in enough), default=last["trials"])
        if least < last["trials"]:
            caption += f" About {least} trials a block tell what baseline designs tell with {last['trials']}."
    return Panel(inline(figure, "curve", caption), caption)


def _pairs(content: Content) -> list[tuple[str, Any]]:
    """The validated designs with a heading for each."""
    if content.validation is None:
        return []
    headings = {"recommended": "Recommended design", "baseline": "Baseline designs"}
    return [(headings.get(part.label, part.label), part) for part in content.validation.designs]


def _confusion(content: Content) -> list[Panel]:
    panels = []
    for which, extra in (("confusion", ""), ("confusion_at", "\nat given parameters")):
        for heading, part in _pairs(content):
            found = getattr(part, which)
            if found is not None:
                caption = f"{heading}{extra}. {words.confusion_in_words(found)}".replace("\n", " ")
                panels.append(_panel(figures.confusion_figure(found, heading + extra), f"{which}-{part.label}", caption))
    return panels


def _recovery(content: Content) -> list[Panel]:
    """A panel for each parameter and design, those of a parameter side by side."""
    pairs = _pairs(content)
    panels = []
    for number in range(len(pairs[0][1].recovery) if pairs else 0):
        for heading, part in pairs:
            one = part.recovery[number]
            figure = figures.recovery_figure(one, f"{one.model}: {one.parameter}\n{heading.lower()}")
            panels.append(_panel(figure, f"recovery-{part.label}-{number}", f"{heading}. {words.recovery_in_words(one)}"))
    return panels


def _averaged(content: Content) -> list[Panel]:
    if content.validation is None or not content.validation.designs[0].averaged:
        return []
    ours, habit = content.validation.designs[0].averaged, content.validation.designs[-1].averaged
    panels = []
    for number, (one, other) in enumerate(zip(ours, habit, strict=True)):
        caption = (
            f"{one.model}.{one.parameter}: posteriors of {one.n} participants whose true value is {one.truth:.3g}, averaged. Their average"
            f" width (standard deviation) is {one.sd:.3g} at the recommended design and {other.sd:.3g} at baseline designs."
        )
        figure = figures.averaged_posterior_figure(one, {"baseline": other}, f"{one.model}: {one.parameter}")
        panels.append(_panel(figure, f"averaged-{number}", caption))
    return panels


def _calibration(content: Content) -> list[tuple[str, str, list[Panel]]]:
    """For each design: its heading, the verdict, and the figures behind it."""
    found = []
    for heading, part in _pairs(content):
        calibration, panels = part.calibration, []
        if calibration.models:
            caption = f"Average distance of what was predicted from what happened: {100 * calibration.models.error:.1f} percentage points."
            panels.append(_panel(figures.reliability_figure(calibration.models, heading), f"reliability-{part.label}", caption))
        for number, one in enumerate(calibration.parameters):
            caption = f"{one.model}.{one.parameter}: {one.verdict}."
            panels.append(_panel(figures.ranks_figure(one, f"{one.model}: {one.parameter}"), f"ranks-{part.label}-{number}", caption))
        if calibration.parameters:
            caption = "How often intervals hold the true value, against how often they should."
            panels.append(_panel(figures.coverage_figure(calibration.parameters, heading), f"coverage-{part.label}", caption))
        found.append((heading, words.calibration_in_words(calibration), panels))
    return found


def _exact(content: Content) -> list[tuple[str, str]]:
    return [(heading, words.exact_in_words(part.exact)) for heading, part in _pairs(content) if part.exact]


def _alternatives(content: Content) -> list[tuple[str, str]]:
    """Other good designs and their information."""
    listed = content.result.get("alternatives") or []
    return [(content.task.design_space.format(one["design"]), f"{one['nats']:.3f} ± {one['se']:.3f}") for one in listed]


def _search(content: Content) -> Panel | None:
    figure = figures.search_figure(content.result.get("trace") or [])
    return None if figure is None else _panel(figure, "search", "How the estimate rose as the search went on.")


def _method(content: Content) -> list[str]:
    """How it was done, a paragraph each."""
    names = ", ".join(model.name for model in content.models)
    intro = (
        f"Participants of {names} were simulated, with parameters from the models' priors. Information is the mutual information of"
        " what is to be learned and the data, in nats; one nat is 1.44 bits."
    )
    if _used(content).get("method") == "bayesopt":
        how = (
            "Designs were proposed by Bayesian optimization. For each, a neural network was trained on fresh simulations to tell data that"
            " belong to a model or its parameters from data that do not; the bound that it reaches is the estimate."
        )
    else:
        how = (
            "One neural network was trained on simulations over all designs, new ones at every step, to give the posterior. How much"
            " more probable it makes the truth, on average over simulations it has never seen, is a lower bound on information. With it,"
            " designs were compared at little cost; the best were compared again on further simulations, and the reported number comes"
            " from simulations that had no part in the choice."
        )
    checks = (
        "Every check was made on simulated participants whose truth is known. At baseline designs, each of them has a design of its own,"
        " drawn as the field does by habit."
    )
    return [intro, how, checks] if content.validation else [intro, how]


def _used(content: Content) -> dict[str, Any]:
    """The settings of the search, and what its result says of it."""
    return {**_settings(content), **content.result.get("details", {})}


def _settings(content: Content) -> dict[str, Any]:
    """The settings of the search, "method" among them."""
    return dict(content.provenance.get("study", {}).get("search", {}))


def _facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Versions, machine and times."""
    keys = ("tellapart", "python", "platform", "processor", "cores", "workers", "started", "finished", "seconds")
    facts = [(key, str(provenance[key])) for key in keys if key in provenance]
    facts += [(f"seconds of {stage}", str(seconds)) for stage, seconds in provenance.get("stages", {}).items()]
    return facts + [(name, str(version)) for name, version in (provenance.get("packages") or {}).items()]


def _panel(figure: Figure, name: str, caption: str) -> Panel:
    return Panel(inline(figure, name, caption), caption)
