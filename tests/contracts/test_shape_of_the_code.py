"""A class is abstract or final, and random numbers are arguments, never a hash of data."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import tellapart

ROOT = Path(tellapart.__file__).parent
NAMES = [
    found.name
    for found in pkgutil.walk_packages(tellapart.__path__, "tellapart.")
    if not found.name.startswith("tellapart.examples") and not found.name.endswith("__main__")
]
FILES = [path for path in sorted(ROOT.rglob("*.py")) if ROOT / "examples" not in path.parents]


def classes():
    """Every class that the package defines."""
    modules = [importlib.import_module(name) for name in NAMES]
    return {kind for module in modules for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__}


def may_have_subclasses(kind):
    """Abstract classes, protocols, and what languages and libraries make to be derived from: exceptions and sections of a study file."""
    unfinished = inspect.isabstract(kind) or getattr(kind, "_is_protocol", False) or inspect.getattr_static(kind, "model_config", None)
    return bool(unfinished) or issubclass(kind, Exception)


def test_a_class_is_abstract_or_final():
    shipped = classes()
    derived = {base for kind in shipped for base in kind.__bases__ if base in shipped}
    assert {f"{kind.__module__}.{kind.__name__}" for kind in derived if not may_have_subclasses(kind)} == set()


def calls(node):
    """The names of all that is called inside a node."""
    functions = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return {function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "") for function in functions}


HASHES = {"hash", "sha256", "sha1", "md5", "blake2b", "blake2s", "crc32", "adler32", "hexdigest", "digest", "from_bytes"}
SEEDS = {"default_rng", "manual_seed", "SeedSequence", "PCG64", "Philox", "RandomState", "seed"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_seed_is_a_hash_of_data(path):
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    assert [node.lineno for node in functions if calls(node) & HASHES and calls(node) & SEEDS] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_generator_begins_where_the_clock_is(path):
    """Every generator is given a seed, and NumPy's global one is not used."""
    tree = ast.parse(path.read_text())
    bare = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args and not node.keywords]
    unseeded = [node.lineno for node in bare if getattr(node.func, "attr", "") in ("default_rng", "SeedSequence")]
    made_global = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "random"
        and getattr(node.value.value, "id", "") == "np"
        and node.attr not in ("default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "BitGenerator")
    ]
    assert unseeded + made_global == []
