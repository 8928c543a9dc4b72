"""The report: one HTML page that holds everything it shows. It needs no network, and without scripts only the sliders are missing."""

from __future__ import annotations

import json
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, Iterator, Mapping, Sequence

from ..errors import counted
from ..nearby import Moved, Rounded
from ..question import Question
from ..search.base import Search
from ..tasks.base import Task
from ..tasks.text import format_design, names_for_people
from ..validation import words
from ..validation.calibration import Calibration
from ..validation.suite import DesignValidation, Validation
from . import adapting, figures
from .citations import CHECKS, citations
from .explorer import explorer
from .style import Panel, filled, panel

COMPARED = "randomly drawn comparison designs"
COMMANDS = "tellapart design STUDY --fresh\ntellapart validate STUDY\ntellapart report STUDY"


@dataclass(frozen=True, eq=False)
class Content:
    """What a report is made of.

    Arguments:
        result, provenance: The run's result.json and provenance.json.
        validation: The run's checks, if it has been validated.
        curve: Points of the information curve, each with "blocks", "trials", "nats" and "se".
        adaptive: What `tellapart adapt` kept, if it was asked.
        rounded: The rounding to be recommended, if the estimator knows other designs.
        moved: The information as each number of the design is moved.
        failures: Participants that could not be simulated during the search, each with the name of its "model".
        sources: What to cite for the search, its estimator and its encoder.
    """

    name: str
    task: Task
    question: Question
    search: Search
    result: Mapping[str, Any]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    validation: Validation | None = None
    curve: Sequence[Mapping[str, Any]] = ()
    study_text: str = ""
    failures: Sequence[Mapping[str, Any]] = ()
    adaptive: Mapping[str, Any] | None = None
    sources: Sequence[str] = ()
    rounded: Rounded | None = None
    moved: Sequence[Moved] = ()

    @property
    def details(self) -> Mapping[str, Any]:
        """What the search says of itself."""
        details: Mapping[str, Any] = self.result.get("details") or {}
        return details

    def text_of(self, design: Any) -> str:
        """A design in a line."""
        return format_design(self.task.design_space, design)


def render(content: Content) -> str:
    """The page as HTML."""
    return filled(
        "page.html",
        content=content,
        lead=recommendation(content),
        design=_design(content),
        header=["block", *names_for_people(content.task.design_space.names)],
        rows=[[f"{b}", *row.split(",")] for b, row in enumerate(content.text_of(content.result["design"]).split("; "), 1)],
        counting=_counting(content),
        rounding=content.rounded.in_words(content.task.design_space) if content.rounded else "",
        explored=explorer(content.moved, content.task.design_space, content.result["design"], content.result["information"]["nats"]),
        information=_information(content),
        curve=_curve(content),
        adaptive=list(_adaptive(content)),
        confusion=list(_confusion(content)),
        recovery=list(_recovery(content)),
        averaged=list(_averaged(content)),
        calibration=list(_calibration(content)),
        tightness=_tightness(content),
        alternatives=_alternatives(content),
        search=_search(content),
        method=_method(content),
        settings=_settings(content),
        facts=_facts(content.provenance),
        commands=COMMANDS if content.study_text else "",
        bibtex=citations([*content.sources, *(CHECKS if content.validation and content.question.about_parameters else ())]),
    )


def recommendation(content: Content) -> str:
    """What to do and what to expect, in two or three sentences: people first, nats last."""
    information, baseline = content.result["information"], content.result.get("baseline")
    text = f"Run the design {content.text_of(content.result['design'])}."
    accuracy, usual = information.get("accuracy"), (baseline or {}).get("accuracy")
    if accuracy is not None:
        beside = "" if usual is None else f", against {100 * usual:.0f} with {COMPARED}"
        text += f" It recognises the model of {100 * accuracy:.0f} of 100 people{beside}."
    part = content.validation.designs[0] if content.validation else None
    amount = words.amount(information["nats"], information["se"], information["kind"], part)
    text += f" One person's data tell {amount} about {content.question.in_words}"
    return text + (f": {_against(baseline, COMPARED if usual is None else 'those designs')}." if baseline else ".")


def _against(baseline: Mapping[str, Any], designs: str) -> str:
    """Does the recommended design tell more than the `designs` of the baseline?"""
    gain, unsure = baseline["gain"]["nats"], 2 * baseline["gain"]["se"]
    sign = "more than" if gain > unsure else "less than" if gain < -unsure else "not clearly more than"
    more = "; so the search has not found the best, and should be run with more steps" if gain < -unsure else ""
    return f"{sign} {designs} ({baseline['nats']:.2f} on average){more}"


def _counting(content: Content) -> str:
    """How this page counts, and how data tables do: said once."""
    names = content.task.design_space.names
    shown = names_for_people(names)
    both = "" if shown == names else f" and {shown[0]} is '{names[0]}'"
    return f"This page counts from 1. Data tables count from 0: there, block 1 is 0{both}."


