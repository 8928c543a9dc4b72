"""After a search: check what its estimator says, ask it about data, write the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ModelError, StudyError, counted, nearest
from ..files import written_whole
from ..progress import progress_bar
from .frame import command, option, show
from .options import DesignRun, Seed, StudyPath, design_of, finished_run, run_folder
from .tables import AS_IT_IS, DesignTable, Files, TableOptions, keep_data, read_people

if TYPE_CHECKING:
    from ..study import Study


@command
def validate(
    study: StudyPath,
    at: Annotated[list[str] | None, option("--at NAME=X", "A true parameter: aeg.phi=0.8. Can be repeated.")] = None,
    n: Annotated[int, option("--n N", "Simulated participants at each design.", min=100)] = 1500,
    n_exact: Annotated[int, option("--exact N", "Participants with exact answers; 0 for none.", min=0)] = 1500,
    n_reader: Annotated[int | None, option("--reader N", "Participants that an independent reader learns from; 0 for none.", min=0)] = None,
    seed: Seed = None,
) -> None:
    """Check the network on simulated people whose truth is known.

    At the recommended design and at baseline designs: how much it misses, by likelihood where models have one, and else by an
    independent reader, another network that looks for what it overlooked; whether its probabilities are as good as they say, and what
    size of error would have been noticed; which model is taken for which, and how well parameters are recovered. Needs a finished run; the
    checks are kept in it for the report.

    \b
    Example:
      tellapart validate examples/bandit
    """
    from ..validation.words import in_words

    plan, result = finished_run(study)
    sizes: dict[str, Any] = {"n": n, "n_exact": n_exact, "n_reader": n_reader}
    with progress_bar("validating") as report:
        checks = result.validate(parameters=_true_values(plan, at or []), seed=seed, progress=report, **sizes)
    show(checks.to_json(), "\n".join(in_words(checks)))


@command
def posterior(
    study: StudyPath,
    data: Files,
    out: Annotated[Path, option("--out FILE.csv", "Where to write one row for each participant.")],
    samples: Annotated[Path | None, option("--samples FILE.csv", "Where to write draws of the parameters.")] = None,
    draws: Annotated[int, option("--draws N", "How many draws for each participant.", min=1)] = 1000,
    design: DesignRun = None,
    reading: TableOptions = AS_IT_IS,
    designs: DesignTable = None,
    seed: Seed = None,
) -> None:
    """Write who behaved like which model, with which parameters.

    Needs a finished run. One row for each participant: the most probable model and a column probability.MODEL for each, and for each
    parameter its posterior mean, sd, median and 5 and 95 % quantiles, as far as the study is about them. Then unlike_models: true if
    the data look like nothing that the models produce, with its p-value; of participants whom they do describe, 1 % are flagged.

    \b
    Example:
      tellapart posterior examples/bandit data.csv --out posterior.csv
    """
    plan, result = finished_run(study, seed)
    where = design_of(plan, design)
    if samples is not None and plan.goal == "discriminate":
        what = "The goal 'discriminate' is not about parameters: there are no draws."
        raise StudyError(what, got=f"--samples {samples}", fix="leave it out")
    keep_data(data, designs, out, samples)
    people = read_people(plan, data, reading, designs, run_at=(where, result.design))
    with written_whole(out) as table, progress_bar("reading the data") as progress:
        known = result.posterior(people, where, draws, plan.seed, progress)
        known.to_table().to_csv(table, index=False)
    if samples is not None:
        with written_whole(samples) as table:
            known.samples_table().to_csv(table, index=False)
    recorded = [True] * len(known) if known.trials is None else (known.trials > 0).tolist()
    best = [name for name, any_trial in zip(known.models.most_probable, recorded, strict=True) if any_trial] if known.models else []
    silent = recorded.count(False)
    counts = {name: best.count(name) for name in known.models.names} if known.models else {}
    flagged = int(known.trust.flagged.sum()) if known.trust else 0
    summary = {"out": str(out), "participants": len(known), "most_probable": counts, **({"samples": str(samples)} if samples else {})}
    summary["unlike_models"], failed = flagged, known.trust.failed if known.trust else 0
    summary |= ({"failed": failed} if failed else {}) | ({"without_trials": silent} if silent else {})
    shares = "".join(f"; {name} is the most probable model of {count}" for name, count in counts.items())
    strange = f"; {flagged} unlike anything the models produce: do not trust what is said of them" if flagged else ""
    strange += f"; of {silent} no trial was recorded, and nothing is known" if silent else ""
    doubtful = int((known.doubtful != "").sum()) if known.doubtful is not None else 0
    strange += f"; parameters of {doubtful} are not to be believed, see the column 'doubtful'" if doubtful else ""
    strange += f"; {failed} of those simulated to compare with could not be simulated, and others took their places" if failed else ""
    show(summary, f"{counted(len(known), 'participant')}{shares}{strange}; written to {out}")


@command
def report(
    study: StudyPath,
    out: Annotated[Path | None, option("--out FILE.html", "Where to write it; run/report.html if not given.")] = None,
    seed: Seed = None,
) -> None:
    """Write the report of a finished run, one HTML file.

    It has the recommendation, the design as a picture, whether you may round it, how much each of its numbers matters, what it
    tells against randomly drawn designs, how many trials are needed, how well models and parameters are recovered, whether to
    trust it, how it was done, what to cite and how to reproduce it. Checks that `tellapart validate` has made are used; if there
    are none, they are made first.

    \b
    Example:
      tellapart report examples/bandit --out report.html
    """
    plan, result = finished_run(study)
    target = out or run_folder(study) / "report.html"
    with written_whole(target) as page, progress_bar("writing the report") as progress:
        checks = None if seed is None else result.validate(seed=seed, progress=progress)
        page.write_text(result.report(checks, progress), "utf-8")
    rounded = result.rounded()
    answer = f"May I round? {rounded.in_words(plan.task.design_space)}\n" if rounded else ""
    found = {"report": str(target), **({"rounded": rounded.to_json()} if rounded else {})}
    show(found, f"{answer}The report is in {target}")


def _true_values(study: Study, texts: list[str]) -> dict[str, dict[str, float]]:
    """True parameters that were written out as "model.parameter=value", by model."""
    from ..question import parameter_names

    known = parameter_names(study.models)
    values: dict[str, dict[str, float]] = {}
    for text in texts:
        place, _, value = text.partition("=")
        if place.strip() not in known:
            raise ModelError(f"The study has no parameter '{place}'.", where=f"--at {text}", fix=nearest(place.strip(), known))
        model, name = place.strip().rsplit(".", 1)
        try:
            values.setdefault(model, {})[name] = float(value)
        except ValueError:
            raise ModelError("The value of a parameter is not a number.", where=f"--at {text}", expected=f"{place}=0.5") from None
    return values
