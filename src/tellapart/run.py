"""A run: a study being carried out, in a folder that holds everything needed to resume, reproduce and report.

    journal.sqlite          what has been computed; a stopped run goes on from it
    *.safetensors           trained networks, and what simulated participants look like to them
    study.json              what the run is of: task, models, goal, seed, settings, and a fingerprint of the user's own code
    result.json             the design, its information, the history of the search; the same bytes for the same study
    failures.jsonl          simulations that failed and were skipped, if the study says so
    provenance.json         versions, machine and times
    validation.json         the checks of `tellapart validate`
    curve.json              information against the number of trials

A folder that was made for another study is refused, since its results would answer another question.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .behavior import Behavior
from .errors import RunError, StudyError
from .information.estimate import InformationEstimate
from .journal import FILE, Journal
from .models.failures import OnFailure
from .posterior import Posterior, Trust, infer
from .search import make_search
from .search.base import Baseline, Floats, Found, Progress, Search
from .study import Study
from .workers import Workers, simulating_with

if TYPE_CHECKING:
    from .estimators.base import Goal
    from .validation.suite import Validation

PACKAGES = ("numpy", "scipy", "numba", "torch", "botorch", "gpytorch", "joblib", "zuko")
"""Packages whose versions can change a result."""


@dataclass(frozen=True, eq=False)
class DesignResult:
    """The found design, and what it can tell.

    Arguments:
        study: What was asked.
        found: What the search found.
        run: Where it is kept.
    """

    study: Study
    found: Found
    run: Run

    @property
    def design(self) -> Floats:
        """The recommended design, (B, V)."""
        return self.found.design

    @property
    def information(self) -> InformationEstimate:
        """The information of the recommended design."""
        return self.found.information

    @property
    def baseline(self) -> Baseline | None:
        """What designs chosen by habit would tell."""
        return self.found.baseline

    @property
    def alternatives(self) -> tuple[tuple[Floats, InformationEstimate], ...]:
        """Other good designs with their information."""
        return self.found.alternatives

    def posterior(self, data: Any, designs: ArrayLike | None = None, draws: int = 1000, seed: int = 0) -> Posterior:
        """Who behaved like which model, with which parameters.

        Arguments:
            data: A `Behavior`, or a long table (a pandas DataFrame).
            designs: What participants were run at, if not at the recommended design: (B, V) or (N, B, V).
            draws: How many draws from the posterior of parameters.
        """
        known = infer(self.found.estimator, self._behavior(data), self.design if designs is None else designs, draws, seed)
        return replace(known, trust=self.trust(data, designs))

    def trust(self, data: Any, designs: ArrayLike | None = None) -> Trust:
        """Do the data of each participant look like anything that the models can produce?"""
        from .validation.trust import TrustCheck, trust

        file, design = self.run.folder / "trust.safetensors", self.design
        if not file.is_file():
            TrustCheck.of(self.found.estimator, design).save(file)
        return trust(self.found.estimator, self._behavior(data), design if designs is None else designs, kept=TrustCheck.load(file))

    def validate(self, *, seed: int | None = None, progress: Progress | None = None, **settings: Any) -> Validation:
        """The checks of the estimator at the recommended design and at baseline designs; kept in the run folder.

        Arguments:
            settings: See `tellapart.validation.suite.validate`.
        """
        from .validation.suite import validate

        baseline = self.baseline.information if self.baseline else ()
        seed = self.study.seed if seed is None else seed
        given = {"information": self.information, "baseline": baseline, "seed": seed, "progress": progress, **settings}
        checks = validate(self.found.estimator, self.design, **given)
        self.run.write("validation.json", checks.to_json())
        return checks

    def curve(self, progress: Progress | None = None) -> list[dict[str, Any]]:
        """Points of the information curve, kept in the run folder; none if the estimator knows experiments of one length only."""
        from .curve import information_curve

        file = self.run.folder / "curve.json"
        if not file.is_file():
            try:
                points = information_curve(self.found.estimator, self.design, seed=self.study.seed, progress=progress)
            except StudyError:
                points = []
            self.run.write("curve.json", [point.to_json() for point in points])
        return list(json.loads(file.read_text("utf-8")))

    def report(self, validation: Validation | None = None, progress: Progress | None = None) -> str:
        """The report as one HTML page.

        Arguments:
            validation: The checks; those of the run folder, or new ones, if not given.
        """
        from .report.page import Content, render
        from .validation.suite import Validation

        file, provenance, study = self.run.folder / "validation.json", self.run.folder / "provenance.json", self.study
        if validation is None:
            validation = Validation.from_json(file.read_bytes()) if file.is_file() else self.validate(progress=progress)
        known = json.loads(provenance.read_text("utf-8")) if provenance.is_file() else {}
        found = json.loads(_dumps(self.found.to_json()))
        content = Content(study.name, study.goal, study.task, tuple(study.models), found, known, validation, self.curve(progress))
        commands = "tellapart design STUDY --fresh\ntellapart validate STUDY\ntellapart report STUDY"
        return render(replace(content, study_text=study.to_toml(), command=commands))

    def summaries(self, data: Any, designs: ArrayLike | None = None) -> NDArray[np.float32]:
        """The learned summary statistics of data, (N, S)."""
        return self.found.estimator.summaries(self._behavior(data), self.design if designs is None else designs)

    def evaluate(
        self, designs: Sequence[ArrayLike], seed: int | None = None, *, workers: int | Workers = 1, progress: Progress | None = None
    ) -> list[InformationEstimate]:
        """The information of other designs, estimated as the found design's was."""
        return self.run.evaluate(designs, seed, workers=workers, progress=progress)

    def to_json(self) -> dict[str, Any]:
        """What the command line prints."""
        found = {key: value for key, value in self.found.to_json().items() if key != "trace"}
        return {**found, "study": self.study.name, "run": str(self.run.folder), "seconds": self.run.seconds()}

    def _behavior(self, data: Any) -> Behavior:
        return self.study.task.check(data) if isinstance(data, Behavior) else self.study.task.read_table(data)


