"""A run: a study being carried out, in a folder that holds everything needed to resume, reproduce and report.

What is in the folder is listed in `folder.py`. A folder that was made for another study is refused, since its results would answer
another question.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Sequence

from numpy.typing import ArrayLike

from .errors import RunError
from .files import quoted
from .folder import RunFolder, dumps
from .information.estimate import InformationEstimate
from .journal import FILE
from .models.with_priors import format_prior, priors_of, shipped_with
from .parts import files_of, fingerprint_of
from .progress import Clock, Progress, unheard
from .result import DesignResult, evaluate_designs
from .search.base import Found, Job
from .study import Study, settings_of
from .tasks.space import Floats
from .threads import available_cores
from .workers import Workers, simulating_with

PACKAGES = ("numpy", "scipy", "numba", "torch", "botorch", "gpytorch", "joblib", "zuko")
"""Packages whose versions can change a result."""


@dataclass(frozen=True, eq=False)
class Run:
    """The run folder of a study.

    Arguments:
        study: What is asked.
        folder: Where everything is kept.
    """

    study: Study
    folder: RunFolder

    @classmethod
    def open(cls, study: Study, path: str | Path | None = None, *, fresh: bool = False) -> Run:
        """A new or stopped run. A folder of another study is refused, or emptied first if `fresh`.

        Arguments:
            path: The folder; a temporary one if not given, which is gone when the run is.
        """
        temporary = TemporaryDirectory(prefix="tellapart-", ignore_cleanup_errors=True) if path is None else None
        run = cls(study, RunFolder(Path(temporary.name if temporary else path or "."), temporary))
        if fresh:
            run.folder.clear()
        run._refuse_other_study()
        run.folder.path.mkdir(parents=True, exist_ok=True)
        run.folder.write("study.json", {**describe(study), "name": study.name})
        return run

    @classmethod
    def of(cls, study: Study, path: str | Path) -> Run:
        """The run in a folder as it is, with the seed that it was begun with; nothing is made."""
        folder = RunFolder(Path(path))
        run = cls(study.with_seed((folder.read("study.json") or {}).get("seed")), folder)
        run._refuse_other_study()
        return run

    @classmethod
    def finished(cls, study: Study, path: str | Path) -> Run:
        """A run that has its result, or a `RunError` that says how to get one."""
        run = cls.of(study, path)
        if not run.folder.has("result.json"):
            fix = f"run `{_design_command(run.folder.path)}` first; a stopped search goes on where it was"
            raise RunError("This study has no design yet.", where=str(path), expected="a finished run", fix=fix)
        return run

    def design(self, *, workers: int | Workers = 1, progress: Progress = unheard) -> DesignResult:
        """Find the design, or go on finding it."""
        from .training import save_weights

        if self.folder.has("result.json"):
            return self.result()
        clock, helpers = Clock(progress), Workers.of(workers)
        with self.folder.alone():
            with simulating_with(helpers):
                job = Job(self.study.task, self.study.question, self.study.seed, self.folder.journal, clock, helpers)
                found = self.study.search.find(job)
            save_weights(self.folder.estimator, found.estimator)
            self.folder.write_failures()
            self.folder.write("provenance.json", self._provenance(clock, helpers.count))
            self.folder.write("result.json", found.to_json())
        return self.result()  # as whoever comes later will read it

    def result(self) -> DesignResult:
        """The result of a finished run."""
        from .training import load_weights

        estimator = self.study.search.build(self.study.task, self.study.question)
        load_weights(self.folder.estimator, estimator)
        return DesignResult(self.study, Found.from_json(self.folder.read("result.json"), estimator), self.folder)

    def evaluate(
        self, designs: Sequence[ArrayLike], seed: int | None = None, *, workers: int | Workers = 1, progress: Progress = unheard
    ) -> list[InformationEstimate]:
        """The information of given designs, each (B, V), as the run's search estimates it."""
        if not self.study.search.trains_at_each_design:
            return Run.finished(self.study, self.folder.path).result().evaluate(designs, seed, workers=workers, progress=progress)
        if not self.folder.path.is_dir():
            return Run.open(self.study).evaluate(designs, seed, workers=workers, progress=progress)
        return evaluate_designs(self.study.with_seed(seed), self.folder, None, designs, workers, progress)

    def _refuse_other_study(self) -> None:
        where, fresh = str(self.folder.path), f"{_design_command(self.folder.path)} --fresh"
        kept, asked = self.folder.read("study.json"), json.loads(dumps(describe(self.study)))
        if kept is None:
            if self.folder.has(FILE):
                raise RunError("The run folder lacks its study.json.", where=where, fix=f"begin anew: {fresh}")
            return
        kept.pop("name", None)
        if kept != asked:
            raise RunError(
                "The run folder was made for a different study.",
                where=where,
                expected=f"the study as it was: {_difference(kept, asked)}",
                got=_difference(asked, kept),
                fix=f"begin anew (what is in the folder is lost): {fresh}; or undo the change",
            )

    def _provenance(self, clock: Clock, workers: int) -> dict[str, Any]:
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
            "stages": clock.stages,
            "study": describe(self.study),
        }


