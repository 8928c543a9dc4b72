"""How often do checks call a sound model unsound, and how sure are they of a faulty one?

    python benchmarks/checks.py [runs]

For each sound model: the share of `check_model` runs with a suspicion at the first look, per statistic, against what is promised,
2 exp(-8) = 0.00067, and the runs with an alarm. Both looks are independent, so that the chance of an alarm is the product of
the shares. For each faulty model: the shares of runs that found it, at as many participants a second as quick and as slow models make.

Takes about an hour with 200 runs, a second or two for each run of a model.
"""

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np

import tellapart as ta
from tellapart.models import chance, symmetry
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings
from tellapart.testing import check_model, models

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from takes import say
from test_testing import Gains, Recorded, chaser, learner, model_of, side_bias

BANDIT = ta.BernoulliBandit(3, 2, 10)
SOUND = [
    *((model, BANDIT) for model in (ta.WSLTS(), ta.AEG(), ta.AEG("released"), ta.GLS(), ta.GLS("released"), learner())),
    (HiddenNumber(), NoisyReadings(3, 2)),
    (chaser(), Gains()),
]
FAULTY = {name: (learner(name), BANDIT) for name in ("neighbour", "inverted", "previous", "twice")}
FAULTY |= {"twice, AEG": (Recorded(), BANDIT), "side bias": (model_of(side_bias), BANDIT)}


class Looks:
    """Counts the statistics of first looks and those beyond the limit."""

    def __init__(self):
        self.statistics = self.suspected = 0

    def __call__(self, sample, n):
        def counted(again, count):
            found = sample(again, count)
            if again == 0:
                self.statistics += len(found)
                self.suspected += sum(abs(z) > chance.FIRST for z in found.values())
            return found

        return chance.beyond_chance(counted, n)


def main(runs):
    print(f"{'sound model':<16} {'statistics':>10} {'suspected':>10} {'promised':>9} {'alarms':>7} of {runs} runs")
    for model, task in SOUND:
        looks = Looks()
        with patch.object(models, "beyond_chance", looks), patch.object(symmetry, "beyond_chance", looks):
            alarms = sum(bool(check_model(model, task, seed=seed, raise_errors=False).findings) for seed in range(1000, 1000 + runs))
        share = looks.suspected / looks.statistics
        print(f"{model.name:<16} {looks.statistics // runs:>10} {share:>10.6f} {2 * np.exp(-8):>9.6f} {alarms:>7}", flush=True)
    print(f"\n{'faulty model':<16} {'share found, by most participants of a look':>44}")
    for name, (model, task) in FAULTY.items():
        shares = []
        for most in (2000, 400, 100):
            with patch.object(models, "MOST", most):
                found = [bool(check_model(model, task, seed=seed, raise_errors=False).findings) for seed in range(max(5, runs // 10))]
            shares.append(f"{most}: {np.mean(found):.2f}")
        print(f"{name:<16} {', '.join(shares):>44}", flush=True)


if __name__ == "__main__":
    say(__doc__)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
