"""How the values of a field are written: counted from 0 or 1, ±1, true and false, words for arms, floats; and what that means.

A coding maps each text to a number that the field can take. It is found from all texts of a column together. Where two codings are
possible it is asked; where none is, the texts that do not fit are named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import AbstractSet as Set
from typing import Mapping, Sequence

from ..behavior import Field
from ..errors import counted
from .problems import Findings, some
from .raw import bare, endings, number, plain, same

Says = frozenset[int | None]
"""What rows say that categories count from: {0} or {1}, with None if some of them do not say it."""

NO_YES = (
    ("false", "true"), ("no", "yes"), ("loss", "win"), ("lose", "win"), ("lost", "won"), ("unrewarded", "rewarded"), ("noreward", "reward"),
    ("incorrect", "correct"), ("wrong", "right"), ("miss", "hit"), ("missed", "hit"), ("error", "correct"), ("f", "t"), ("n", "y"),
)  # fmt: skip
"""Words for 0 and 1 of a binary field."""

IN_ORDER = (
    ("left", "middle", "right"), ("left", "center", "right"), ("left", "centre", "right"), ("left", "right"), ("top", "bottom"),
    ("arrowleft", "arrowdown", "arrowright"), ("arrowleft", "arrowup", "arrowright"), ("arrowleft", "arrowright"), ("first", "second"),
    ("first", "second", "third"), ("f", "j"), ("d", "k"), ("z", "m"), ("a", "l"), ("s", "l"), ("lower", "upper"),
    ("left", "down", "right"), ("left", "up", "right"), ("one", "two"), ("one", "two", "three"), ("one", "two", "three", "four"),
)  # fmt: skip
"""Words for the categories of a field whose order is the same by all accounts."""


@dataclass(frozen=True)
class Coding:
    """Text to number, and the same in words."""

    numbers: Mapping[str, float]
    words: str

    @classmethod
    def of(cls, numbers: Mapping[str, float], note: str) -> Coding:
        shown = [f"{text} → {value:g}" for text, value in sorted(numbers.items(), key=lambda pair: pair[1])]
        return cls(numbers, f"{note}: {some(shown, 6)}" if numbers and len(numbers) <= 12 else note)


def find_coding(
    field: Field, column: str, texts: Sequence[str], given: tuple[str, ...] | None, first: Says, findings: Findings
) -> Coding | None:
    """The coding of a field, or None; then a problem or a question has been found.

    Arguments:
        texts: All that are not missing.
        given: The texts for 0, 1, 2, … if the user said so; or ("ms",).
        first: What the table itself says that categories count from, in the rows of these texts.
    """
    counts = Counter(texts)
    if field.kind in ("categorical", "binary"):
        return _given(field, column, counts, given, first, findings) if given else _categories(field, column, counts, first, findings)
    return _numbers(field, column, counts, given, findings)


def _given(field: Field, column: str, counts: Counter[str], given: tuple[str, ...], first: Says, findings: Findings) -> Coding | None:
    """The coding that the user gave."""
    wanted = {same(text): float(i) for i, text in enumerate(given)}
    other = [f"{text} ({counted(counts[text], 'time')})" for text in counts if same(text) not in wanted]
    levels = 2 if field.kind == "binary" else field.levels or 1
    if len(wanted) < len(given):
        findings.mend(
            f"Two of the codes given for {field.name} are the same.", "let them differ by more than case and brackets", some(given)
        )
        return None
    if len(given) > levels or other:
        what = f"The codes given for {field.name} do not fit the column '{column}'."
        where = f"{len(given)} codes for {levels} categories" if len(given) > levels else f"also in the column: {some(other)}"
        findings.mend(
            what, f"--codes {field.name}=" + ",".join(f"TEXT{i}" for i in range(levels)) + "; --missing TEXT for a missed trial", where
        )
        return None
    coding = Coding.of({text: wanted[same(text)] for text in counts}, "as you said")
    said = next((start for start in first if start is not None), None)
    numbers = {text: value for text in counts if (value := number(text)) is not None and field.kind == "categorical"}
    if said is not None and any(coding.numbers[text] != value - said for text, value in numbers.items()):
        fix = "leave out the codes, also those of [data], if tellapart wrote this table; else delete that column"
        findings.mend(f"The codes given for {field.name} are not those of the table: its column 'counts_from' says {said}.", fix)
        return None
    return coding


def words_of(field: Field, texts: Set[str], given: tuple[str, ...] | None) -> Set[str]:
    """Texts of a column that are values of a field though they would stand for nothing elsewhere, as "miss" does beside "hit"."""
    words = {same(word) for word in given or field.labels} - {""}
    if field.kind == "binary" and not given:
        words |= {no for no, yes in NO_YES if yes in {bare(text) for text in texts}}
    return {text for text in texts if same(text) in words}


def _categories(field: Field, column: str, counts: Counter[str], first: Says, findings: Findings) -> Coding | None:
    values = {text: number(text) for text in counts}
    if not counts:
        return Coding({}, "empty")
    if all(value is not None for value in values.values()):
        return _numbered(field, column, {text: value for text, value in values.items() if value is not None}, counts, first, findings)
    if any(value is not None for value in values.values()):
        few = [f"{text} ({counted(counts[text], 'time')})" for text, value in values.items() if value is None]
        fix = f"--missing TEXT for texts that stand for a missed trial, or --codes {field.name}=…"
        findings.mend(f"The column '{column}' holds both numbers and words for {field.name}.", fix, f"words: {some(few)}")
        return None
    return _worded(field, column, counts, first, findings)


def _numbered(
    field: Field, column: str, values: Mapping[str, float], counts: Counter[str], first: Says, findings: Findings
) -> Coding | None:
    """A coding of texts that are all numbers."""
    levels = 2 if field.kind == "binary" else field.levels or 1
    found = sorted(set(values.values()))
    from_0 = all(value in range(levels) for value in found)
    from_1 = all(value - 1 in range(levels) for value in found)
    if field.kind == "binary":
        return _binary(field, column, values, counts, findings)
    for said, fits, other in ((0, from_0, from_1), (1, from_1, from_0)):
        if said in first and other and not fits:
            where = f"it holds {some([f'{v:g}' for v in found])}, and the column 'counts_from' says {said}"
            fix = "mend that column, or import tables that count in different ways one by one"
            findings.mend(f"The values of '{column}' do not count from {said}.", fix, where)
            return None
    if from_0 and (first == {0} or not from_1):
        return Coding.of(values, "counted from 0")
    if from_1 and (first == {1} or not from_0):
        return Coding.of({text: value - 1 for text, value in values.items()}, "counted from 1")
    if from_0 and from_1:
        answers = [(f"from {start}", f"--codes {field.name}=" + ",".join(str(start + i) for i in range(levels))) for start in (0, 1)]
        findings.ask(f"Do the values of '{column}' ({some([f'{v:g}' for v in found])}) count from 0 or from 1?", *answers)
        return None
    if levels == 2 and found == [-1.0, 1.0]:
        return Coding.of({text: float(value > 0) for text, value in values.items()}, "-1 and 1")
    _odd_numbers(field, column, found, counts, values, levels, findings)
    return None


def _odd_numbers(
    field: Field, column: str, found: list[float], counts: Counter[str], values: Mapping[str, float], levels: int, findings: Findings
) -> None:
    """Numbers that are no customary coding: one too many may be a missed trial; as many as categories may be any coding."""
    listed = some([f"{text} ({counted(counts[text], 'time')})" for text in sorted(counts, key=lambda text: values[text])], 8)
    for start in (0, 1):
        rest = [value for value in found if value - start not in range(levels)]
        if len(rest) == 1 and rest[0] == int(rest[0]):
            odd = next(text for text, value in values.items() if value == rest[0])
            findings.ask(
                f"The column '{column}' holds {listed}, and the task has {levels} categories. Does {odd} stand for a missed trial?",
                ("yes", f"--missing {odd}"),
                ("no, it is a category", f"mend the task, which has {levels} categories"),
            )
            return
    if len(found) == levels and all(value == int(value) for value in found):
        codes = ",".join(f"{value:g}" for value in found)
        findings.ask(f"Which number of '{column}' ({listed}) is which category?", ("in ascending order", f"--codes {field.name}={codes}"))
        return
    findings.mend(
        f"The values of '{column}' are no {levels} categories.",
        f"--codes {field.name}=TEXT0,TEXT1,…, or mend the table",
        f"it holds {listed}",
    )


def _binary(field: Field, column: str, values: Mapping[str, float], counts: Counter[str], findings: Findings) -> Coding | None:
    """0 and 1 from numbers."""
    found = sorted(set(values.values()))
    if set(found) <= {0.0, 1.0}:
        return Coding.of(values, "0 and 1")
    if set(found) <= {-1.0, 1.0}:
        return Coding.of({text: float(value > 0) for text, value in values.items()}, "-1 and 1")
    if len(found) == 2 and (found[0] == 0 or found[0] == -found[1]):
        return Coding.of({text: float(value == found[1]) for text, value in values.items()}, "the larger number is 1")
    listed = some([f"{text} ({counted(counts[text], 'time')})" for text in sorted(counts, key=lambda text: values[text])], 8)
    if len(found) == 2:
        texts = [f"{value:g}" for value in found]
        answers = [(f"{a} is 0, {b} is 1", f"--codes {field.name}={a},{b}") for a, b in (texts, texts[::-1])]
        findings.ask(f"Which number of '{column}' ({listed}) is which for {field.name}?", *answers)
    elif set(found) == {-1.0, 0.0, 1.0}:
        ask = f"The column '{column}' holds {listed}. What does 0 stand for?"
        findings.ask(ask, ("a missed trial", "--missing 0"), ("neither", f"mend the table: {field.name} is 0 or 1"))
    else:
        findings.mend(
            f"The values of '{column}' are not two numbers.", f"{field.name} is 0 or 1; mend the table or the task", f"it holds {listed}"
        )
    return None


def _worded(field: Field, column: str, counts: Counter[str], first: Says, findings: Findings) -> Coding | None:
    """A coding of texts that are all words."""
    word_of = {text: bare(text) for text in counts}
    words, levels = set(word_of.values()), 2 if field.kind == "binary" else field.levels or 1
    labels = tuple(bare(label) for label in field.labels)
    orders: list[tuple[str, ...]] = [labels] if labels else []
    orders += (
        [pair for pair in NO_YES if levels == 2] + [order for order in IN_ORDER if len(order) == levels] + [tuple("abcdefgh"[:levels])]
    )
    for order in orders:
        for form in (str, plain):  # "<" and ">", or words in other letters, have no plain form
            named, seen = [form(word) for word in order], {form(word) for word in words}
            if len(set(named)) == len(named) and len(seen) == len(words) and seen <= set(named):
                return Coding.of({text: float(named.index(form(word))) for text, word in word_of.items()}, "by its words")
    if numbers := endings(words):
        return _numbered(field, column, {text: numbers[word] for text, word in word_of.items()}, counts, first, findings)
    listed = some([f"{text} ({counted(counts[text], 'time')})" for text in counts], 8)
    if len(words) <= levels:
        order = tuple(sorted(words))
        codes = ",".join([*order, *(f"TEXT{i}" for i in range(len(order), levels))])
        findings.ask(
            f"Which word of '{column}' ({listed}) is which of the {levels} categories of {field.name}?",
            ("for example", f"--codes {field.name}={codes}"),
        )
    else:
        fix = f"--rows COLUMN=TEXT for the rows that are trials, --missing TEXT for missed ones, or --codes {field.name}=…"
        findings.mend(f"The column '{column}' holds {len(words)} different words for the {levels} categories of {field.name}.", fix, listed)
    return None


def _numbers(field: Field, column: str, counts: Counter[str], given: tuple[str, ...] | None, findings: Findings) -> Coding | None:
    """Numbers as they are; times may be in milliseconds."""
    values = {text: number(text) for text in counts}
    words = [f"{text} ({counted(counts[text], 'time')})" for text, value in values.items() if value is None]
    if words:
        findings.mend(
            f"The column '{column}' holds texts that are no numbers.", "mend them, or --missing TEXT if they are missed trials", some(words)
        )
        return None
    known = {text: value for text, value in values.items() if value is not None}
    wrong = [text for text, value in known.items() if not field.allows(value)]  # type: ignore[arg-type]
    if wrong:
        fix = f"{field.name} is {field.allowed}; mend them, or --missing TEXT if they are missed trials"
        findings.mend(
            f"The column '{column}' holds values that {field.name} cannot take.",
            fix,
            some([f"{t} ({counted(counts[t], 'time')})" for t in wrong]),
        )
        return None
    ordered = sorted(value for text, value in known.items() for _ in range(counts[text]))
    if field.kind == "positive" and given and given[0] in ("ms", "milliseconds"):
        return Coding({text: value / 1000 for text, value in known.items()}, "milliseconds, divided by 1,000")
    if field.kind == "positive" and not given and ordered and ordered[len(ordered) // 2] > 30:
        answers = (("milliseconds", f"--codes {field.name}=ms"), ("in the unit of the task", f"--codes {field.name}=as-is"))
        findings.ask(
            f"The middle of '{column}' is {ordered[len(ordered) // 2]:g}. Are these milliseconds, where the task counts seconds?", *answers
        )
        return None
    return Coding(known, "numbers")