def find_design(study: Study, path: str | Path | None = None, *, workers: int | Workers = 1, progress: Progress = unheard) -> DesignResult:
    """Find the most informative design of a study.

    Arguments:
        path: The folder in which the run is kept; a stopped run in it goes on. If not given, nothing is kept.
        workers: How many processes share the work, or the workers of a Dask cluster; changes nothing but the time.
        progress: Told how it goes on.
    """
    return Run.open(study, path).design(workers=workers, progress=progress)


def recommended(study: Study, path: str | Path) -> Floats:
    """The design that a finished run recommends, without loading its networks."""
    try:
        return study.task.design_space.check(Run.finished(study, path).folder.read("result.json")["design"])
    except RunError as error:
        fix = f"{error.fix}; or give one with --design"
        raise RunError(error.what, where=error.where, expected=error.expected, got=error.got, fix=fix) from None


def describe(study: Study) -> dict[str, Any]:
    """All that decides the result of a study, as JSON can hold it."""
    question = study.question
    parts: dict[str, Any] = {"task": study.task, **{f"model {m}": model for m, model in enumerate(study.models)}, "search": study.search}
    described = {name: {"use": part.name, **_values(part)} for name, part in parts.items()}
    kinds = {name: type(shipped_with(part)) for name, part in parts.items()}
    kinds |= {name: value for name, value in vars(study.search).items() if isinstance(value, type)}
    code = {name: _source_fingerprint(kind) for name, kind in kinds.items() if not kind.__module__.startswith("tellapart.")}
    asked = {"goal": question.goal, "prior": list(question.prior), "about": list(question.about), "on_error": question.on_error}
    return {**asked, "seed": study.seed, **described, "code": code}


def _values(part: Any) -> dict[str, Any]:
    """The settings of a task, model or search, as JSON can hold them."""
    values = {name: getattr(part, name) for name in settings_of(type(shipped_with(part)))}
    values |= {f"priors.{name}": format_prior(prior) for name, prior in priors_of(part).items()}
    return {name: value.__qualname__ if isinstance(value, type) else value for name, value in values.items()}


def version_of(package: str) -> str | None:
    """The installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _source_fingerprint(kind: type) -> str:
    """A fingerprint of the file that defines a user's class and of what it imports from beside it, or of the class itself if it is in no
    file.
    """
    try:
        file = getattr(sys.modules[kind.__module__], "__file__", None)
        if file:
            return fingerprint_of(files_of(Path(file)))[:16]
        source = inspect.getsource(kind).encode()
    except (OSError, TypeError, KeyError):
        return "unknown"
    return hashlib.sha256(source).hexdigest()[:16]


def _design_command(run: Path) -> str:
    """What to type for a run; one that is not where the command line keeps it has a study that only its owner knows."""
    return f"tellapart design {quoted(run.parent) if run.name == 'run' else 'STUDY'}"


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """What `one` says where it differs from `other`, a level deep."""
    lines = []
    for key in sorted({*one, *other}):
        a, b = one.get(key), other.get(key)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            changed = {k: a.get(k, "not there") for k in sorted({*a, *b}) if a.get(k) != b.get(k)}
            lines += _files(changed, one) if key == "code" else [f"{key}.{k} = {value}" for k, value in changed.items()]
        else:
            lines.append(f"{key} = {a if a is not None else 'not there'}")
    return ", ".join(lines)


def _files(changed: dict[str, Any], described: dict[str, Any]) -> list[str]:
    """What files of a user's code are as, in words: one file may hold several parts."""
    kinds = {part: described.get(part) for part in changed}
    names = {part: f"{part} ({kind['use']})" if isinstance(kind, dict) else part for part, kind in kinds.items()}
    parts = {mark: [names[part] for part, value in changed.items() if value == mark] for mark in changed.values()}
    return [f"the Python file with {' and '.join(those)} (its fingerprint begins with {str(one)[:6]})" for one, those in parts.items()]
