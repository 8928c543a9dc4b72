"""Would the tests notice a mistake? Small mistakes are made on purpose, one at a time, and the tests that should notice are run.

A mistake (mutant) is a comparison turned round, a sum made a difference, a number one too large, a square root or an axis lost, `not`
dropped, a condition negated, a statement left out. It is noticed if a test fails, or if the tests no longer end. What survives is
listed, and has to be noticed by a test or explained in docs/explanation/mutants.md.

    python benchmarks/mutants.py information validation --sample 60 --seed 1
    python benchmarks/mutants.py --each 20 --seed 2 --limit 40 --seen run/seen.json
    python benchmarks/mutants.py information/estimate.py --only sqrt

First the tests of a module (`TESTS`) are looked at once: which lines each of them runs, and for how long. A mistake is then shown only to
tests that run its line, quickest first, until they took as long as `--limit` says: what they do not notice by then counts as not noticed.

Why not mutmut or cosmic-ray: they know nothing of square roots and axes, and cosmic-ray starts Python, torch and numba anew for each
mutant, which takes longer than most of our tests. Here one process imports what is heavy and is forked for each mutant. Work is
done in a copy.

Takes about 20 minutes for a sample of 60: seconds for a mistake that is noticed, a minute or two for others.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

import numba
import pytest
from takes import say

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tellapart"
PARTS = ("estimators", "information", "search", "posterior.py", "validation", "priors.py", "tasks", "models")

TESTS = {
    "estimators": ("estimators", "exact/test_sandwich.py", "validation/test_suite.py"),
    "estimators/fresh.py": ("estimators/test_fresh.py", "search/test_unseen.py"),
    "estimators/likelihood.py": ("estimators/test_likelihood.py",),
    "information": ("exact",),
    "search": ("search/test_finder.py", "search/test_amortized.py", "search/test_unseen.py"),
    "search/base.py": ("search/test_baseline.py", "search/test_unseen.py", "search/test_amortized.py", "test_display.py"),
    "search/climb.py": ("search/test_climb.py",),
    "search/learning.py": ("search/test_learning.py", "search/test_amortized.py", "networks/test_scale.py"),
    "search/surrogate.py": ("search/test_surrogate.py", "search/test_survey.py", "tasks/test_sampling.py"),
    "search/survey.py": ("search/test_survey.py", "search/test_amortized.py"),
    "posterior.py": ("test_posterior.py", "test_display.py", "exact/test_posteriors.py"),
    "validation/calibration.py": ("validation/test_calibration.py", "validation/test_words.py"),
    "validation/comparison.py": ("validation/test_comparison.py", "validation/test_suite.py", "validation/test_words.py"),
    "validation/confusion.py": ("validation/test_comparison.py", "validation/test_suite.py"),
    "validation/model_calibration.py": ("validation/test_calibration.py",),
    "validation/participants.py": ("validation/test_suite.py", "validation/test_calibration.py"),
    "validation/rank_calibration.py": ("validation/test_calibration.py",),
    "validation/reader.py": ("validation/test_reader.py", "validation/test_suite.py"),
    "validation/recovery.py": ("validation/test_recovery.py", "validation/test_suite.py"),
    "validation/statistics.py": ("validation/test_statistics.py", "validation/test_trust.py"),
    "validation/suite.py": ("validation/test_suite.py", "validation/test_words.py"),
    "validation/trust.py": ("validation/test_trust.py",),
    "validation/words.py": ("validation/test_words.py", "validation/test_suite.py", "validation/test_calibration.py"),
    "priors.py": ("test_priors.py",),
    "tasks": ("tasks", "bandits/test_bandit.py"),
    "tasks/screen.py": ("tasks", "bandits/test_bandit.py", "server/test_plan.py"),
    "models": ("models/test_plain_agents.py",),
    "models/base.py": ("models/test_base.py", "exact/test_posteriors.py"),
    "models/chance.py": ("models/test_chance.py",),
    "models/choices.py": ("models/test_choices.py",),
    "models/compiled.py": ("models/test_compiled.py",),
    "models/evidence.py": ("models/test_evidence.py",),
    "models/failures.py": ("models/test_failures.py", "models/test_python.py", "models/test_simulation.py"),
    "models/hidden_number.py": ("models/test_hidden_number.py", "exact/test_between.py"),
    "models/kernel.py": ("models/test_plain_agents.py", "bandits/test_bandits.py"),
    "models/python.py": ("models/test_python.py",),
    "models/simulation.py": ("models/test_simulation.py", "models/test_failures.py", "models/test_python.py"),
    "models/streams.py": ("models/test_streams.py",),
    "models/symmetry.py": ("models/test_symmetry.py",),
    "models/with_priors.py": ("models/test_with_priors.py",),
}
"""Where the tests are that are to notice mistakes in a module: the longest entry that it begins with counts."""

SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
KINDS = ("comparison", "arithmetic", "logic", "constant", "sqrt", "axis", "not", "condition", "statement", "return")


@dataclass(frozen=True)
class Mutant:
    """One mistake: the `number`-th that can be made in a module.

    Arguments:
        path: The module, below the package.
        line: Where.
        kind: What sort of mistake.
        text: It, in words.
    """

    path: str
    number: int
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {self.text}"


Change = tuple[int, str, str, Callable[[], None]]


def changes(tree: ast.Module) -> Iterator[Change]:
    """All mistakes that can be made in a module, as functions that change its tree."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    nested = {id(inner) for node in functions for inner in ast.walk(node) if inner is not node}
    for function in functions:
        if id(function) not in nested:
            body = function.body if isinstance(function.body, list) else [function.body]
            for statement in body:
                yield from _within(statement)


