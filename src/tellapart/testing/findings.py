"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Literal

from ..errors import ModelError, TellapartError
from ..models.failures import line_of, words

TYPICAL_SEARCH = 1_500_000
"""Participants that the search simulates if nothing is set: more where designs or parameters are many."""
PATIENCE = 1800.0
"""Seconds of simulation beyond which a budget of simulations is suggested."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Arguments:
        severity: "error": results would be wrong; "warning": look whether it is meant.
        what: One sentence.
        fix: The usual way out.
        where: The line of code, if one is known.
        got: What was found.
        expected: What should have been found, if that can be said.
    """

    severity: Literal["error", "warning"]
    what: str
    fix: str | None = None
    where: str | None = None
    got: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        parts = ("where", self.where), ("expected", self.expected), ("got", self.got), ("fix", self.fix)
        return "\n".join([f"{self.severity}: {self.what}", *(f"  {label + ':':<10}{text}" for label, text in parts if text)])


@dataclass(frozen=True)
class Checked:
    """What a check found.

    Arguments:
        name: The model or task.
        findings: Errors first.
        speed: Participants simulated a second, for a model that can be simulated.
        how: "compiled" or "not compiled", for an agent.
    """

    name: str
    findings: tuple[Finding, ...]
    speed: float | None = None
    how: str = ""

    @property
    def sound(self) -> bool:
        """Is there no error?"""
        return not any(finding.severity == "error" for finding in self.findings)

    def raise_errors(self) -> None:
        """Raise a `ModelError` that lists all errors, if there are any."""
        errors = [str(finding) for finding in self.findings if finding.severity == "error"]
        if errors:
            raise ModelError(f"'{self.name}' is not sound.\n" + "\n".join(errors))

    @property
    def quick(self) -> bool:
        """Does it simulate fast enough for a search with the default settings?"""
        return self.speed is not None and PATIENCE * self.speed > TYPICAL_SEARCH

    def speed_in_words(self, simulations: int = 0) -> str:
        """What the speed means for a search, with a budget of so many simulations if it is not 0."""
        if not self.speed:
            return ""
        told = f"{f'{self.how}, ' if self.how else ''}{_round(self.speed)} participants a second"
        if self.quick:
            return told
        if simulations:
            most = duration(simulations / self.speed)
            return f"{told}; the simulations = {simulations} of [search] take {most} at most, and more workers divide it"
        told += f"; a search with the default settings simulates for about {duration(TYPICAL_SEARCH / self.speed)}"
        budget = max(10_000, int(round(self.speed * PATIENCE / 2, -3)))
        return f"{told}. For {duration(budget / self.speed)} of simulation set simulations = {budget} in [search]; more workers divide it"


class Findings:
    """Collects what checks find.

    Arguments:
        name: The model or task that is checked.
    """

    def __init__(self, name: str) -> None:
        self.name, self._all = name, list[Finding]()

    def error(self, what: str, fix: str | None = None, **more: str | None) -> None:
        self._all.append(Finding("error", what, fix, **more))

    def warning(self, what: str, fix: str | None = None, **more: str | None) -> None:
        self._all.append(Finding("warning", what, fix, **more))

    def run(self, *stages: Iterable[Callable[[], Any]]) -> None:
        """Run the checks of each stage, if there was no error before it; one that raises is an error, with the line that it is about."""
        for stage in stages:
            for check in stage if self.sound else ():
                try:
                    check()
                except TellapartError as error:
                    got = None if error.got is None else str(error.got)
                    self.error(error.what, error.fix, where=error.where, got=got, expected=error.expected)
                except Exception as error:
                    self.error(f"'{self.name}' failed.", "mend that line", where=line_of(error), got=words(error))

    @property
    def sound(self) -> bool:
        """Is there no error so far?"""
        return self.checked(raise_errors=False).sound

    def checked(self, raise_errors: bool, speed: float | None = None, how: str = "") -> Checked:
        """All findings, errors first; or, if wanted, a `ModelError` that lists the errors."""
        checked = Checked(self.name, tuple(sorted(self._all, key=lambda finding: finding.severity)), speed, how)
        if raise_errors:
            checked.raise_errors()
        return checked


def _round(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def duration(seconds: float) -> str:
    """A time in words: "5 minutes"."""
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1.0, seconds):.0f} seconds"
