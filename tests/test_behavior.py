"""Behavior: shapes, masks, and the long table there and back."""

from dataclasses import dataclass

import numpy as np
import pytest

from tellapart import Behavior, DataError, DesignSpace, Field, Task, Variable, understand

N, B, T = 4, 2, 5


@dataclass(frozen=True)
class Timed(Task):
    """A choice, a reward and a time."""

    blocks: int = B
    trials: int = T
    fields = (Field("choice", "categorical", 3), Field("reward", "binary", by="task"), Field("time", "positive"))
    design_space = DesignSpace(B, [Variable("p")])
    baseline = None


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def make(rng, mask=None, participants=None):
    fields = {
        "choice": rng.integers(0, 3, (N, B, T)).astype(np.int16),
        "reward": rng.integers(0, 2, (N, B, T)).astype(np.int8),
        "time": rng.exponential(size=(N, B, T)),
    }
    return Behavior(fields, mask, participants)


def assert_same(first, second):
    np.testing.assert_array_equal(first.mask, second.mask)
    assert [str(label) for label in first.participants] == [str(label) for label in second.participants]
    assert list(first.fields) == list(second.fields)
    for name in first.fields:
        assert first.fields[name].dtype == second.fields[name].dtype
        np.testing.assert_array_equal(first.fields[name], second.fields[name])


def read(table):
    return understand(table, Timed()).behavior


def test_table_and_back(rng):
    behavior = make(rng)
    assert_same(read(behavior.to_table()), behavior)


def test_table_and_back_with_missed_trials_and_labels(rng, tmp_path):
    mask = rng.random((N, B, T)) < 0.7
    mask[2, 1] = False  # a block that was never begun
    behavior = make(rng, mask, np.array(["ann", "ben", "cem", "dot"]))
    table = behavior.to_table()
    assert table["choice"].isna().sum() == (~mask).sum()
    assert_same(read(table), behavior)
    table.to_csv(tmp_path / "data.csv", index=False)
    assert_same(read([tmp_path / "data.csv"]), behavior)


def test_absent_rows_are_missed_trials(rng):
    behavior = make(rng)
    table = behavior.to_table()
    kept = read(table[(table["trial"] < 3) | (table["block"] == 0)])
    assert kept.mask.sum() == N * (T + 3)
    assert not kept.mask[:, 1, 3:].any()


def test_order_of_rows_and_other_columns_do_not_matter(rng):
    behavior = make(rng)
    table = behavior.to_table({"model": ["a", "b", "a", "b"], "age": np.arange(N)})
    assert list(table.columns) == ["participant", "model", "block", "trial", "choice", "reward", "time", "age"]
    shuffled = read(table.sample(frac=1, random_state=1))
    order = np.argsort(shuffled.participants)
    assert_same(shuffled[order], behavior)


def test_masked_trials_hold_zero(rng):
    mask = rng.random((N, B, T)) < 0.5
    behavior = make(rng, mask)
    assert all((values[~mask] == 0).all() for values in behavior.fields.values())


def test_some_participants_and_a_shorter_experiment(rng):
    behavior = make(rng)
    assert_same(Behavior.concatenate([behavior[:1], behavior[[1, 2]], behavior[np.arange(N) == 3]]), behavior)
    assert behavior[2].shape == (1, B, T)
    shorter = behavior.first(blocks=1, trials=2)
    assert shorter.shape == (N, 1, 2)
    np.testing.assert_array_equal(shorter.fields["choice"], behavior.fields["choice"][:, :1, :2])


@pytest.mark.parametrize(
    "make_wrong",
    [
        lambda: Behavior({"choice": np.zeros((2, 3))}),
        lambda: Behavior({}),
        lambda: Behavior({"choice": np.zeros((2, 3, 4)), "reward": np.zeros((2, 3, 5))}),
        lambda: Behavior({"choice": np.zeros((2, 3, 4))}, np.ones((2, 3), bool)),
        lambda: Behavior({"choice": np.zeros((2, 3, 4))}, None, np.arange(3)),
    ],
)
def test_arrays_that_do_not_fit_together(make_wrong):
    with pytest.raises(DataError):
        make_wrong()


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        (Field("f", "categorical", 3), [0, 2], [-1, 3, 0.5, np.nan, np.inf]),
        (Field("f", "binary"), [0, 1], [2, -1, 0.5, np.nan]),
        (Field("f", "count"), [0, 7, 2**31 - 1], [-1, 0.5, 2**31, np.inf, np.nan]),
        (Field("f", "real"), [-1.5, 0], [np.inf, np.nan]),
        (Field("f", "positive"), [0.1, 9], [0, -1, np.inf, np.nan]),
    ],
    ids=lambda value: value.kind if isinstance(value, Field) else "",
)
def test_values_that_a_field_allows(field, right, wrong):
    assert field.allows(np.array(right)).all()
    assert not field.allows(np.array(wrong)).any()


def test_who_gives_a_field_and_what_its_categories_are_called():
    field = Field("choice", "categorical", labels=["left", "right"])
    assert (field.levels, field.labels, field.by) == (2, ("left", "right"), "participant")
    assert Field("won", "binary", by="task", labels=("no", "yes")).levels == 2
    assert Field("won", "binary", by="task").by == "task"


@pytest.mark.parametrize(
    "make_wrong",
    [
        lambda: Field("choice", "categorical", 3, labels=("left", "right")),
        lambda: Field("won", "binary", labels=("no", "maybe", "yes")),
        lambda: Field("time", "real", labels=("fast", "slow")),
    ],
)
def test_labels_are_for_categories(make_wrong):
    with pytest.raises(DataError, match="a label for each category"):
        make_wrong()
