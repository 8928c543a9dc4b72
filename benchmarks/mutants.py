"""Would the tests notice a mistake? Small mistakes are made on purpose, one at a time, and the tests that should notice are run.

A mistake (mutant) is a comparison turned round, a sum made a difference, a number one too large, a square root or an axis lost, `not`
dropped, a condition negated, a statement left out. It is killed if a test fails, or if the tests no longer end. What survives is
listed, and has to be killed by a test or explained in docs/explanation/mutants.md.

    python benchmarks/mutants.py information validation --sample 60 --seed 1
    python benchmarks/mutants.py information/estimate.py --only sqrt

Why not mutmut or cosmic-ray: they know nothing of square roots and axes, and cosmic-ray starts Python, torch and numba anew for each
mutant, which takes longer than most of our tests. Here one process imports what is heavy and is forked for each mutant. Work is
done in a copy.

Takes about an hour for a sample of 60, hours for all of them.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

from takes import say

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tellapart"
PARTS = ("estimators", "information", "search", "posterior.py", "validation", "priors.py", "tasks", "models")

TESTS = {
    "estimators": ("estimators", "validation/test_suite.py"),
    "information": ("exact/test_between.py", "exact/test_evidence.py"),
    "information/estimate.py": ("exact/test_estimate.py",),
    "search": ("search",),
    "search/base.py": ("search/test_baseline.py", "search/test_unseen.py", "search/test_amortized.py"),
    "search/climb.py": ("search/test_climb.py",),
    "search/surrogate.py": ("search/test_surrogate.py",),
    "posterior.py": ("test_posterior.py",),
    "validation": ("validation/test_suite.py", "validation/test_words.py"),
    "validation/trust.py": ("validation/test_trust.py",),
    "validation/statistics.py": ("validation/test_statistics.py", "validation/test_trust.py"),
    "validation/reader.py": ("validation/test_reader.py",),
    "validation/words.py": ("validation/test_words.py", "validation/test_suite.py"),
    "validation/calibration.py": ("validation/test_calibration.py",),
    "validation/rank_calibration.py": ("validation/test_calibration.py",),
    "validation/model_calibration.py": ("validation/test_calibration.py",),
    "priors.py": ("test_priors.py",),
    "tasks": ("tasks",),
    "models": ("models", "exact", "test_skipping.py"),
    "models/evidence.py": ("exact/test_evidence.py", "exact/test_posteriors.py"),
    "models/streams.py": ("bandits/test_simulators.py",),
    "models/symmetry.py": ("test_testing.py",),
}
"""The tests that are to notice mistakes in a module: the longest entry that it begins with counts."""

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
    name = str(path.relative_to(PACKAGE))
    return [Mutant(name, i, *what[:3]) for i, what in enumerate(changes(ast.parse(path.read_text())))]


def mutated(path: Path, number: int) -> str:
    """A module with its `number`-th mistake."""
    tree = ast.parse(path.read_text())
    made = list(changes(tree))[number]
    made[3]()
    for node in ast.walk(tree):  # `not` that was dropped
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.UnaryOp) and isinstance(value.op, _Yes):
                setattr(node, name, ast.Call(ast.Name("bool", ast.Load()), [value.operand], []))
    return source_of(tree)


def tests_for(name: str, folder: Path) -> list[str]:
    """The test files that are to notice mistakes in a module."""
    entry = max((key for key in TESTS if name.startswith(key)), key=len)
    return [str(folder / "tests" / test) for test in TESTS[entry] if (folder / "tests" / test).exists()]


class Order:
    """A plugin of pytest: tests that enter the module first, then the quick ones; notes both when it is told to look."""

    def __init__(self, module: Path, known: dict[str, list[Any]] | None = None) -> None:
        self.module, self.known, self.seen = str(module), known, dict[str, list[Any]]()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.known:
            known = self.known
            items.sort(key=lambda item: known.get(item.nodeid, [True, 0.0]))

    def pytest_runtest_setup(self, item: Any) -> None:
        if self.known is None:
            self.seen[item.nodeid] = [True, time.monotonic()]

            def enter(frame: Any, event: str, arg: Any) -> None:
                if frame.f_code.co_filename == self.module:
                    self.seen[item.nodeid][0] = False

            sys.settrace(enter)

    def pytest_runtest_teardown(self, item: Any) -> None:
        if self.known is None:
            sys.settrace(None)
            self.seen[item.nodeid][1] = time.monotonic() - self.seen[item.nodeid][1]


def run_tests(folder: Path, name: str, tests: list[str], known: dict[str, list[Any]] | None, out: Path) -> None:
    """Run tests in a forked process, with the copy's package; its exit code is that of pytest."""
    import pytest

    quiet = os.open(out.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder / "src"))
    order = Order(folder / "src" / "tellapart" / name, known)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # some of them take longer to import than most tests to run
    quick = ["-x", "-q", "-o", "addopts=", "--import-mode=importlib", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    code = pytest.main([*quick, *tests], plugins=[order])
    if known is None:
        out.write_text(json.dumps(order.seen))
    os._exit(int(code))


def tried(folder: Path, name: str, known: dict[str, list[Any]] | None, limit: float, out: Path) -> tuple[str, float]:
    """What the tests say: "passed", "failed" or "did not end"; and after how many seconds."""
    start = time.monotonic()
    process = multiprocessing.get_context("fork").Process(target=run_tests, args=(folder, name, tests_for(name, folder), known, out))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
        return "did not end", time.monotonic() - start
    return ("passed" if process.exitcode == 0 else "failed"), time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, help="folders or modules of the package")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="of all mistakes, so many drawn at random; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=KINDS, help="one kind of mistake")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for the tests of a mistake")
    parser.add_argument("--list", action="store_true", help="list the mistakes and stop")
    options = parser.parse_args()
    files = [
        file for part in options.parts for file in ([PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).glob("*.py")))
    ]
    mutants = [m for file in files for m in mutants_of(file) if options.only in (None, m.kind)]
    if options.sample and options.sample < len(mutants):
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample), key=lambda m: (m.path, m.number))
    if options.list:
        print(*mutants, sep="\n")
        return
    for heavy in ("numpy", "scipy.stats", "scipy.optimize", "pandas", "torch", "zuko", "numba", "pydantic", "pytest", "hypothesis"):
        __import__(heavy)
    with tempfile.TemporaryDirectory() as temporary:
        report(Path(temporary), mutants, options.limit)


