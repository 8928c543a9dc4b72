"""Mistakes and what they are answered with: the rows of docs/reference/mistakes.md, every one of which is a test.

Each row: a few words on the mistake, how it is made, and words of the answer. `python tests/mistakes.py` prints the page.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

STUDY = """\
[study]
goal = "discriminate"
[task]
use = "bernoulli-bandit"
trials = 4
[[models]]
use = "wslts"
[[models]]
use = "aeg"
"""

TABLE = "participant,block,trial,choice,reward\n" + "".join(f"1,{b},{t},{t % 3},{t % 2}\n" for b in range(2) for t in range(4))

MODEL = """\
import numpy as np
import tellapart as ta

@ta.model(name="biased", parameters={"p": ta.Uniform(0, 1)})
def biased(parameters, design, rng, task):
    choice = rng.integers(0, 3, (task.blocks, task.trials))
    choice = np.where(rng.random(choice.shape) < parameters["p"], 0, choice)
    reward = rng.random(choice.shape) < np.take_along_axis(design, choice, 1)
    return {"choice": choice, "reward": reward}
"""

AGENT = """\
import numpy as np
import tellapart as ta

BEFORE = np.zeros(3)

@ta.agent(name="biased", parameters={"p": ta.Uniform(0, 1)})
class biased:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        return ta.softmax(self.p * state)

    def learn(self, state, choice, reward):
        state[choice] += reward
