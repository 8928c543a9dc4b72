"""What is wrong with a table, all of it at once, and what must be asked because two readings are possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

from ..errors import DataError


@dataclass(frozen=True)
class Problem:
    """Something to mend.

    Arguments:
        what: One sentence.
        fix: The usual way out.
        where: Rows and columns, people or files.
    """

    what: str
    fix: str
    where: str = ""

    def __str__(self) -> str:
        return "\n     ".join(filter(None, (self.what, self.where and f"where: {self.where}", f"fix:   {self.fix}")))


@dataclass(frozen=True)
class Question:
    """Something that only the user knows.

    Arguments:
        ask: The question.
        answers: A reading in words, and the option of the command line that chooses it.
    """

    ask: str
    answers: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "\n     ".join([self.ask, *(f"{reading}: {option}" for reading, option in self.answers)])


class TableError(DataError):
    """A table that cannot be read as it is; `problems` and `questions` say why."""

    problems: tuple[Problem, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass
class Findings:
    """What turns up while a table is read: problems, questions, and what was understood."""

    problems: list[Problem] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    lines: list[tuple[str, str, str]] = field(default_factory=list)

    def mend(self, what: str, fix: str, where: str = "") -> None:
        self.problems.append(Problem(what, fix, where))

    def ask(self, question: str, *answers: tuple[str, str]) -> None:
        self.questions.append(Question(question, answers))

    def understood(self, what: str, column: str, reading: str) -> None:
        self.lines.append((what, column, reading))

    @property
    def clear(self) -> bool:
        return not self.problems and not self.questions

    def stop_if_unclear(self, source: str) -> None:
        """Raise a `TableError` with all problems and questions, if there is one."""
        if self.clear:
            return
        counted = [
            f"{len(part)} {name}{'s' * (len(part) > 1)}"
            for part, name in ((self.problems, "problem"), (self.questions, "question"))
            if part
        ]
        numbered = [f"  {number}. {item}" for number, item in enumerate([*self.problems, *self.questions], 1)]
        head = f"The table cannot be read as it is: {', '.join(counted)}."
        error = TableError("\n".join([head, *numbered]), where=source)
        error.problems, error.questions = tuple(self.problems), tuple(self.questions)
        raise error


def some(items: Sequence[object], most: int = 5) -> str:
    """The first few of a list, in words."""
    listed = ", ".join(str(item) for item in items[:most])
    return listed + (f", … ({len(items)} in all)" if len(items) > most else "")
