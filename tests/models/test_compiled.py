"""What a compiled loop is recognised by, and why something is not compiled."""

import hashlib
from types import SimpleNamespace
from typing import NamedTuple

import numba as nb
import numpy as np
import pytest

from tellapart.models import compiled
from tellapart.models.compiled import _add, _globals, _jitted, jitted, why_not

FACTOR, TABLE = 2.0, (1, 2, 3)


def digest(value):
    whole = hashlib.sha256()
    _add(whole, value, set())
    return whole.hexdigest()


def helper(x):
    return x * FACTOR


def calls(x):
    return helper(x) + TABLE[0]


def with_default(x, y=1):
    return x + y


def closed(n):
    def inner(x):
        return x + n

    return inner


def comprehension(x):
    return [helper(i) for i in range(x)]


class Pair(NamedTuple):
    a: int
    b: int


class Other(NamedTuple):
    a: int
    c: int


Other.__name__ = "Pair"


def test_what_is_the_same_has_one_fingerprint():
    long = np.arange(5000.0)
    for value in (calls, with_default, closed(1), comprehension, long, (1, (2, 3)), [1, 2], Pair, np, 1.5, "text", None, np.sin):
        assert digest(value) == digest(value)
    assert digest(closed(1)) == digest(closed(1))
    assert digest(nb.njit(helper)) == digest(helper)  # compiled by the user or not


def test_what_differs_has_another():
    changed = np.arange(5000.0)
    changed[2500] += 1e-9
    pairs = [
        (closed(1), closed(2)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x + 1, lambda x: x - 1),
        (lambda x: np.sin(x), lambda x: np.cos(x)),
        (lambda x, y=1: x + y, lambda x, y=2: x + y),
        (np.arange(5000.0), changed),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (tuple(range(5000)), (*range(4999), 7)),
        ((1, 2), [1, 2]),
        ((1, (2, 3)), (1, (2, 4))),
        (((1,), 2), (1, 2)),
        (Pair, Other),
        (1, 2),
        (np.sin, np.cos),
        (lambda x: [i for i in range(x)], lambda x: [i + 1 for i in range(x)]),  # noqa: C416
    ]
    for one, other in pairs:
        assert digest(one) != digest(other), (one, other)


@pytest.mark.parametrize(("name", "value"), [("FACTOR", 3.0), ("TABLE", (1, 2, 4)), ("helper", lambda x: x)])
def test_all_that_a_function_refers_to_counts(monkeypatch, name, value):
    before = digest(calls)
    monkeypatch.setitem(calls.__globals__, name, value)
    assert digest(calls) != before


def test_names_that_a_function_uses():
    assert set(_globals(calls)) == {"helper", "TABLE"}
    assert set(_globals(comprehension)) == {"helper"}  # inside of it too; not what the language has


def test_modules_of_users_count_by_what_is_used_of_them(monkeypatch):
    from types import ModuleType

    module = ModuleType("mine")
    module.used, module.unused = (lambda x: x + 1), 5
    function = eval("lambda x: mine.used(x)", {"mine": module})
    before = digest(function)
    module.unused = 6
    assert digest(function) == before
    module.used = lambda x: x + 2
    assert digest(function) != before
    excerpt = _globals(function)["mine"]
    assert list(excerpt.named) == ["used"]
    assert hasattr(jitted(excerpt).used, "py_func")  # compiled as any other
    assert _globals(eval("lambda x: np.sin(x)", {"np": np}))["np"] is np


def test_what_is_called_is_compiled_with_it():
    made = jitted(calls)
    assert nb.njit(lambda x: made(x))(3.0) == 7.0  # only compiled code can call it
    assert jitted(5) == 5
    recursive = eval("lambda x: x")
    recursive.__globals__["recursive"] = recursive
    assert _jitted(recursive, {id(recursive): "seen"}) == "seen"


def test_a_loop_is_named_by_all_that_it_is_made_of(monkeypatch):
    def loop(x):
        return step(x)  # noqa: F821

    names = [compiled.specialised(loop, step=step).py_func.__qualname__ for step in (helper, calls, helper)]
    assert names[0] == names[2] != names[1]
    assert names[0].startswith("loop_")
    assert len(names[0]) == len("loop_") + 20
    monkeypatch.setattr(compiled, "_package", lambda: "another version")
    assert compiled.specialised(loop, step=helper).py_func.__qualname__ != names[0]


def test_the_reason_is_told_with_the_users_line(tmp_path):
    file = tmp_path / "models.py"
    file.touch()
    inner = (
        f'Failed in nopython mode pipeline\n\x1b[1mUnknown attribute\x1b[0m\n\nFile "{file}", line 7:\ndef choose\nFile "{file}", line 9:'
    )
    assert why_not(Exception(inner)) == f"{file.resolve()}, line 7: Unknown attribute"
    clearer = f'Failed in x\nsomething\nNumbaTypeError: the reason:\n>>> what\nFile "{nb.__file__}", line 1\nFile "{file}", line 3'
    assert why_not(Exception(clearer)) == f"{file.resolve()}, line 3: NumbaTypeError: the reason: what"
    assert why_not(Exception("no line")) == "no line"
    assert why_not(Exception("")) == "Exception"
    assert why_not(Exception(f'why\nFile "{compiled.__file__}", line 3\nFile "<agent x>", line 1\nFile "/not/there.py", line 2')) == "why"


def test_old_results_are_not_used_once_a_module_has_changed(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "bandits" / "deep").mkdir(parents=True)
    monkeypatch.setattr(compiled, "Path", lambda file: SimpleNamespace(parents=[None, tmp_path]))
    seen = set()
    for place, text in (("models/a.py", "1"), ("models/a.py", "2"), ("bandits/deep/b.py", "1"), ("bandits/note.txt", "no code")):
        (tmp_path / place).write_text(text)
        seen.add(compiled._package.__wrapped__())
    assert len(seen) == 3
