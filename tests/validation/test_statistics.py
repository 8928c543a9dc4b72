"""Plain statistics of behavior, against plain Python that goes through the trials one by one."""

import math
from statistics import fmean, pstdev

import numpy as np
import pytest

from tellapart import Behavior, Field
from tellapart.validation.statistics import plain_statistics

FIELDS = (Field("choice", "categorical", 3), Field("right", "binary"), Field("n", "count"), Field("x", "real"), Field("rt", "positive"))


def behavior(n, blocks, trials, missing, seed=0):
    rng, shape = np.random.default_rng(seed), (n, blocks, trials)
    mask = rng.random(shape) >= missing
    fields = {
        "choice": rng.integers(0, 3, shape),
        "right": rng.integers(0, 2, shape),
        "n": rng.integers(0, 6, shape),
        "x": rng.standard_normal(shape),
        "rt": rng.lognormal(0, 1, shape),
    }
    fields["choice"][0] = 2  # somebody who never changes
    fields["x"][0] = 0.3
    return Behavior(fields, mask)


def share(events):
    """Of events that are true, a half if there are none."""
    events = list(events)
    return (sum(events) + 0.5) / (len(events) + 1)


def runs(row, recorded):
    """Lengths of runs in a block; what was missed ends a run."""
    lengths, last = [], None
    for value, there in zip(row, recorded, strict=True):
        if there and value == last:
            lengths[-1] += 1
        elif there:
            lengths.append(1)
        last = value if there else None
    return lengths


def categorical(values, others, mask, levels):
    blocks, trials = mask.shape
    place = [(b, t) for b in range(blocks) for t in range(trials)]
    yield from (share(values[p] == level for p in place if mask[p]) for level in range(min(levels, 8)))
    for lag in (1, 2, 3):
        if lag < trials:
            yield share(values[b, t] == values[b, t - lag] for b, t in place if t >= lag and mask[b, t] and mask[b, t - lag])
    entropies = []
    for b in range(blocks):
        used = [values[b, t] for t in range(trials) if mask[b, t]]
        entropies.append(-sum(q * math.log(q) for level in range(levels) if (q := used.count(level) / max(len(used), 1)) > 0))
    yield fmean(entropies)
    by_block = [runs(values[b], mask[b]) for b in range(blocks)]
    yield fmean(max(lengths, default=0) / max(mask[b].sum(), 1) for b, lengths in enumerate(by_block))
    lengths = [length for block in by_block for length in block]
    yield pstdev(lengths) / fmean(lengths) if lengths else 0.0
    for other in others:
        for value in (0, 1):
            if trials > 1:
                pairs = [(b, t) for b, t in place if t >= 1 and mask[b, t] and mask[b, t - 1] and other[b, t - 1] == value]
                yield share(values[b, t] == values[b, t - 1] for b, t in pairs)


def numeric(values, mask):
    blocks, trials = mask.shape
    seen = [values[b, t] for b in range(blocks) for t in range(trials) if mask[b, t]]
    mean = fmean(seen) if seen else 0.0
    if blocks <= 8:
        rows = [[values[b, t] for t in range(trials) if mask[b, t]] for b in range(blocks)]
        yield from (fmean(row) if row else mean for row in rows)
    else:
        yield mean
    sd = pstdev(seen) if seen else 0.0
    yield sd
    pairs = [
        (values[b, t] - mean) * (values[b, t - 1] - mean) for b in range(blocks) for t in range(1, trials) if mask[b, t] and mask[b, t - 1]
    ]
    yield sum(pairs) / max(len(pairs), 1) / sd**2 if sd > 1e-6 else 0.0


def reference(data, fields, shown=None):
    table = []
    for i in range(len(data)):
        mask = data.mask[i]
        possible = mask.sum() if shown is None else np.broadcast_to(shown, data.mask.shape)[i].sum()
        row = [mask.sum() / max(possible, 1)]
        binary = [data.fields[f.name][i] for f in fields if f.kind == "binary"]
        for field in fields:
            values = data.fields[field.name][i]
            if field.kind == "categorical":
                row += categorical(values, binary, mask, field.levels)
            else:
                scale = {"positive": np.log, "count": np.log1p}.get(field.kind, lambda x: np.asarray(x, float))
                row += numeric(scale(np.where(mask, values, 1)), mask)
        table.append(row)
    return np.array(table, float)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.9])
@pytest.mark.parametrize(("blocks", "trials"), [(1, 1), (2, 2), (3, 7), (9, 4), (8, 5)])
def test_all_statistics(blocks, trials, missing):
    data = behavior(12, blocks, trials, missing)
    np.testing.assert_allclose(plain_statistics(data, FIELDS), reference(data, FIELDS), atol=1e-9)


def test_the_share_that_is_recorded_is_of_what_could_have_been():
    data = behavior(5, 2, 4, 0.3)
    lengths = np.arange(4) < np.array([[4], [3]])
    for shown in (np.ones((2, 4), bool), lengths, np.broadcast_to(lengths, (5, 2, 4))):
        np.testing.assert_allclose(plain_statistics(data, FIELDS, shown), reference(data, FIELDS, shown), atol=1e-9)


def test_many_categories_are_not_described_one_by_one():
    choice = np.random.default_rng(0).integers(0, 12, (4, 2, 20))
    fields = (Field("choice", "categorical", 12),)
    np.testing.assert_allclose(
        plain_statistics(Behavior({"choice": choice}), fields), reference(Behavior({"choice": choice}), fields), atol=1e-9
    )
    assert plain_statistics(Behavior({"choice": choice}), fields).shape == (4, 1 + 8 + 3 + 3)


def test_what_does_not_vary_has_no_correlation_however_large():
    """Rounding is not variation."""
    steady = Behavior({"x": np.full((1, 1, 20), 1e6) + 1e-4 * np.random.default_rng(0).standard_normal((1, 1, 20))})
    wavy = Behavior({"x": np.full((1, 1, 20), 1.0) + 1e-2 * (-1.0) ** np.arange(20)})
    field = (Field("x", "real"),)
    assert plain_statistics(steady, field)[0, -1] == 0.0
    assert plain_statistics(wavy, field)[0, -1] == pytest.approx(-1.0)
