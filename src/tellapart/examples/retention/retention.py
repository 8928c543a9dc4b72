"""How memory fades: what is the chance that an item is recalled after t seconds?

    power        p(t) = a · (t + 1)^-b
    exponential  p(t) = a · exp(-b · t)

Both begin at a; the power function falls fast, then ever more slowly. The models and intervals up to 100 s are those of
Myung & Pitt (2009), Optimal experimental design for model discrimination, and Cavagnaro et al. (2010), Adaptive design optimization.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import tellapart as ta

CUSTOM = (0.5, 1, 2, 4, 7, 12, 21, 35, 59, 99)
"""Retention intervals in geometric progression, as is the custom: Rubin, Hinton & Wenzel (1999), whose first one was at once."""


@dataclass(frozen=True)
class Retention(ta.Task):
    """Items are learned and tested, `trials` items after each of `blocks` retention intervals."""

    blocks: int = 5
    trials: int = 20

    name: ClassVar[str] = "retention"

    @property
    def fields(self):
        return (ta.Field("recalled", "binary"),)

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, [ta.Variable("seconds", 0.5, 100, log=True)], ta.Symmetry(blocks=True))

    def baseline(self, n, rng):
        """Intervals from the customary series, none twice if there are enough."""
        picks = [rng.choice(CUSTOM, self.blocks, replace=self.blocks > len(CUSTOM)) for _ in range(n)]
        return np.sort(np.array(picks, float).reshape(n, self.blocks, 1), axis=1)

    @property
    def screen(self):
        """Pairs to learn, a pause filled with sums, then the test, drawn by `screen.js`; the answer is typed."""
        return ta.Screen("screen.js", answer="text", stimuli=pairs, introduction=lesson, read=was_recalled, write=typed)

    def history(self, behavior):
        """Items are independent of each other: a trial is described by whether it was recalled."""
        return behavior.fields["recalled"][..., None].astype(np.float32)


def pairs(row, trials, rng):
    """A made-up word as cue and a number to remember with it, for each item; the number stays on the server."""
    cues = {}
    while len(cues) < trials:
        word = "".join(rng.choice(list(letters)) for letters in ("bdlmnrtv", "aeiou", "bdlmnrtv", "aeiou"))
        cues[word] = int(rng.integers(10, 100))
    return [{"cue": cue, "_number": number} for cue, number in cues.items()]


def lesson(row, stimuli):
    """Shown before the test: the pairs, then a pause. They are tested in the order in which they were learned, at about the same pace."""
    return {"pairs": [[stimulus["cue"], stimulus["_number"]] for stimulus in stimuli], "seconds": float(row[0])}


def was_recalled(shown, text):
    return {"recalled": text.strip() == str(shown["_number"])}


def typed(shown, responses):
    """What a simulated participant types."""
    return str(shown["_number"]) if responses["recalled"] else ""


def model_of_recall(name, curve, priors):
    """A model whose items are recalled with probability curve(parameters, seconds), and its likelihood."""

    def chance(parameters, designs):
        """(N, blocks, 1)."""
        columns = {key: values[:, None, None] for key, values in parameters.items()}
        return np.clip(curve(columns, designs), 1e-9, 1 - 1e-9)

    def log_likelihood(parameters, behavior, designs, task):
        p = chance(parameters, designs)[:, : behavior.shape[1], 0]
        recalled, tested = (behavior.mask & (behavior.fields["recalled"] == 1)).sum(2), behavior.mask.sum(2)
        return (recalled * np.log(p) + (tested - recalled) * np.log1p(-p)).sum(1)

    def simulate(parameters, designs, rng, task):
        return {"recalled": rng.random((len(designs), task.blocks, task.trials)) < chance(parameters, designs)}

    simulate.__name__ = simulate.__qualname__ = name
    return ta.model(name=name, parameters=priors, vectorised=True, log_likelihood=log_likelihood, resets=True)(simulate)


power = model_of_recall("power", lambda p, t: p["a"] * (t + 1) ** -p["b"], {"a": ta.Beta(2, 1), "b": ta.Beta(1, 4)})
exponential = model_of_recall("exponential", lambda p, t: p["a"] * np.exp(-p["b"] * t), {"a": ta.Beta(2, 1), "b": ta.Beta(1, 80)})