def _design(content: Content) -> Panel:
    space, design = content.task.design_space, content.result["design"]
    label, names = content.task.design_label, names_for_people(space.names)
    figure = figures.design_figure(design, names, space.low, space.high, label)
    blocks = f"each of {space.blocks} blocks" if space.blocks > 1 else "the one block"
    caption = f"The recommended design: {label} of {', '.join(names)} in {blocks}."
    return panel(figure, "design", caption, f" {content.text_of(design)}")


def _information(content: Content) -> Panel | None:
    validation = content.validation
    if validation is None or validation.comparison is None:
        return None
    known = {part.label: part.exact for part in validation.designs if part.exact and part.exact.exact}
    exact = {label: one.middle for label, one in known.items()}
    figure = figures.information_figure(validation.comparison, content.question.most, exact)
    caption = words.against_baseline_in_words(validation.comparison)
    if known:  # without it a cross to the left of a lower bound looks like a contradiction
        n = min(one.n for one in known.values())
        caption += f" Crosses: the exact answer, on {counted(n, 'other participant')}, so that a cross can lie on either side by chance."
    return panel(figure, "information", caption)


def _curve(content: Content) -> Panel | None:
    if not content.curve:
        return None
    baseline = content.result.get("baseline")
    figure = figures.curve_figure(content.curve, baseline["nats"] if baseline else None)
    last = max(content.curve, key=lambda point: (point["blocks"], point["trials"]))
    caption = (
        "What shorter experiments would tell, at the same design. All points are from the same"
        f" {last['n']:,} participants, who give {last['nats']:.3f} ± {last['se']:.3f} nats with all trials; the value above is from others."
    )
    if baseline:
        enough = [p for p in content.curve if p["blocks"] == last["blocks"] and p["nats"] >= baseline["nats"]]
        least = min((point["trials"] for point in enough), default=last["trials"])
        if least < last["trials"]:
            caption += f" With about {counted(least, 'trial')} per block it tells what baseline designs tell with {last['trials']}."
    return panel(figure, "curve", caption)


def _adaptive(content: Content) -> Iterator[Panel]:
    """What adapting is worth, and what different participants would be given."""
    kept, space = content.adaptive, content.task.design_space
    if kept is not None:
        yield panel(adapting.worth_figure(kept["curve"]), "adaptive", adapting.in_words(kept))
        given = adapting.given_figure(kept["designs"], names_for_people(space.names), space.low, space.high, content.result["design"])
        yield panel(given, "given", "What simulated participants were given, a line for each; dashed: the fixed design.")


def _pairs(content: Content) -> list[tuple[str, DesignValidation]]:
    """The validated designs with a heading for each."""
    headings = {"recommended": "Recommended design", "baseline": "Baseline designs"}
    return [(headings[part.label], part) for part in content.validation.designs] if content.validation else []


def _confusion(content: Content) -> Iterator[Panel]:
    given = {} if content.validation is None else content.validation.parameters
    values = [f"{model}.{name} = {value:.3g}" for model, several in given.items() for name, value in several.items()]
    for which, extra, who in (("confusion", "", ""), ("confusion_at", "\nat given parameters", f" ({', '.join(values)})")):
        for heading, part in _pairs(content):
            matrix = getattr(part, which)
            if matrix is not None:
                caption = f"{heading}{extra}{who}. {words.confusion_in_words(matrix)}".replace("\n", " ")
                yield panel(figures.confusion_figure(matrix, heading + extra), f"{which}-{part.label}", caption)


def _recovery(content: Content) -> Iterator[Panel]:
    """A panel for each parameter and design, those of a parameter side by side."""
    pairs = _pairs(content)
    for number in range(len(pairs[0][1].recovery) if pairs else 0):
        for heading, part in pairs:
            one = part.recovery[number]
            figure = figures.recovery_figure(one, f"{one.model}: {one.parameter}\n{heading.lower()}")
            yield panel(figure, f"recovery-{part.label}-{number}", f"{heading}. {words.recovery_in_words(one)}")


def _averaged(content: Content) -> Iterator[Panel]:
    parts = {part.label: part.averaged for _, part in _pairs(content)}
    for number, one in enumerate(parts.get("recommended", ())):
        others = {label: averaged[number] for label, averaged in parts.items() if label != "recommended"}
        widths = f"{one.sd:.3g} at the recommended design"
        widths += "".join(f" and {other.sd:.3g} at {label} designs" for label, other in others.items())
        caption = (
            f"{one.model}.{one.parameter}: posteriors of {one.n} participants whose true value is {one.truth:.3g}, averaged. Their average"
            f" width (standard deviation) is {widths}."
        )
        figure = figures.averaged_posterior_figure(one, others, f"{one.model}: {one.parameter}")
        yield panel(figure, f"averaged-{number}", caption)


def _calibration(content: Content) -> Iterator[tuple[str, str, list[Panel]]]:
    """For each design, with complete data and with missed trials: its heading, the verdict, and the figures behind it.

    Figures for missed trials are shown where there is something to see.
    """
    for heading, part in _pairs(content):
        for number, (data, calibration) in enumerate([("complete data", part.calibration), *part.missed]):
            shown = number == 0 or not calibration.sound
            panels = _calibration_panels(calibration, f"{heading},\n{data}", f"{part.label}-{number}") if shown else ()
            yield f"{heading}, {data}", words.calibration_in_words(calibration), list(panels)


