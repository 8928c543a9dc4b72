"""The people's report: one HTML page, and tables beside it. What it shows is computed in `groups/analysis.py`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

import numpy as np

from .. import __version__
from ..errors import counted
from ..files import written_whole
from ..groups.analysis import Analysis
from ..groups.contrasts import Comparison
from ..groups.statistics import PARTS
from ..groups.to_arviz import to_arviz
from ..groups.words import assigned, between, conclusion, described, methods, rounded
from . import analysis_figures as figures
from .style import Panel, filled, panel

if TYPE_CHECKING:
    import pandas as pd

    from ..question import Question

Z95 = 1.645
"""The 95 % quantile of a standard normal: parameters of people are told with 5 to 95 % of a normal on the normal scale."""

TABLES = ("people", "predictions", "frequencies", "families", "parameters", "comparisons")
"""The names of the tables that an analysis can have."""

DIFFERENCE = "first minus second, with a 90 % interval and the probability that the first is larger"


class Table(NamedTuple):
    """Rows of texts under a header."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def render(name: str, found: Analysis, understood: Sequence[tuple[str, str, str]] = ()) -> str:
    """The page as HTML.

    Arguments:
        understood: What was understood of the table: what, from which column, how.
    """
    return filled(
        "analysis.html",
        name=name,
        lead=conclusion(found),
        warnings=found.warnings,
        understood=Table("What was understood of the data", ("what", "column", "understood as"), list(understood)),
        who=_who(found),
        people=_people(found),
        effects=_effects(found),
        parameters=_parameters(found),
        comparisons=[_comparison(number, one) for number, one in enumerate(found.comparisons)],
        predictive=_predictive(found),
        methods=methods(found, __version__),
        references=REFERENCES,
    )


REFERENCES = (
    "Stephan, Penny, Daunizeau, Moran & Friston (2009). Bayesian model selection for group studies. NeuroImage 46.",
    "Rigoux, Stephan, Friston & Daunizeau (2014). Bayesian model selection for group studies — revisited. NeuroImage 84.",
    "Gelman, Meng & Stern (1996). Posterior predictive assessment of model fitness via realized discrepancies. Statistica Sinica 6.",
)


def write_analysis(
    page: str | Path, name: str, found: Analysis, question: Question, understood: Sequence[tuple[str, str, str]] = ()
) -> list[Path]:
    """Write the page of a study, and beside it the tables and the ArviZ file; gives the paths of these. See `render`."""
    page = Path(page)
    written = [page]
    with written_whole(page) as temporary:
        temporary.write_text(render(name, found, understood), "utf-8")
    for label, table in tables(found).items():
        written.append(_table_of(page, label))
        with written_whole(written[-1]) as temporary:
            table.to_csv(temporary, index=False)
    for old in set(possible_tables(page)) - set(written):  # of an analysis that was here before, and had what this one has not
        old.unlink(missing_ok=True)
    written.append(page.with_name(f"{page.stem}-posterior.nc"))
    with written_whole(written[-1]) as temporary:
        to_arviz(found, question).to_netcdf(str(temporary), engine="h5netcdf")
    return written[1:]


def possible_tables(page: Path) -> list[Path]:
    """Where the tables of an analysis are written, as far as it has them."""
    return [_table_of(page, label) for label in TABLES]


def _table_of(page: Path, label: str) -> Path:
    return page.with_name(f"{page.stem}-{label}.csv")


def tables(found: Analysis) -> dict[str, pd.DataFrame]:
    """The tables of an analysis, by name."""
    import pandas as pd

    listed = {"people": pd.DataFrame(people_columns(found)), "predictions": pd.DataFrame(found.prediction.rows())}
    if found.effects is not None:
        listed["frequencies"] = pd.DataFrame(found.effects.to_json()["models"])
    if found.families is not None:
        listed["families"] = pd.DataFrame(found.families.to_json()["models"]).rename(columns={"model": "family"})
    if found.parameters:
        listed["parameters"] = pd.DataFrame([row for group in found.parameters.values() for row in group.rows()])
    rows = [{"by": one.name, **row} for one in found.comparisons for row in (*_frequency_rows(one), *(d.row() for d in one.parameters))]
    return listed | ({"comparisons": pd.DataFrame(rows)} if rows else {})


