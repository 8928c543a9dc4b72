"""A run: a study being carried out, in a folder that holds everything needed to resume, reproduce and report.

    journal.sqlite          what has been computed; a stopped run goes on from it
    *.safetensors           trained networks
    study.json              what the run is of: task, models, goal, seed, settings, and a fingerprint of the user's own code
    result.json             the design, its information, the history of the search; the same bytes for the same study
    provenance.json         versions, machine and times

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
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .behavior import Behavior
from .errors import RunError
from .information.estimate import InformationEstimate
from .journal import FILE, Journal
from .posterior import Posterior, infer
from .search import make_search
from .search.base import Baseline, Floats, Found, Progress, Search
from .study import Study
from .workers import Workers

if TYPE_CHECKING:
    from .estimators.base import Goal

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
        return infer(self.found.estimator, self._behavior(data), self.design if designs is None else designs, draws, seed)

    def summaries(self, data: Any, designs: ArrayLike | None = None) -> NDArray[np.float32]:
        """The learned summary statistics of data, (N, S)."""
        return self.found.estimator.summaries(self._behavior(data), self.design if designs is None else designs)

    def evaluate(
        self, designs: Sequence[ArrayLike], seed: int | None = None, *, workers: int = 1, progress: Progress | None = None
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
        run._write("study.json", {**describe(study), "name": study.name})
        return run

    @classmethod
    def finished(cls, study: Study, folder: str | Path) -> Run:
        """A run that has its result, or a `RunError` that says how to get one."""
        run = cls(study, Path(folder))
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

        return Goal(self.study.goal, self.study.task, tuple(self.study.models))

    def design(self, *, workers: int = 1, progress: Progress | None = None) -> DesignResult:
        """Find the design, or go on finding it."""
        started = time.time()
        found = self.search.find(self.goal, self.study.seed, Journal(self.folder), progress, Workers(workers))
        if not (self.folder / "result.json").is_file():
            self._write("provenance.json", self._provenance(started, workers))
            self._write("result.json", found.to_json())
        return DesignResult(self.study, found, self)

    def result(self) -> DesignResult:
        """The result of a finished run."""
        return DesignResult(self.study, self.search.load(self.goal, Journal(self.folder)), self)

    def evaluate(
        self, designs: Sequence[ArrayLike], seed: int | None = None, *, workers: int = 1, progress: Progress | None = None
    ) -> list[InformationEstimate]:
        """The information of given designs, each (B, V), as the run's search estimates it."""
        checked = [self.study.task.design_space.check(design) for design in designs]
        seed = self.study.seed if seed is None else seed
        return self.search.evaluate(self.goal, checked, seed, Journal(self.folder), progress, Workers(workers))

    def seconds(self) -> float | None:
        """How long the last session of the search took."""
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

    def _write(self, name: str, content: Any) -> None:
        """Write a JSON file, whole or not at all."""
        temporary = self.folder / f".{name}.{os.getpid()}"
        with temporary.open("w", encoding="utf-8") as file:
            file.write(_dumps(content) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.folder / name)

    def _provenance(self, started: float, workers: int) -> dict[str, Any]:
        from .threads import available_cores

        return {
            "tellapart": version_of("tellapart"),
            "python": sys.version.split()[0],
            "packages": {name: version_of(name) for name in PACKAGES},
            "platform": platform.platform(),
            "processor": platform.machine(),
            "cores": available_cores(),
            "workers": workers,
            "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - started, 3),
            "settings": settings_of(self.search),
            "study": describe(self.study),
        }


def find_design(
    study: Study, folder: str | Path | None = None, *, workers: int = 1, progress: Progress | None = None, fresh: bool = False
) -> DesignResult:
    """Find the most informative design of a study.

    Arguments:
        folder: Where the run is kept; a stopped run in it goes on. If not given, nothing is kept.
        workers: How many designs may be evaluated at once; changes nothing but the time.
        progress: Called with (done, in all, a few words).
        fresh: Begin anew, whatever the folder holds.
    """
    return Run.open(study, folder, fresh=fresh).design(workers=workers, progress=progress)


def describe(study: Study) -> dict[str, Any]:
    """All that decides the result of a study, as JSON can hold it."""
    parts: dict[str, Any] = {"task": study.task, **{f"model {m}": model for m, model in enumerate(study.models)}}
    described = {name: {"use": part.name, **settings_of(part)} for name, part in parts.items()}
    search = make_search(study.search)
    settings = {"method": search.name, **settings_of(search)}
    code = {name: _source_fingerprint(type(part)) for name, part in parts.items() if not type(part).__module__.startswith("tellapart.")}
    return {"goal": study.goal, "seed": study.seed, **described, "search": settings, "code": code}


def settings_of(part: Any) -> dict[str, Any]:
    """The fields of a task, model or search, by name."""
    return {f.name: getattr(part, f.name) for f in fields(part)} if is_dataclass(part) else {}


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
