"""Runs the notebooks and writes what they show into them: `make notebooks`, or `python notebooks/make.py [NAME …]`.

Cells are run in order, in one namespace, in this process: no kernel is needed. What a cell prints and the value of its last line are
kept, the value as a notebook would show it. A cell that fails stops everything.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def run(notebook: dict[str, Any], name: str) -> None:
    """Run all code cells of a notebook, and put what they show into it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = run_cell("".join(cell["source"]), names, f"{name}, cell {number}")
        cell["execution_count"], cell["outputs"] = number, outputs(printed.getvalue(), value, number)


def run_cell(source: str, names: dict[str, Any], place: str) -> Any:
    """Run a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)  # our own text, run as a reader would
    return None if last is None else eval(compile(ast.Expression(last.value), place, "eval"), names)


def outputs(printed: str, value: Any, number: int) -> list[dict[str, Any]]:
    """What a cell shows, as notebooks keep it."""
    kept: list[dict[str, Any]] = []
    if printed:
        kept.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        kept.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return kept


def main(wanted: list[str]) -> None:
    for path in sorted(HERE.glob("*.ipynb")):
        if wanted and path.stem not in wanted:
            continue
        started, notebook = time.process_time(), json.loads(path.read_text("utf-8"))
        run(notebook, path.name)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
        print(f"{path.name}: {time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main(sys.argv[1:])
