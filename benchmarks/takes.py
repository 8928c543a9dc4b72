"""How long benchmarks take: `python benchmarks/takes.py` lists them, and each says it when it starts.

A benchmark's docstring has a paragraph that begins with "Takes": about how long, on two cores that have nothing else to do.
"""

from __future__ import annotations

import ast
from pathlib import Path


def say(docstring: str | None) -> None:
    """Print how long a benchmark takes, before anything else."""
    print(time_of(docstring or ""), flush=True)


def time_of(docstring: str) -> str:
    """The paragraph that begins with "Takes", in one line."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in docstring.split("\n\n")]
    return next(paragraph for paragraph in paragraphs if paragraph.startswith("Takes "))


def main() -> None:
    """One line for each benchmark: its name, and how long it takes."""
    print("Choose one: make bench NAME=engine (with ARGS='…' if you like), or all of them one after the other: make bench ALL=1\n")
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name != Path(__file__).name:
            docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            what = " ".join(docstring.split("\n\n")[0].split())
            print(f"{path.stem:<16} {what}\n{'':<16} {time_of(docstring)}")


if __name__ == "__main__":
    main()
