"""What tellapart says when something is wrong.

Every error that a user can mend is a `TellapartError`. It says what is wrong, where, what was expected, what was found
and the usual fix, so that nobody needs a traceback to go on. The command line prints it and exits with code 2.
"""

from difflib import get_close_matches
from typing import Any, Iterable


class TellapartError(Exception):
    """A mistake that the user can mend.

    Arguments:
        what: One sentence that says what is wrong.
        where: The place: a file and key, a row and column, a block and arm.
        expected: What would have been right.
        got: What was found instead.
        fix: The usual way out.
        key: The setting that it is about, if it is about one: a study file knows its line.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        got: Any = None,
        fix: str | None = None,
        key: str | None = None,
    ) -> None:
        self.what, self.where, self.expected, self.got, self.fix, self.key = what, where, expected, got, fix, key
        details = {"where": where, "expected": expected, "got": got, "fix": fix}
        super().__init__("\n".join([what, *(f"  {label + ':':<10}{text}" for label, text in details.items() if text is not None)]))


class DesignError(TellapartError):
    """A design that the task's design space does not hold."""


class StudyError(TellapartError):
    """A study file or a `Study` that makes no sense."""


class DataError(TellapartError):
    """A data table that does not fit the task."""


class ModelError(TellapartError):
    """A model that does not do what a model must, or that is asked for what it does not have."""


class RunError(TellapartError):
    """A run folder that is missing, damaged or made for another study."""


def counted(n: int, noun: str) -> str:
    """A number of things: "1 block", "2,000 blocks"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The usual fix for a misspelt word: the closest known one, or the list of all of them."""
    known = sorted(known)
    close = get_close_matches(str(word).lower(), known, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"choose one of: {', '.join(known)}" if known else None
