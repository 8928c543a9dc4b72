"""Design spaces of every kind of variable, with constraints."""

import numpy as np
import pytest

from tellapart import Constraint, DesignSpace, Symmetry, Variable, fixed_total, increasing

DELAY = Variable("delay", 1, 365, log=True)
COUNT = Variable("trials", 0, 20, kind="integer")
FRAME = Variable("frame", categories=("gain", "loss", "mixed"))
ITEMS = Variable("items", 1, 1000, kind="integer", log=True)
STRENGTH = Variable("strength", -1, 1)

SPACES = {
    "kinds": DesignSpace(2, [DELAY, COUNT, FRAME, ITEMS]),
    "increasing": DesignSpace(4, [DELAY, STRENGTH], constraints=[increasing([DELAY, STRENGTH], "delay", 4, gap=30)]),
    "real total": DesignSpace(3, [STRENGTH], Symmetry(blocks=True), [fixed_total([STRENGTH], "strength", 3, 1.5)]),
    "whole total": DesignSpace(4, [STRENGTH, COUNT], Symmetry(blocks=True), [fixed_total([STRENGTH, COUNT], "trials", 4, 30)]),
    "own rule": DesignSpace(
        2, [Variable("small"), Variable("large")], constraints=[Constraint("small is at most large", lambda d: np.sort(d, axis=-1))]
    ),
    "arms": DesignSpace(2, [Variable(f"arm {k}") for k in range(3)], Symmetry(columns=True, blocks=True)),
}
each_space = pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
