"""What people did: any table in, the group out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import StudyError, counted, nearest
from ..files import check_writable, written_whole
from ..progress import progress_bar
from .frame import command, option, show
from .options import DesignRun, Seed, StudyPath, design_of, finished_run, read_study, run_folder
from .tables import AS_IT_IS, DesignTable, Files, TableOptions, keep_data, read_people

if TYPE_CHECKING:
    from ..groups.analysis import Analysis
    from ..study import Study


def import_tables(
    study: StudyPath,
    files: Files,
    out: Annotated[Path, option("--out FILE.csv", "Where to write the table.")],
    reading: TableOptions = AS_IT_IS,
    designs: DesignTable = None,
    seed: Seed = None,
) -> None:
    """Turn any table of data into one that tellapart reads.

    It reads CSV, JSON as jsPsych writes it, Excel and Parquet, one file for all or one for each participant, and says what it
    understood. Columns and codings are recognised; where two readings are possible it asks, and the answer is an option, or a key of
    the section [data] of the study file. All that is wrong is said at once.

    \b
    Example:
      tellapart import examples/bandit jspsych/*.json --out data.csv
    """
    plan = read_study(study)
    keep_data(files, designs, out)
    understood = read_people(plan, files, reading, designs, aloud=False)
    with written_whole(out) as table:
        understood.to_table().to_csv(table, index=False)
    people, trials = len(understood.behavior), int(understood.behavior.mask.sum())
    lines = [{"what": what, "column": column, "understood": how} for what, column, how in understood.lines]
    result = {"out": str(out), "participants": people, "trials": trials, "understood": lines}
    show(result, f"{understood.in_words()}\n{counted(people, 'participant')}, {counted(trials, 'trial')}, written to {out}")


import_tables.__name__ = "import"
command(import_tables)


@command
def analyse(
    study: StudyPath,
    data: Files,
    out: Annotated[Path | None, option("--out FILE.html", "Where to write the page; analysis.html beside the study if not given.")] = None,
    amortized: Annotated[bool, option("--amortized", "Quick: take the network's word.")] = False,
    counts: Annotated[str, option("--prior-counts WORDS", '"1/K each" or "one each".')] = "1/K each",
    family: Annotated[list[str] | None, option("--family NAME=A,B", "A family of models. Can be repeated.")] = None,
    least: Annotated[int, option("--least-trials N", "Leave out people with fewer recorded trials.", min=1)] = 1,
    design: DesignRun = None,
    reading: TableOptions = AS_IT_IS,
    designs: DesignTable = None,
    seed: Seed = None,
) -> None:
    """Say what people did: one HTML page, and tables beside it.

    Needs a finished run. Who took part and what is missing; which model each person follows; how frequent models are in the population
    (random effects, computed exactly); group parameters; groups, conditions and designs compared; whether the models describe the data;
    a paragraph for the methods section. Likelihoods are used where every model has one; if not, one is learned near the data, in some
    minutes, and corrects the network.

    \b
    Example:
      tellapart analyse examples/bandit data.csv --out analysis.html
    """
    from ..groups.analysis import AnalysisSettings
    from ..groups.words import described
    from ..report.analysis import possible_tables, write_analysis

    plan, result = finished_run(study, seed)
    settings = AnalysisSettings(amortized, _prior_counts(counts), _families(plan, family or []), least, plan.seed)
    page, where = out or run_folder(study).parent / "analysis.html", design_of(plan, design)
    keep_data(data, designs, page, *possible_tables(page))
    check_writable(page)
    people = read_people(plan, data, reading, designs, run_at=(where, result.design))
    with progress_bar("analysing") as progress:
        found = result.analyse(people, where, settings, progress)
    summary = _summary(found, page, write_analysis(page, plan.name, found, plan.question, people.lines))
    words = [summary["conclusion"], found.evidence.words, *([] if found.prediction.alarm else [described(found)])]
    words += [*(f"warning: {one}" for one in found.warnings), f"The page is in {page}"]
    show(summary, "\n".join(words))


def _summary(found: Analysis, page: Path, written: list[Path]) -> dict[str, Any]:
    """The analysis as JSON."""
    from ..groups.words import conclusion

    summary: dict[str, Any] = {"out": str(page), "tables": [str(path) for path in written], "participants": len(found.participants)}
    summary |= {"conclusion": conclusion(found), "route": found.evidence.route, "warnings": list(found.warnings)}
    summary |= {"random_effects": found.effects.to_json()} if found.effects else {}
    summary |= {"families": found.families.to_json()} if found.families else {}
    summary |= {"parameters": [row for group in found.parameters.values() for row in group.rows()]} if found.parameters else {}
    summary |= {"failed": found.failed} if found.failed else {}
    return summary | {"predictive_p": found.prediction.group.p, "unlike_models": int(found.flagged.sum())}


def _prior_counts(text: str) -> Any:
    if text not in ("1/K each", "one each"):
        raise StudyError("The prior counts are unknown.", where="--prior-counts", expected='"1/K each" or "one each"', got=text)
    return text


def _families(study: Study, texts: list[str]) -> dict[str, list[str]]:
    from ..groups.random_effects import family_of_each

    families = {}
    for text in texts:
        name, equals, members = text.partition("=")
        if not equals:
            raise StudyError("A family cannot be understood.", where=f"--family {text}", expected="NAME=MODEL,MODEL")
        families[name.strip()] = [part.strip() for part in members.split(",")]
        for model in families[name.strip()]:
            if model not in study.question.names:
                raise StudyError(f"The study has no model '{model}'.", where=f"--family {text}", fix=nearest(model, study.question.names))
    family_of_each(study.question.names, families)
    return families
