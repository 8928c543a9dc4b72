"""A task that needs nothing compiled, so that a server of it starts quickly: bet on one of two coins.

As a program: `coins.py DATABASE` forks a server for each port that it reads, and prints its process number.
"""

import os
import signal
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import tellapart as ta
from tellapart.server.app import create_app
from tellapart.server.database import Database
from tellapart.server.plan import make_plan
from tellapart.server.serving import listening, server_of


class Toss(ta.Environment):
    def draw(self, responses):
        chance = self.designs[np.arange(len(self.designs)), self.block, responses["coin"]]
        return {"heads": (self.rng.random(len(chance)) < chance).astype(np.int8)}


@dataclass(frozen=True)
class Coins(ta.Task):
    blocks: int = 2
    trials: int = 5

    name: ClassVar[str] = "coins"
    rules: ClassVar[type[ta.Environment]] = Toss
    design_acts_through_data: ClassVar[bool] = True

    @property
    def fields(self):
        return ta.Field("coin", "categorical", 2), ta.Field("heads", "binary", by="task")

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, (ta.Variable("first"), ta.Variable("second")), ta.Symmetry(columns=True, blocks=True))

    def baseline(self, n, rng):
        return rng.random((n, self.blocks, 2))


def bet(name):
    @ta.model(name=name, parameters={"bias": ta.Uniform(0, 1)}, vectorised=True)
    def simulate(parameters, designs, rng, task):
        return task.nothing(len(designs))

    return simulate()


def plan():
    return make_plan(ta.Study(Coins(), [bet("one"), bet("two")], name="coins"), [[[0.2, 0.7], [0.5, 0.1]]])


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who was killed is gone at once
    bets = plan()
    for line in sys.stdin:
        number = os.fork()
        if not number:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server_of(create_app(bets, Database(sys.argv[1]), "the-token")).run([listening("127.0.0.1", int(line))])
            os._exit(0)
        print(number, flush=True)
