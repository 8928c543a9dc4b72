"""A module imports only from those listed before it, so that the folder list can be read from top to bottom."""

import ast
from pathlib import Path

import pytest

import tellapart

ROOT = Path(tellapart.__file__).parent

LAYERS = """
    errors display files scaffold toml threads journal parts workers progress behavior priors tasks models question bandits information
    optimizer networks estimators training search paper curve nearby posterior validation groups adaptive data report testing study folder
    result
    run server cli __main__
""".split()  # noqa: SIM905


def modules():
    """The modules of the package; the examples and agents that ship with it are written as its users write."""
    return sorted(
        path
        for path in ROOT.rglob("*.py")
        if path != ROOT / "__init__.py" and not {ROOT / "examples", ROOT / "bandits" / "agents"} & {*path.parents}
    )


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_layers(path):
    """The layers that a file imports from, wherever in the file, with the line."""
    package = ["tellapart", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            names = [[*base, *(node.module or "").split("."), alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            parts = [part for part in name if part]
            if parts[0] == "tellapart" and parts[1:] != ["__version__"]:
                yield node.lineno, parts[1] if len(parts) > 1 else "tellapart"


def test_every_module_has_a_layer():
    assert {layer_of(path) for path in modules()} <= set(LAYERS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_layers_above_it(path):
    layer = layer_of(path)
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    wrong = [f"line {line}: {imported}" for line, imported in imported_layers(path) if imported not in allowed]
    assert not wrong, f"{path.name} ('{layer}') imports from a layer below it: {wrong}"