def _within(top: ast.AST) -> Iterator[Change]:
    for parent in _code(top):
        yield from _mistakes(parent)
        for name in ("body", "orelse"):
            statements = getattr(parent, name, None)
            if isinstance(statements, list):
                yield from _left_out(statements)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What is computed: no annotations, no messages of errors, no documentation."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)


def _left_out(statements: list[Any]) -> Iterator[Change]:
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):

            def leave_out(place: int = place, statements: list[Any] = statements) -> None:
                statements[place] = ast.copy_location(ast.Pass(), statements[place])

            yield statement.lineno, "statement", f"without {ast.unparse(statement)}", leave_out


def _mistakes(node: Any) -> Iterator[Change]:
    """The mistakes that can be made at a node of the tree."""

    def setting(name: str, value: Any) -> Callable[[], None]:
        return lambda: setattr(node, name, value)

    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in SWAPPED:
                other = [SWAPPED[type(o)]() if i == place else o for i, o in enumerate(node.ops)]
                yield node.lineno, "comparison", f"{ast.unparse(node)} with {type(other[place]).__name__}", setting("ops", other)
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED and not _of_text(node):
        other = SWAPPED[type(node.op)]()
        yield node.lineno, "arithmetic", f"{ast.unparse(node)} with {type(other).__name__}", setting("op", other)
    if isinstance(node, ast.BoolOp):
        yield node.lineno, "logic", f"{ast.unparse(node)} with {SWAPPED[type(node.op)].__name__}", setting("op", SWAPPED[type(node.op)]())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and abs(node.value) <= 10:
        # larger numbers are sizes and limits, which one more does not make wrong
        other = node.value + 1 if isinstance(node.value, int) else 2 * node.value or 1.0
        yield node.lineno, "constant", f"{node.value} is {other}", setting("value", other)
    if isinstance(node, ast.Call):
        yield from _calls(node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.lineno, "not", f"{ast.unparse(node)} without it", setting("op", ast.UAdd() if isinstance(node.op, ast.USub) else _Yes())
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        yield node.lineno, "condition", f"not {ast.unparse(node.test)}", setting("test", ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield node.lineno, "return", f"None for {ast.unparse(node.value)}", setting("value", ast.Constant(None))


def _of_text(node: ast.AST) -> bool:
    """Is it about text? Then nearly every change is an error that any test notices."""
    return any(isinstance(inner, ast.JoinedStr) or isinstance(getattr(inner, "value", None), str) for inner in ast.walk(node))


class _Yes(ast.Not):
    """`not not`: what remains if a `not` is dropped, as a truth value."""


class _Plain(ast.NodeTransformer):
    """Writes `not` that was dropped as `bool(…)`."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name("bool", ast.Load()), [node.operand], []) if isinstance(node.op, _Yes) else node


def _calls(node: ast.Call) -> Iterator[Change]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("sqrt", "log", "exp", "abs", "square") and len(node.args) == 1 and isinstance(node.func, ast.Attribute):

        def identity() -> None:
            node.func = ast.Name("_same", ast.Load())

        yield node.lineno, "sqrt", f"{ast.unparse(node)} without {name}", identity
    for keyword in node.keywords:
        if keyword.arg in ("axis", "dim") and isinstance(keyword.value, ast.Constant | ast.UnaryOp):
            value = ast.literal_eval(keyword.value)
            other = ast.Constant(0 if value != 0 else 1)
            yield node.lineno, "axis", f"{ast.unparse(node)} with {keyword.arg}={other.value}", _setter(keyword, other)


def _setter(node: Any, value: Any) -> Callable[[], None]:
    return lambda: setattr(node, "value", value)


def source_of(tree: ast.Module) -> str:
    """The module as text, with the helper that some mistakes need."""
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n\ndef _same(x):\n    return x\n"


def mutants_of(path: Path) -> list[Mutant]:
    """All mistakes that can be made in a module."""
    name, tree = str(path.relative_to(PACKAGE)), ast.parse(path.read_text())
    return [Mutant(name, i, *what[:3]) for i, what in enumerate(changes(tree))]


def mutated(path: Path, number: int) -> str:
    """A module with its `number`-th mistake."""
    tree = ast.parse(path.read_text())
    made = list(changes(tree))[number]
    made[3]()
    return source_of(_Plain().visit(tree))


def lines_around(path: Path, line: int) -> tuple[range, bool]:
    """The lines of the statement that a line is in, without those of statements inside of it; and is it compiled, so that none is seen?"""
    tree, at, compiled = ast.parse(path.read_text()), range(line, line + 1), False
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            inner = [child.lineno for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
            at = range(node.lineno, max(min(inner), node.lineno + 1) if inner else (node.end_lineno or node.lineno) + 1)
            if isinstance(node, ast.FunctionDef):
                compiled |= any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)
                compiled |= (path.name, node.name) == ("kernel.py", "play")
    return at, compiled


def files_for(name: str, folder: Path) -> list[str]:
    """The test files that are to notice mistakes in a module, below the folder."""
    entry = max((key for key in TESTS if name.startswith(key)), key=len)
    places = [folder / "tests" / test for test in TESTS[entry]]
    files = [file for place in places for file in ([place] if place.suffix else sorted(place.glob("test_*.py")))]
    return [str(file.relative_to(folder)) for file in files]


@dataclass
class Seen:
    """A test as it was seen to run: for how many seconds, and which lines of the package."""

    seconds: float
    lines: dict[str, list[int]]


class Look:
    """A plugin of pytest that notes which lines of the package each test runs.

    What a fixture runs is run by all tests that use it, and what runs while a file is imported by all of its tests.
    """

    def __init__(self, package: Path) -> None:
        self.package, self.hit, self.imported = str(package) + os.sep, set[tuple[str, int]](), set[tuple[str, int]]()
        self.fixtures, self.tests = dict[str, set[tuple[str, int]]](), dict[str, tuple[float, set[tuple[str, int]], list[str]]]()

    def enter(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        return self.step if code.co_filename.startswith(self.package) and code.co_name != "<module>" else None

    def step(self, frame: Any, event: str, arg: Any) -> Any:
        self.hit.add((frame.f_code.co_filename, frame.f_lineno))
        return self.step

    @contextmanager
    def tracing(self) -> Iterator[None]:
        self.hit = set()
        sys.settrace(self.enter)
        threading.settrace(self.enter)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Any:
        with self.tracing():
            result = yield
        self.imported = self.hit
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        start = time.monotonic()
        with self.tracing():
            result = yield
        self.tests[item.nodeid] = time.monotonic() - start, self.hit, list(getattr(item, "fixturenames", []))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        before, self.hit = self.hit, set()
        try:
            return (yield)
        finally:
            self.fixtures.setdefault(fixturedef.argname, set()).update(self.hit)
            self.hit = before | self.hit

    def seen(self) -> dict[str, Any]:
        """Seconds and lines of each test."""
        result = {}
        for test, (seconds, hit, fixtures) in self.tests.items():
            lines: dict[str, list[int]] = {}
            for file, line in hit.union(self.imported, *(self.fixtures.get(name, set()) for name in fixtures)):
                lines.setdefault(file.removeprefix(self.package), []).append(line)
            result[test] = [seconds, lines]
        return result


class Choose:
    """A plugin of pytest: these tests, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.places = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.places), key=lambda item: self.places[item.nodeid])