def people_columns(found: Analysis) -> dict[str, Any]:
    """One value for each person: trials, misses, groups, model probabilities, parameters in the light of the group, checks."""
    columns: dict[str, Any] = {"participant": found.participants, "trials": found.trials, "missed": found.missed, **found.groups}
    if len(found.models) > 1:
        best = np.where(np.isfinite(found.probabilities).all(1), found.probabilities.argmax(1), -1)
        columns["most_probable"] = [found.models[m] if m >= 0 else "" for m in best]
        columns |= {f"probability.{model}": found.probabilities[:, m] for m, model in enumerate(found.models)}
    for model, group in found.parameters.items():
        for p, (name, prior) in enumerate(group.priors.items()):
            (z, sd), label = group.shrunk[..., p], f"{model}.{name}.group"
            for column, place in ((label, z), (f"{label}.q05", z - Z95 * sd), (f"{label}.q95", z + Z95 * sd)):
                columns[column] = np.where(np.isnan(place), np.nan, prior.from_normal(place))
    columns |= {"doubtful": found.doubtful} if found.parameters else {}
    columns |= found.trust.columns() if found.trust is not None else {}
    columns["predictive.p"] = found.prediction.person_p
    return columns


def _who(found: Analysis) -> Table:
    trials, missed = found.trials, found.missed
    rows = [
        ("analysed", str(len(found.participants))),
        ("trials of each", between(trials) + (f", {trials.mean():.1f} on average" if trials.min() < trials.max() else "")),
        ("missed trials", f"{int(missed.sum())} in all, of {counted(int((missed > 0).sum()), 'participant')}" if missed.any() else "none"),
        ("left out", "; ".join(f"{one.participant}: {one.reason}" for one in found.left_out) or "nobody"),
        ("unlike the models", _named(list(found.participants[found.flagged]))),
    ]
    return Table("People, trials and exclusions", ("", ""), rows)


def _people(found: Analysis) -> tuple[Panel | None, Table]:
    """The figure of model probabilities, and the table of people."""
    shown = None
    if len(found.models) > 1:
        caption = f"Model probabilities of each person alone. {assigned(found)} {found.evidence.words}"
        shown = panel(figures.people_figure(np.nan_to_num(found.probabilities), found.models), "people", caption)
    columns = {name: values for name, values in people_columns(found).items() if not name.endswith((".q05", ".q95"))}
    rows = [[_text(value, name) for name, value in zip(columns, row, strict=True)] for row in zip(*columns.values(), strict=True)]
    return shown, Table("One row for each person; intervals of parameters are in the table of people", list(columns), rows)


def _effects(found: Analysis) -> list[tuple[Panel, Table]]:
    parts: list[tuple[Panel, Table]] = []
    for label, one in (("Models", found.effects), ("Families of models", found.families)):
        if one is not None:
            header = ("", "frequency", f"{100 * one.interval:.0f} % interval", "exceedance", "protected exceedance")
            columns = zip(one.names, one.frequencies, one.low, one.high, one.exceedance, one.protected, strict=True)
            rows = [(name, f"{f:.3f}", f"{low:.3f} to {high:.3f}", f"{e:.3f}", f"{p:.3f}") for name, f, low, high, e, p in columns]
            exact = "exact" if one.error == 0 else f"Monte-Carlo error at most {one.error:.4f}"
            caption = f"{label}: prior counts {one.prior}; {one.people} people; Bayes omnibus risk {one.omnibus_risk:.3f}; {exact}."
            figure = figures.frequencies_figure({"everybody": one})
            drawn = panel(figure, f"effects-{len(parts)}", f"{label}: frequencies in the population.")
            parts.append((drawn, Table(caption, header, rows)))
    return parts


def _parameters(found: Analysis) -> list[tuple[Panel, Table]]:
    parts = []
    for number, group in enumerate(found.parameters.values()):
        header = ("parameter", "mean", "90 %", "spread", "90 %")
        rows = [(row["parameter"], *_with_interval(row, "mean"), *_with_interval(row, "spread")) for row in group.rows()]
        members = f"{group.membership.sum():.1f} people follow it" if len(found.models) > 1 else f"{len(group.participants)} people"
        error = f"Monte-Carlo error {group.error:.3f} posterior standard deviations"
        caption = f"{group.model}: mean and spread in the population; {members}; {error}."
        shown = f"{group.model}: population means with 90 % intervals; grey is where two thirds of people are."
        parts.append((panel(figures.parameters_figure(group), f"parameters-{number}", shown), Table(caption, header, rows)))
    return parts