def _calibration_panels(calibration: Calibration, heading: str, name: str) -> Iterator[Panel]:
    models = calibration.models
    if models:
        caption = (
            f"Average distance of what was predicted from what happened: {100 * models.error:.1f} percentage points; perfect"
            f" predictions would show {100 * models.usual_error:.1f}."
        )
        yield panel(figures.reliability_figure(models, heading), f"reliability-{name}", caption)
    for number, one in enumerate(calibration.parameters):
        subject = {"distance": f"{one.model}: all parameters together", "statistics": f"{one.model}: what plain statistics tell"}
        title = subject.get(one.by, f"{one.model}: {one.parameter}")
        yield panel(figures.ranks_figure(one, title), f"ranks-{name}-{number}", f"{title}: {one.verdict}.")
    values = [one for one in calibration.parameters if one.by == "value"]
    if values:
        caption = "How often intervals hold the true value, against how often they should."
        yield panel(figures.coverage_figure(values, heading), f"coverage-{name}", caption)


def _tightness(content: Content) -> list[tuple[str, str]]:
    lines = [(heading, words.exact_in_words(part.exact)) for heading, part in _pairs(content) if part.exact]
    return lines + [(heading, words.reading_in_words(part.reading)) for heading, part in _pairs(content) if part.reading]


def _alternatives(content: Content) -> list[tuple[str, str, str, str]]:
    """Other good designs: the design, its information, how far behind it is, and where it comes from."""
    return [
        (
            content.text_of(one["design"]),
            f"{one['nats']:.3f} ± {one['se']:.3f}",
            f"{one['behind']['nats']:+.3f} ± {one['behind']['se']:.3f}",
            "drawn at random" if one["drawn"] else "the search",
        )
        for one in content.result.get("alternatives") or []
    ]


def _search(content: Content) -> Panel | None:
    figure = figures.search_figure(content.result.get("trace") or [])
    return None if figure is None else panel(figure, "search", "How the estimate rose as the search went on.")


def _method(content: Content) -> list[str]:
    """How it was done, a paragraph each."""
    names = ", ".join(content.question.names)
    if not content.question.uniform:
        names = ", ".join(f"{name} ({share:.3g})" for name, share in zip(content.question.names, content.question.prior, strict=True))
        names += " (in brackets: how probable each is before any data)"
    paragraphs = [
        f"Participants of {names} were simulated, with parameters from the models' priors. Information is the mutual information of"
        " what is to be learned and the data, in nats; one nat is 1.44 bits.",
        content.search.words,
        *(["The search only looked at designs: its `survey` was too small for climbs."] if content.details.get("climbs") == 0 else []),
        *([_last_climb(content.details["last_climb"])] if "last_climb" in content.details else []),
    ]
    if content.validation:
        checks = "Every check was made on simulated participants whose truth is known."
        drawn = " At baseline designs, each of them has a randomly drawn comparison design of its own."
        paragraphs.append(checks + (drawn if len(content.validation.designs) > 1 else ""))
    for when, failed in (("search", len(content.failures)), ("checks", sum(part.failed for _, part in _pairs(content)))):
        paragraphs += [f"During the {when}: {words.failures_in_words(failed)}"] if failed else []
    return [paragraph for paragraph in paragraphs if paragraph]


def _last_climb(climb: Mapping[str, Any]) -> str:
    """What searching longer would gain, as far as the last stretch of the search tells."""
    if not climb["tried"]:
        return ""
    text = f"A last climb from the best design looked at {climb['tried']:,} designs near it and"
    if "nats" not in climb:
        return f"{text} found none that is better: searching longer with the same network will hardly gain more."
    return f"{text} gained {climb['nats']:.3f} ± {climb['se']:.3f} nats: expect no more of another stretch of the same length."


def _settings(content: Content) -> list[tuple[str, str]]:
    """The settings of the search as they were used: what it reports of itself stands in place of what was left to it."""
    settings: Sequence[Field[Any]] = fields(content.search) if is_dataclass(content.search) else ()
    given = {one.name: getattr(content.search, one.name) for one in settings}
    left = {one.name for one in settings if one.default == 0 and given[one.name] == 0}
    used = {"method": content.search.name, **given, **(content.details.get("settings") or {}), **content.details}
    hidden = ("settings", "last_climb", "climbs")
    # a default of 0 stands for what is left to the search, and is no number of anything
    shown = {name: value for name, value in used.items() if name not in hidden and value is not None and (name not in left or value)}
    return [(name, _setting(value)) for name, value in shown.items()]


def _setting(value: Any) -> str:
    return str(value.name) if isinstance(value, type) and hasattr(value, "name") else json.dumps(value)


def _facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Versions, machine and times."""
    keys = ("tellapart", "python", "platform", "processor", "cores", "workers", "started", "finished", "seconds")
    facts = [(key, str(provenance[key])) for key in keys if key in provenance]
    facts += [(f"seconds of {stage}", str(seconds)) for stage, seconds in provenance.get("stages", {}).items()]
    return facts + [(name, str(version)) for name, version in (provenance.get("packages") or {}).items()]