def run_tests(folder: Path, tests: list[str], out: Path, look: bool, compiled: bool) -> None:
    """Run tests, or look at all tests of a file, in a forked process, with the copy's package; its exit code is that of pytest."""
    quiet = os.open(out.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder / "src")
    sys.path.insert(0, str(folder / "src"))
    sys.dont_write_bytecode = not look  # a mistake of the same length within a second would be taken for the module without it
    if compiled:  # what is compiled around the mistake must neither be old nor be kept
        numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=out.parent)
    else:
        keep_compiled()
    plugin = Look(folder / "src" / "tellapart") if look else Choose(tests)
    if look:
        compile_unseen()
    # some plugins that come of themselves take longer to import than most tests to run
    quick = [
        "-x",
        "-q",
        "-o",
        "addopts=",
        "-m",
        "not slow",
        "--disable-plugin-autoload",
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
    ]
    code = pytest.main([*quick, f"--rootdir={folder}", *sorted({test.split("::")[0] for test in tests})], plugins=[plugin])
    if isinstance(plugin, Look):
        out.write_text(json.dumps(plugin.seen()))
    os._exit(int(code))


def compile_unseen() -> None:
    """Compilers take many times as long if each of their steps is looked at."""
    from numba.core.dispatcher import Dispatcher

    plain = Dispatcher.compile

    def compile(self: Any, signature: Any) -> Any:
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return plain(self, signature)
        finally:
            sys.settrace(tracer)

    Dispatcher.compile = compile


