"""What to cite: parts of a search (`Search.sources`, …) and the checks name their sources by the keys of `sources.bib`, or as BibTeX."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable

PAPER = "valentin2021bayesian"

CHECKS = ("talts2018validating", "modrak2023simulation", "sailynoja2022graphical")
"""Of the calibration of parameters."""

_ENTRIES = Path(__file__).with_name("sources.bib").read_text("utf-8").strip().split("\n\n")
SOURCES = {re.findall(r"{(\w+),", entry)[0]: entry for entry in _ENTRIES}
"""The key of each entry of `sources.bib`, and the entry."""


def citations(sources: Iterable[str]) -> str:
    """The BibTeX of sources, each once, in the order given, the paper first. What is no key of `sources.bib` is BibTeX itself."""
    return "\n\n".join(SOURCES.get(source, source) for source in dict.fromkeys([PAPER, *sources]))