"""

DESIGN = "0,0,0.6; 1,1,0"


@dataclass(frozen=True)
class Mistake:
    """One row.

    Arguments:
        made: What was done, in words.
        replace: What is changed in the study file, from and to.
        command: What is run; STUDY and DATA stand for the files.
        table: The data table.
        model: The user's model file, if there is one; the study then uses it in place of wslts.
        answer: Words of the answer.
    """

    made: str
    answer: tuple[str, ...]
    replace: tuple[str, str] | None = None
    command: tuple[str, ...] = ("exact", "STUDY", "--design", DESIGN)
    table: str = TABLE
    model: str | None = None

    def write(self, folder: Path) -> list[str]:
        """Write the files; the arguments of the command."""
        text = STUDY
        if self.model is not None:
            text = text.replace('use = "wslts"', 'use = "models:biased"')
            (folder / "models.py").write_text(self.model)
        if self.replace is not None:
            assert self.replace[0] in text, self
            text = text.replace(*self.replace, 1)
        (folder / "study.toml").write_text(text)
        (folder / "data.csv").write_text(self.table)
        places = {"STUDY": str(folder), "DATA": str(folder / "data.csv"), "OUT": str(folder / "out.csv"), "NEW": str(folder / "new")}
        return [places.get(word, word) for word in self.command]


def in_study(made: str, old: str, new: str, *answer: str) -> Mistake:
    return Mistake(made, answer, replace=(old, new))


def in_design(made: str, design: str, *answer: str) -> Mistake:
    return Mistake(made, answer, command=("exact", "STUDY", "--design", design))


def in_data(made: str, old: str, new: str, *answer: str) -> Mistake:
    assert old in TABLE
    return Mistake(made, answer, command=("check", "STUDY", "DATA"), table=TABLE.replace(old, new, 1))


def in_model(made: str, old: str, new: str, *answer: str) -> Mistake:
    assert old in MODEL
    return Mistake(made, answer, command=("check", "STUDY"), model=MODEL.replace(old, new, 1))


def in_agent(made: str, old: str, new: str, *answer: str) -> Mistake:
    assert old in AGENT
    return Mistake(made, answer, command=("check", "STUDY"), model=AGENT.replace(old, new, 1))


MISTAKES = {
    "The study file": [
        in_study("a key is misspelt", "trials = 4", "trails = 4", "The key 'trails' is unknown.", "did you mean 'trials'?"),
        in_study("a section is misspelt", "[task]", "[taks]", "The section 'taks' is unknown.", "did you mean 'task'?"),
        in_study("a section is missing", '[task]\nuse = "bernoulli-bandit"\ntrials = 4\n', "", "The section [task] is missing."),
        in_study("a key without a section", "[study]\n", "", "The section 'goal' is unknown."),
        in_study(
            "a number in quotes", "trials = 4", 'trials = "4"', "The value of 'trials' is of the wrong type or size.", "a whole number"
        ),
        in_study("half a trial", "trials = 4", "trials = 4.5", "'trials'", "a whole number"),
        in_study("no trial", "trials = 4", "trials = 0", "The 'trials' of a bandit must be a whole number.", "1 or more"),
        in_study("one arm", "trials = 4", "arms = 1", "The 'arms' of a bandit must be a whole number.", "2 or more"),
        in_study("not TOML", "trials = 4", "trials = ", "The study file is not valid TOML."),
        in_study(
            "a goal that is none", '"discriminate"', '"discriminat"', "The choice of 'goal' is unknown.", "did you mean 'discriminate'?"
        ),
        in_study("two models to estimate", '"discriminate"', '"estimate"', "The goal 'estimate' is about the parameters of one model."),
        in_study(
            "the prior of a parameter among those of models",
            'use = "aeg"\n',
            'use = "aeg"\nprior.phi = "beta(1, 9)"\n',
            "The value of 'prior' is of the wrong type or size.",
            "written with an s: priors.phi",
        ),
        in_study(
            "one model to tell apart",
            '[[models]]\nuse = "wslts"\n',
            "",
            "The goal 'discriminate' tells models apart.",
            "two models or more",
        ),
        in_study("the same model twice", '"wslts"', '"aeg"', "Two models of the study have the same name."),
        in_study("an unknown model", '"wslts"', '"wstls"', "The model 'wstls' is unknown.", "did you mean 'wslts'?"),
        in_study(
            "an unknown option of a model",
            'use = "aeg"',
            'use = "aeg"\nconvetion = "paper"',
            "The key 'convetion' is unknown.",
            "'convention'",
        ),
        in_study(
            "an option that other models have",
            '"aeg"',
            '"q-learning"\nnoise = 0.2',
            "The key 'noise' is unknown.",
            "choose one of: first_value",
        ),
        in_study(
            "a Kalman filter without noise",
            '"aeg"',
            '"kalman-ucb"\nnoise = 0',
            "The 'noise' of a Kalman filter must be a number above 0.",
            "line 10, [[models]]",
        ),
        in_study("a favourite that is no arm", '"aeg"', '"biased-random"\nfavourite = 3', "'favourite'", "must be one of the arms"),
        in_study("an unknown task", '"bernoulli-bandit"', '"bandits"', "The task 'bandits' is unknown.", "bernoulli-bandit"),
        in_study("a negative seed", 'goal = "discriminate"', "seed = -1", "'seed'", "greater than or equal to 0"),
        in_study(
            "an unknown search",
            "[task]",
            '[search]\nmethod = "bayes"\n[task]',
            "The search 'bayes' is unknown.",
            "did you mean 'bayesopt'?",
        ),
        in_study(
            "an unknown setting of the search",
            "[task]",
            "[search]\nstep = 10\n[task]",
            "The key 'step' is unknown.",
            "did you mean 'steps'?",
        ),
        in_study(
            "an unknown encoder",
            "[task]",
            '[search]\nencoder = "histroy"\n[task]',
            "The encoder 'histroy' is unknown.",
            "did you mean 'history'?",
        ),
        in_study(
            "a budget of 100 simulations", "[task]", "[search]\nsimulations = 100\n[task]", "The 'simulations' of the search are too few."
        ),
        in_study(
            "an unknown way with failures",
            "[task]",
            '[simulation]\non_error = "ignore"\n[task]',
            "'on_error' is unknown.",
            '"stop" or "skip"',
        ),
        in_study(
            "a prior for one model only",
            'use = "wslts"',
            'use = "wslts"\nprior = 0.5',
            "The prior over models is impossible.",
            "give all models a prior, or none",
        ),
        in_study(
            "an impossible model", 'use = "wslts"', 'use = "wslts"\nprior = 0', "The prior over models is impossible.", "numbers above 0"
        ),
        in_study(
            "a question about parameters that the goal does not ask",
            'goal = "discriminate"',
            'goal = "discriminate"\nabout = ["aeg.phi"]',
            "The goal 'discriminate' is not about parameters.",
            "'estimate' or 'both'",
        ),
        in_study(
            "a question about an unknown parameter",
            'goal = "discriminate"',
            'goal = "both"\nabout = ["aeg.fi"]',
            "There is no parameter 'aeg.fi'.",
            "did you mean 'aeg.phi'?",
        ),
        in_study("a model file that is not there", '"wslts"', '"models:biased"', "There is no file 'models.py' beside the study."),
        Mistake("no study", ("There is no study here.", "check the path"), command=("exact", "NEW", "--design", DESIGN)),
        Mistake("data in the place of the study", ("is not valid TOML.", "give the study first"), command=("check", "DATA", "STUDY")),
    ],
    "A design": [
        in_design("a probability of 1.5", "0,0,1.5; 1,1,0", "The design has a value outside its range.", "block 0, arm 2", "from 0 to 1"),
        in_design("a value missing", "0,0; 1,1", "The design has the wrong number of values in a block.", "3 values"),
        in_design("a block missing", "0,0,0.6", "The design has the wrong number of blocks.", "2 blocks"),
        in_design("blocks of different lengths", "0,0,0.6; 1,1", "The blocks of the design have different numbers of values."),
        in_design("words", "low,0,0.5; 1,1,0", "The design is not made of numbers.", '"0.5,0.5,0.5; 0.5,0.5,0.5"'),
        Mistake("no design", ("There is no design.", "--design or --baseline"), command=("exact", "STUDY")),
    ],
    "A data table": [
        in_data("a column is missing", "choice,", "", "more or fewer values than the header has columns", "No column is named like choice"),
        in_data("a column that says nothing", "reward\n", "x7\n", "No column is named like reward", "--columns reward=NAME"),
        in_data("an arm that is not there", "1,0,3,0,1", "1,0,3,3,1", "3 (1 time), and the task has 3 categories.", "--missing 3"),
        in_data("a word for a number", "1,0,3,0,1", "1,0,3,0,win", "'reward' holds both numbers and words", "win (1 time)"),
        in_data("half a reward", "1,0,3,0,1", "1,0,3,0,0.5", "'reward' are not two numbers.", "reward is 0 or 1"),
        in_data("a word for a trial", "1,0,3,0,1", "1,0,last,0,1", "The column 'trial' is no count of trials.", "row 5: last"),
        in_data("a block too many", "1,0,3,0,1", "1,2,3,0,1", "has 3 blocks, and the task 2."),
        in_data("a row twice", "1,0,3,0,1\n", "1,0,3,0,1\n1,0,3,0,1\n", "about a trial that another row is about too.", "row 5 and row 6"),
        Mistake(
            "decimal commas between commas",
            ("have more or fewer values than the header has columns", "save the table with semicolons or tabs"),
            command=("check", "STUDY", "DATA"),
            table=TABLE.replace("\n", ",0\n").replace(",0\n", "\n", 1),
        ),
        Mistake(
            "a column for nothing",
            ("Nothing that is looked for is named 'chioce'.", "choose one of: participant, block, trial, group, choice, reward"),
            command=("check", "STUDY", "DATA", "--columns", "chioce=choice"),
        ),
        Mistake("no rows", ("There is no row in",), command=("check", "STUDY", "DATA"), table="participant,block,trial,choice,reward\n"),
        Mistake("an empty file", ("There is nothing in the data table.",), command=("check", "STUDY", "DATA"), table=""),
    ],
    "A model of your own": [
        in_model("it does not load", "import numpy as np", "import numpi as np", "Loading 'models.py' failed.", "models.py, line 1"),
        in_model("the name is another", "def biased(", "def biassed(", "There is no 'biased' in 'models.py'.", "did you mean 'biassed'?"),
        in_model(
            "it raises", 'parameters["p"]', 'parameters["q"]', "failed in a simulation.", "models.py, line 7", "KeyError: 'q'", "seed"
        ),
        in_model(
            "NaN",
            '"choice": choice,',
            '"choice": np.nan * choice,',
            "gave a 'choice' that cannot be recorded",
        ),
        in_model("an arm too far", "rng.integers(0, 3,", "1 + rng.integers(0, 3,", "failed in a simulation."),
        in_model("a field is missing", ', "reward": reward}', "}", "must return the fields of the task.", "choice, reward"),
        in_model("the wrong shape", "(task.blocks, task.trials)", "(task.blocks, task.trials + 1)", "of the wrong shape."),
        in_model(
            "random numbers of its own",
            "choice = rng",
            "rng = np.random.default_rng()\n    choice = rng",
            "different data for the same seed.",
        ),
        in_model(
            "always the same random numbers",
            "choice = rng",
            "rng = np.random.default_rng(0)\n    choice = rng",
            "same data for different seeds.",
        ),
        in_model(
            "rewards of the neighbouring arm",
            "np.take_along_axis(design, choice, 1)",
            "np.take_along_axis(design, (choice + 1) % 3, 1)",
            "do not follow the rules of the task.",
            "let the task draw outcomes",
        ),
        in_model(
            "rewards turned around",
            "rng.random(choice.shape) < np.take",
            "rng.random(choice.shape) > np.take",
            "do not follow the rules of the task.",
            "let the task draw outcomes",
        ),
        in_model("a parameter without a prior", "ta.Uniform(0, 1)", "0.5", "must be names with priors."),
        in_model(
            "an impossible prior", "ta.Uniform(0, 1)", "ta.Uniform(1, 0)", "The prior 'uniform' has impossible settings.", "low < high"
        ),
        in_model(
            "a function without a decorator",
            '@ta.model(name="biased", parameters={"p": ta.Uniform(0, 1)})\n',
            "",
            "'biased' is not a model.",
        ),
    ],
    "An agent of your own": [
        in_agent(
            "probabilities that do not sum to 1",
            "return ta.softmax(self.p * state)",
            "return 1.01 * ta.softmax(self.p * state)",
            "does not give probabilities.",
            "models.py, line 12",
            "that sum to 1",
        ),
        in_agent(
            "it chooses and does not say what",
            "return ta.softmax(self.p * state)",
            "ta.softmax(self.p * state)",
            "does not give probabilities.",
            "models.py, line 11",
            "nothing",
            "let its last line return them",
        ),
        in_agent(
            "a state that participants share",
            "np.zeros(arms)",
            "BEFORE",
            "share one state",
            "models.py, line 8",
            "for example np.zeros(arms)",
        ),
        in_agent(
            "it chooses by what is not known yet",
            "def choose(self, state)",
            "def choose(self, state, reward)",
            "asks for 'reward', which a participant does not know at that time.",
            "models.py, line 11",
            "keep in the state what 'choose' needs of earlier trials",
        ),
        in_agent(
            "it learns what nobody sees",
            "learn(self, state, choice, reward)",
            "learn(self, state, choice, design)",
            "asks for 'design', which a participant does not know at that time.",
            "models.py, line 14",
        ),
        in_agent("a function is misspelt", "def learn(", "def lern(", "'lern', which nothing calls.", "did you mean 'learn'?"),
        in_agent(
            "it draws in secret",
            "def choose(self, state)",
            "def choose(self, state, stream)",
            "draws something that nobody sees.",
            "latent=True",
        ),
    ],
    "A command": [
        Mistake(
            "no such model",
            ("The study has no model 'agg'.", "did you mean 'aeg'?"),
            command=("simulate", "STUDY", "--design", DESIGN, "--n", "5", "--model", "agg", "--out", "OUT"),
        ),
        Mistake(
            "no participants",
            ("'--n'", "greater than or equal to 1"),
            command=("simulate", "STUDY", "--design", DESIGN, "--n", "0", "--out", "OUT"),
        ),
        Mistake(
            "a folder that is not there",
            ("The output cannot be written.",),
            command=("simulate", "STUDY", "--design", DESIGN, "--n", "5", "--out", "/no/such/folder/data.csv"),
        ),
        Mistake(
            "a simulation without a design",
            ("This study has no design yet.", "or give one with --design"),
            command=("simulate", "STUDY", "--n", "5", "--out", "OUT"),
        ),
        Mistake(
            "a posterior before a design",
            ("This study has no design yet.", "tellapart design"),
            command=("posterior", "STUDY", "DATA", "--out", "OUT"),
        ),
        Mistake(
            "an unknown example", ("There is no example 'bandid'.", "did you mean 'bandit'?"), command=("new", "NEW", "--example", "bandid")
        ),
        Mistake("a new study where there is one", ("This place is taken.",), command=("new", "STUDY")),
        Mistake(
            "workers and a cluster",
            ("A Dask cluster brings its own workers.",),
            command=("evaluate", "STUDY", "--design", DESIGN, "--workers", "2", "--dask", "local:2"),
        ),
        Mistake(
            "half a cluster",
            ("The number of local Dask workers must be a whole number.", '"local:2"'),
            command=("evaluate", "STUDY", "--design", DESIGN, "--dask", "local:0.5"),
        ),
    ],
}


def answer_of(mistake: Mistake) -> tuple[int, str]:
    """Exit code and what is printed, on one line."""
    from typer.testing import CliRunner

    from tellapart.cli import app

    with tempfile.TemporaryDirectory() as name:
        outcome = CliRunner().invoke(app, mistake.write(Path(name)))
        text = outcome.stderr.replace(name, "my-study")
    return outcome.exit_code, text


def page() -> str:
    """The text of docs/reference/mistakes.md."""
    lines = [HEAD]
    for heading, rows in MISTAKES.items():
        lines += [f"## {heading}", "", "| mistake | answer |", "|---|---|"]
        lines += [f"| {row.made} | {' … '.join(f'`{words}`' for words in row.answer)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


HEAD = """\
# Mistakes and their answers

Here you find what each mistake is answered with, and so what a message means.

A mistake is answered with one message and exit code 2, never with a traceback. The message says what is wrong, where, what was expected,
what was found, and the usual fix; below are its telling words. Every row is a test.
"""


if __name__ == "__main__":
    sys.stdout.write(page())