def keep_compiled() -> None:
    """Compiled loops carry a fingerprint of all modules in `models`; a mistake in what is not compiled would have all compiled anew."""
    try:
        from tellapart.models import compiled
    except Exception:  # a mistake that shows at once: the tests are to say so
        return
    plain = compiled._package

    @functools.wraps(plain.__wrapped__)
    def same() -> str:
        return "what is compiled has no mistake"

    compiled._package = same  # type: ignore[assignment]


def tried(folder: Path, tests: list[str], out: Path, limit: float, look: bool = False, compiled: bool = False) -> tuple[str, float]:
    """What the tests say: "passed", "failed" or "did not end"; and after how many seconds."""
    start = time.monotonic()
    process = multiprocessing.get_context("fork").Process(target=run_tests, args=(folder, tests, out, look, compiled))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
        return "did not end", time.monotonic() - start
    return ("passed" if process.exitcode in (0, 5) else "failed"), time.monotonic() - start


class Tests:
    """The tests of a copy: which of them run a line, and how long each takes.

    Arguments:
        kept: A file that keeps what was seen, for the next time; test files are looked at again if they or the module have changed.
    """

    def __init__(self, folder: Path, kept: Path | None, limit: float) -> None:
        self.folder, self.kept, self.limit = folder, kept, limit
        self.modules = [str(file.relative_to(folder)) for file in sorted((folder / "src" / "tellapart").rglob("*.py"))]
        self.stored: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept and kept.exists() else {}

    def of(self, file: str, module: str) -> dict[str, Seen]:
        """The tests of a file that is to notice mistakes in a module; none if they fail without any mistake."""
        now = {place: self._fingerprint(place) for place in (file, f"src/tellapart/{module}")}
        if any(self.stored.get(file, {}).get("sources", {}).get(place) != value for place, value in now.items()):
            self.stored[file] = {"tests": self._look(file), "sources": {place: self._fingerprint(place) for place in [file, *self.modules]}}
            if self.kept:
                self.kept.write_text(json.dumps(self.stored))
        return {test: Seen(*seen) for test, seen in self.stored[file]["tests"].items()}

    def _fingerprint(self, place: str) -> str:
        return hashlib.sha256((self.folder / place).read_bytes()).hexdigest()

    def _look(self, file: str) -> dict[str, Any]:
        out = self.folder.parent / "seen.json"
        said, seconds = tried(self.folder, [file], out, 10 * self.limit, look=True)
        if said != "passed":
            print(f"{file} {said} without any mistake:\n{out.with_suffix('.log').read_text()[-2000:]}", flush=True)
            return {}
        seen: dict[str, Any] = json.loads(out.read_text())
        print(f"{file}: {len(seen)} tests, {seconds:.0f} s while looking at them", flush=True)
        return seen

    def noticing(self, mutant: Mutant) -> tuple[list[str], float, bool]:
        """The tests that run a mistake, quickest first, as many as fit into the limit; their seconds; is it compiled?"""
        lines, compiled = lines_around(PACKAGE / mutant.path, mutant.line)
        seen = {test: s for file in files_for(mutant.path, self.folder) for test, s in self.of(file, mutant.path).items()}
        if compiled:
            tests = {test: s.seconds for test, s in seen.items() if s.lines.get(mutant.path)} or {
                test: s.seconds for test, s in seen.items()
            }
        else:
            tests = {test: s.seconds for test, s in seen.items() if not {*lines}.isdisjoint(s.lines.get(mutant.path, []))}
        order = sorted(tests, key=lambda test: tests[test])
        total = [seconds for seconds in itertools.accumulate(tests[test] for test in order) if seconds <= self.limit]
        return order[: len(total)], total[-1] if total else 0.0, compiled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, help="folders or modules of the package")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="of all mistakes, so many drawn at random; 0 for all")
    parser.add_argument("--each", type=int, default=0, metavar="N", help="of the mistakes in each part, so many drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=KINDS, help="one kind of mistake")
    parser.add_argument("--limit", type=float, default=120.0, help="a mistake is not noticed if tests of so many seconds do not")
    parser.add_argument("--seen", type=Path, metavar="FILE", help="keep in this file which lines the tests run, for the next time")
    parser.add_argument("--list", action="store_true", help="list the mistakes and stop")
    options = parser.parse_args()
    mutants = list[Mutant]()
    for part in options.parts:
        files = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).glob("*.py"))
        mutants += drawn([m for file in files for m in mutants_of(file) if options.only in (None, m.kind)], options.each, options.seed)
    mutants = drawn(mutants, options.sample, options.seed)
    if options.list:
        print(*mutants, sep="\n")
        return
    for heavy in ("scipy.stats", "scipy.optimize", "pandas", "torch", "zuko", "pydantic", "hypothesis"):
        __import__(heavy)
    with tempfile.TemporaryDirectory() as temporary:
        report(Path(temporary), mutants, options.limit, options.seen)