@dataclass(frozen=True, eq=False)
class Run:
    """The run folder of a study.

    Arguments:
        study: What is asked.
        folder: Where everything is kept.
    """

    study: Study
    folder: Path
    _keep: Any = field(default=None, repr=False)

    @classmethod
    def open(cls, study: Study, folder: str | Path | None = None, *, fresh: bool = False) -> Run:
        """A new or stopped run. A folder of another study is refused, or emptied first if `fresh`.

        Arguments:
            folder: A temporary one if not given, which is gone when the run is.
        """
        temporary = tempfile.TemporaryDirectory(prefix="tellapart-") if folder is None else None
        run = cls(study, Path(temporary.name if temporary else folder or "."), temporary)
        if fresh:
            run._clear()
        run._refuse_other_study()
        run.folder.mkdir(parents=True, exist_ok=True)
        run.write("study.json", {**describe(study), "name": study.name})
        return run

    @classmethod
    def finished(cls, study: Study, folder: str | Path) -> Run:
        """A run that has its result, or a `RunError` that says how to get one."""
        run = cls(with_seed_of(study, folder), Path(folder))
        run._refuse_other_study()
        if not (run.folder / "result.json").is_file():
            raise RunError(
                "This study has no design yet.", where=str(folder), expected="a finished run", fix="run `tellapart design` first"
            )
        return run

    @property
    def search(self) -> Search:
        return make_search(self.study.search)

    @property
    def goal(self) -> Goal:
        from .estimators.base import Goal

        on_failure = OnFailure(**self.study.simulation, record=self.folder.resolve() / "failures.jsonl")
        return Goal(self.study.goal, self.study.task, tuple(self.study.models), on_failure)

    def design(self, *, workers: int | Workers = 1, progress: Progress | None = None) -> DesignResult:
        """Find the design, or go on finding it."""
        clock = _Clock(progress)
        helpers = Workers.of(workers)
        with simulating_with(helpers):
            found = self.search.find(self.goal, self.study.seed, Journal(self.folder), clock, helpers)
        if not (self.folder / "result.json").is_file():
            self.write("provenance.json", self._provenance(clock, helpers.count))
            self.write("result.json", found.to_json())
        return DesignResult(self.study, found, self)

    def result(self) -> DesignResult:
        """The result of a finished run."""
        return DesignResult(self.study, self.search.load(self.goal, Journal(self.folder)), self)

    def evaluate(
        self, designs: Sequence[ArrayLike], seed: int | None = None, *, workers: int | Workers = 1, progress: Progress | None = None
    ) -> list[InformationEstimate]:
        """The information of given designs, each (B, V), as the run's search estimates it."""
        checked = [self.study.task.design_space.check(design) for design in designs]
        seed = self.study.seed if seed is None else seed
        helpers = Workers.of(workers)
        with simulating_with(helpers):
            return self.search.evaluate(self.goal, checked, seed, Journal(self.folder), progress, helpers)

    def seconds(self) -> float | None:
        """How long the search took, the last time it was run."""
        file = self.folder / "provenance.json"
        return float(json.loads(file.read_text("utf-8"))["seconds"]) if file.is_file() else None

    def _refuse_other_study(self) -> None:
        file = self.folder / "study.json"
        if not file.is_file():
            if (self.folder / FILE).exists():
                raise RunError("The run folder lacks its study.json.", where=str(self.folder), fix="begin anew with --fresh")
            return
        kept, asked = json.loads(file.read_text("utf-8")), json.loads(_dumps(describe(self.study)))
        kept.pop("name", None)
        if kept != asked:
            raise RunError(
                "The run folder was made for a different study.",
                where=str(self.folder),
                expected=f"the study as it was: {_difference(kept, asked)}",
                got=_difference(asked, kept),
                fix="begin anew with --fresh (what is in the folder is lost), undo the change, or move the folder away",
            )

    def _clear(self) -> None:
        """Delete the run, but only what is one: never a folder with something else in it."""
        if not self.folder.exists() or not any(self.folder.iterdir()):
            return
        if not (self.folder / "study.json").is_file() and not (self.folder / FILE).is_file():
            raise RunError("This is no run folder; it is not emptied.", where=str(self.folder), fix="choose another folder")
        shutil.rmtree(self.folder)

    def write(self, name: str, content: Any) -> None:
        """Write a JSON file, whole or not at all."""
        temporary = self.folder / f".{name}.{os.getpid()}"
        with temporary.open("w", encoding="utf-8") as file:
            file.write(_dumps(content) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.folder / name)

    def _provenance(self, clock: _Clock, workers: int) -> dict[str, Any]:
        from .threads import available_cores

        return {
            "tellapart": version_of("tellapart"),
            "python": sys.version.split()[0],
            "packages": {name: version_of(name) for name in PACKAGES},
            "platform": platform.platform(),
            "processor": platform.machine(),
            "cores": available_cores(),
            "workers": workers,
            "started": datetime.fromtimestamp(clock.started, UTC).isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - clock.started, 3),
            "stages": clock.stages(),
            "settings": settings_of(self.search),
            "study": describe(self.study),
        }