def report(temporary: Path, mutants: list[Mutant], limit: float) -> None:
    """Try all mistakes in a copy; print what becomes of each, and how many were noticed."""
    folder = temporary / "copy"
    for part in ("src", "tests", "benchmarks", "examples", "docs"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "run"))
    for file in ("pyproject.toml", "README.md", "mkdocs.yml", "CHANGELOG.md"):
        shutil.copy(ROOT / file, folder / file)
    survivors, done, known, of = list[Mutant](), 0, dict[str, list[Any]](), ""
    for mutant in mutants:
        out = temporary / "seen.json"
        if mutant.path != of:
            said, seconds = tried(folder, mutant.path, None, limit, out)
            if said != "passed":
                print(f"The tests of {mutant.path} {said} without any mistake:\n{out.with_suffix('.log').read_text()[-2000:]}")
                continue
            known, of = json.loads(out.read_text()), mutant.path
            print(f"{mutant.path}: {len(known)} tests, {seconds:.0f} s", flush=True)
        target = folder / "src" / "tellapart" / mutant.path
        before = target.read_text()
        target.write_text(mutated(PACKAGE / mutant.path, mutant.number))
        said, seconds = tried(folder, mutant.path, known, limit, out)
        target.write_text(before)
        done += 1
        survivors += [mutant] if said == "passed" else []
        print(f"  {'SURVIVED' if said == 'passed' else 'killed  '} {seconds:5.0f} s  {mutant}", flush=True)
    killed = done - len(survivors)
    print(f"{killed} of {done} mistakes noticed ({100 * killed / max(done, 1):.0f} %). Not noticed:", *survivors, sep="\n  ")


if __name__ == "__main__":
    say(__doc__)
    main()