def drawn(mutants: list[Mutant], n: int, seed: int) -> list[Mutant]:
    """`n` of them at random, in their order; all if `n` is 0."""
    if not 0 < n < len(mutants):
        return mutants
    return [mutants[i] for i in sorted(random.Random(seed).sample(range(len(mutants)), n))]


def report(temporary: Path, mutants: list[Mutant], limit: float, kept: Path | None) -> None:
    """Try all mistakes in a copy; print what becomes of each, and how many were noticed."""
    folder, out = temporary / "copy", temporary / "mutant.json"
    for part in ("src", "tests", "benchmarks", "examples", "docs"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "run"))
    for file in ("pyproject.toml", "README.md", "mkdocs.yml", "CHANGELOG.md"):
        shutil.copy(ROOT / file, folder / file)
    tests, survivors = Tests(folder, kept, limit), list[Mutant]()
    for mutant in mutants:
        asked, usual, compiled = tests.noticing(mutant)
        target = folder / "src" / "tellapart" / mutant.path
        before, when = target.read_text(), target.stat().st_mtime_ns
        target.write_text(mutated(PACKAGE / mutant.path, mutant.number))
        said, seconds = tried(folder, asked, out, 3 * usual + 60 + 300 * compiled, compiled=compiled) if asked else ("passed", 0.0)
        target.write_text(before)
        os.utime(target, ns=(when, when))
        survivors += [mutant] if said == "passed" else []
        word = "SURVIVED" if said == "passed" else "no end  " if said == "did not end" else "noticed "
        print(f"  {word} {seconds:5.0f} s, {len(asked):3} tests  {mutant}", flush=True)
    for part in sorted({part_of(mutant) for mutant in mutants}):
        count, missed = (sum(part_of(mutant) == part for mutant in of) for of in (mutants, survivors))
        print(f"{part}: {count - missed} of {count} noticed")
    killed = len(mutants) - len(survivors)
    print(
        f"{killed} of {len(mutants)} mistakes noticed ({100 * killed / max(len(mutants), 1):.0f} %). Not noticed:", *survivors, sep="\n  "
    )


def part_of(mutant: Mutant) -> str:
    return mutant.path.split("/")[0]


if __name__ == "__main__":
    say(__doc__)
    main()
