"""The search for the best row, where what rows tell is known."""

import numpy as np
from test_candidates import candidates

import tellapart as ta
from tellapart.adaptive.gain import Gains
from tellapart.adaptive.looking import Effort, chosen_row

SPACE = ta.DesignSpace(24, [ta.Variable("one", 0, 1), ta.Variable("other", 0, 1), ta.Variable("third", 0, 1)])


class Ridge:
    """Rows tell something where two of their values are nearly the same, and most where those are 0.8 and the third is 0."""

    def __init__(self, some):
        self.some = some

    @staticmethod
    def told(rows):
        one, other, third = np.moveaxis(rows, -1, 0)
        return np.exp(-0.5 * ((one - other) / 0.01) ** 2) * (1.0 - (one - 0.8) ** 2 - 0.3 * third)

    def everywhere(self):
        rows = self.some.everywhere(384, np.random.default_rng(1))
        return rows, self.told(rows)

    def gains(self, rows, last):
        return Gains((self.told(rows)[:, None],), (np.ones(1),))


def test_the_best_of_a_narrow_ridge_is_found():
    """Of people who are sure of most answers few rows tell anything, and those that do lie beside each other; within 1 % on average."""
    some = candidates(SPACE, [])
    found = [chosen_row(Ridge(some), some, np.full(3, 0.5), Effort(), np.random.default_rng(seed)) for seed in range(12)]
    assert 1.0 - Ridge.told(np.array(found)).mean() < 0.01


def test_it_is_looked_around_what_was_run_last():
    """A ridge that a look everywhere has missed goes through the row that was run before."""
    some = candidates(SPACE, [[0.2, 0.2, 0.0]])

    class Missed(Ridge):
        def everywhere(self):
            return np.array([[0.9, 0.1, 0.5]] * 12), np.zeros(12)

    found = chosen_row(Missed(some), some, np.array([0.5, 0.9, 0.5]), Effort(), np.random.default_rng(0))
    assert Ridge.told(found[None])[0] > 0.6
