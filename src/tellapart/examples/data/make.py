"""Makes the example data: simulated people of the study "bandit" (three arms, two blocks of 30 trials), in three forms that people have.

bandit-hbayesdm.txt   tabs; subjID block trial choice outcome; choices 1 to 3, outcomes -1 and 1; 24 people in two groups
bandit-jspsych.json   one list of screens for each of 6 people: instructions, practice, choices, feedback; some responses too late
bandit-people         one file for each of 6 people, headers with spaces, sides as words

python make.py        writes them beside this file; the same bytes each time
"""

import json
from pathlib import Path

import numpy as np

import tellapart as ta

HERE = Path(__file__).parent
TASK = ta.BernoulliBandit(arms=3, blocks=2, trials=30)
DESIGN = np.array([[0.2, 0.5, 0.8], [0.3, 0.6, 0.4]])


def simulate(model, n, seed):
    """What `n` people of a model did: choices and rewards, (n, 2, 30) each."""
    simulated = ta.simulate_models(TASK, [model], DESIGN, n, np.random.default_rng(seed))
    return simulated.behavior.fields["choice"], simulated.behavior.fields["reward"]


def hbayesdm():
    lines = ["subjID\tgroup\tblock\ttrial\tchoice\toutcome"]
    for group, first, (model, n) in (("young", 1, (ta.AEG(), 12)), ("old", 13, (ta.GLS(), 12))):
        choice, reward = simulate(model, n, seed=first)
        for i, b, t in np.ndindex(choice.shape):
            lines.append(f"{first + i:03d}\t{group}\t{b + 1}\t{t + 1}\t{choice[i, b, t] + 1}\t{2 * reward[i, b, t] - 1}")
    (HERE / "bandit-hbayesdm.txt").write_text("\n".join(lines) + "\n", "utf-8")


def jspsych():
    choice, reward = simulate(ta.WSLTS(), 6, seed=3)
    rng, people = np.random.default_rng(4), []
    for i in range(6):
        screens = [{"trial_type": "instructions", "rt": 8000}]
        screens += [{"trial_type": "html-button-response", "phase": "practice", "response": 0, "rt": 900, "reward": 1}]
        for b, t in np.ndindex(choice.shape[1:]):
            late = bool(rng.random() < 0.03)
            answer = {"response": None if late else int(choice[i, b, t]), "rt": None if late else int(rng.integers(300, 1500))}
            won = 0 if late else int(reward[i, b, t])
            screens.append({"trial_type": "html-button-response", "phase": "test", "block": b, **answer, "reward": won})
        people.append([{"PROLIFIC_PID": f"5f{i:04d}", "trial_index": j, **screen} for j, screen in enumerate(screens)])
    (HERE / "bandit-jspsych.json").write_text(json.dumps(people, indent=0, separators=(",", ":")) + "\n", "utf-8")


def one_file_each():
    choice, reward = simulate(ta.AEG(), 6, seed=5)
    (HERE / "bandit-people").mkdir(exist_ok=True)
    for i in range(6):
        lines = ["block, trial number, side choice, observed reward"]
        lines += [
            f"{b + 1}, {t + 1}, {('left', 'middle', 'right')[choice[i, b, t]]}, {reward[i, b, t]}" for b, t in np.ndindex(choice.shape[1:])
        ]
        (HERE / "bandit-people" / f"subject {i + 1:02d}.csv").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    hbayesdm()
    jspsych()
    one_file_each()