def _named(labels: Sequence[Any]) -> str:
    """How many people, and who: a label alone may look like a number of people."""
    return f"{counted(len(labels), 'participant')}: {', '.join(map(str, labels))}" if len(labels) else "nobody"


def _with_interval(row: dict[str, Any], of: str) -> tuple[str, str]:
    return _text(row[of]), f"{_text(row[f'{of}_low'])} to {_text(row[f'{of}_high'])}"


def _comparison(number: int, one: Comparison) -> tuple[str, list[str], list[Panel], list[Table]]:
    """A heading, what is found, figures and tables."""
    texts, panels, shown = [f"Not compared: {one.not_compared}."] if one.not_compared else [], [], []
    if one.frequencies is not None:
        p, error = one.frequencies.probability, one.frequencies.error
        told = f"{p:.3f}" + (f" ± {p * (1 - p) * error:.3f}, by two Monte-Carlo standard errors" if error else "")
        texts.append(f"The probability that groups differ in the frequencies of models is {told} (one half before the data).")
        figure = figures.frequencies_figure(one.frequencies.groups)
        panels.append(panel(figure, f"groups-{number}", f"Frequencies of models by {one.name}."))
        shown.append(_rows_table(_frequency_rows(one), f"Differences of frequencies: {DIFFERENCE}"))
    if one.same is not None:
        share, low, high = one.same.frequencies[0], one.same.low[0], one.same.high[0]
        texts.append(f"{100 * share:.0f} % of people ({100 * low:.0f} to {100 * high:.0f} %) follow the same model under all conditions.")
    if one.parameters:
        figure = figures.differences_figure(one.parameters)
        panels.append(panel(figure, f"differences-{number}", f"Differences of population means by {one.name}."))
        shown.append(_rows_table([difference.row() for difference in one.parameters], f"Differences of population means: {DIFFERENCE}"))
    return f"By {one.name}", texts, panels, shown


def _frequency_rows(one: Comparison) -> list[dict[str, Any]]:
    return one.frequencies.rows() if one.frequencies is not None else []


def _predictive(found: Analysis) -> tuple[str, list[Panel], Table]:
    prediction, everybody = found.prediction, len(found.participants)
    text = (
        f"{described(found)} The group is compared with the population that comes nearest to it, of people who follow the models with"
        " whatever parameters."
    )
    people = len(prediction.group.people)
    if people < everybody:
        text += f" For that, {people} of the {everybody} people were drawn by lot; the observed averages are theirs."
    caption = (
        "Statistics of behavior: observed (filled; a diamond where that is strange), where it would be in 95 % of groups"
        " drawn from the nearest population (grey), and what each model predicts if all these people"
        " follow it and take part once more. Blocks and choices without names are counted from 1; tables of data count from 0."
    )
    panels = [panel(figures.predictive_figure(prediction), "predictive", caption)]
    stems = [name.removesuffix(f", {PARTS[0]}") for name in prediction.names if name.endswith(f", {PARTS[0]}")]
    if stems:
        figure = figures.curves_figure(prediction, stems[:2], PARTS)
        panels.append(panel(figure, "curves", "As a block goes on: first, second and last third, observed and predicted."))
    counted = (
        "The group's averages. Compare 'observed' with 'predicted', the nearest population, with the range of 95 % of groups drawn from it;"
        " z counts from there. What a single model predicts is for taking part once more"
    )
    return text, panels, _rows_table(prediction.rows(), counted)


def _rows_table(rows: Sequence[dict[str, Any]], caption: str) -> Table:
    header = list(rows[0]) if rows else []
    return Table(caption, [name.replace("_", " ") for name in header], [[_text(row[key], key) for key in header] for row in rows])


def _text(value: Any, column: str = "") -> str:
    """A value as the page shows it: a number in whatever unit, a probability to three decimal places."""
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else f"{value:.3f}" if column.startswith("probability") else rounded(float(value), 3)
    return str(value)
