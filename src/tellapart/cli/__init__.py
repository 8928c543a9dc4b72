"""The command line: parse, call, print.

Results go to stdout, in words or with `--json` as JSON; progress and messages go to stderr. Exit code 0: done; 2: a mistake
of the user's, with one message and no traceback; 1: a fault of ours. Everything heavy is imported inside the commands,
so that help comes at once. Commands are listed by help in the order in which they are imported here.
"""

from __future__ import annotations

import sys

# isort: off
from .frame import app
from . import studies, designs, results, adapting, analysis, power, serve, doctor

# isort: on

__all__ = ["adapting", "analysis", "app", "designs", "doctor", "main", "power", "results", "serve", "studies"]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