class _Clock:
    """Passes progress on, and keeps how long each stage of a search takes. A stage is what is before the colon in its few words."""

    def __init__(self, progress: Progress | None) -> None:
        self.started = self._heard = time.time()
        self._seconds: dict[str, float] = {}
        self._stage, self._progress = "beginning", progress

    def __call__(self, done: int, total: int, words: str) -> None:
        self._count()
        self._stage = words.partition(":")[0]
        if self._progress:
            self._progress(done, total, words)

    def stages(self) -> dict[str, float]:
        """The seconds of each stage up to now."""
        self._count()
        return {stage: round(seconds, 3) for stage, seconds in self._seconds.items()}

    def _count(self) -> None:
        """Count the time since anything was last heard to the present stage."""
        now = time.time()
        self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + now - self._heard
        self._heard = now


def find_design(
    study: Study, folder: str | Path | None = None, *, workers: int | Workers = 1, progress: Progress | None = None, fresh: bool = False
) -> DesignResult:
    """Find the most informative design of a study.

    Arguments:
        folder: Where the run is kept; a stopped run in it goes on. If not given, nothing is kept.
        workers: How many processes share the work, or the workers of a Dask cluster; changes nothing but the time.
        progress: Called with (done, in all, a few words).
        fresh: Begin anew, whatever the folder holds.
    """
    return Run.open(study, folder, fresh=fresh).design(workers=workers, progress=progress)


def with_seed_of(study: Study, folder: str | Path) -> Study:
    """`study` with the seed that its run was begun with, which may have been another than the study file's."""
    file = Path(folder) / "study.json"
    return replace(study, seed=json.loads(file.read_text("utf-8")).get("seed", study.seed)) if file.is_file() else study


def describe(study: Study) -> dict[str, Any]:
    """All that decides the result of a study, as JSON can hold it."""
    parts: dict[str, Any] = {"task": study.task, **{f"model {m}": model for m, model in enumerate(study.models)}}
    described = {name: {"use": part.name, **settings_of(part)} for name, part in parts.items()}
    search = make_search(study.search)
    settings = {"method": search.name, **settings_of(search)}
    kinds = {**{name: type(part) for name, part in parts.items()}, "search": type(search)}
    kinds |= {key: value for key, value in study.search.items() if isinstance(value, type) and key != "method"}
    code = {name: _source_fingerprint(kind) for name, kind in kinds.items() if not kind.__module__.startswith("tellapart.")}
    simulation = {} if study.simulation == {"on_error": "stop"} else {"simulation": dict(study.simulation)}
    return {"goal": study.goal, "seed": study.seed, **described, "search": settings, **simulation, "code": code}


def settings_of(part: Any) -> dict[str, Any]:
    """The fields of a task, model or search, by name, as JSON can hold them."""
    values = {f.name: getattr(part, f.name) for f in fields(part)} if is_dataclass(part) else {}
    return {name: value.__qualname__ if isinstance(value, type) else value for name, value in values.items()}


def version_of(package: str) -> str | None:
    """The installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _source_fingerprint(kind: type) -> str:
    """A fingerprint of the file that defines a user's class, or of the class itself if it is in no file."""
    try:
        module = sys.modules[kind.__module__]
        source = Path(str(module.__file__)).read_bytes() if getattr(module, "__file__", None) else inspect.getsource(kind).encode()
    except (OSError, TypeError, KeyError):
        return "unknown"
    return hashlib.sha256(source).hexdigest()[:16]


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """What `one` says where it differs from `other`, a level deep."""
    lines = []
    for key in sorted({*one, *other}):
        a, b = one.get(key), other.get(key)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            lines += [f"{key}.{k} = {a.get(k, 'not there')}" for k in sorted({*a, *b}) if a.get(k) != b.get(k)]
        else:
            lines.append(f"{key} = {a if a is not None else 'not there'}")
    return ", ".join(lines)


def _dumps(content: Any) -> str:
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False)
