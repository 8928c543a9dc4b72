"""Pages, done: what their blocks say is carried out from top to bottom in a folder of its own, and compared with what they say it prints.

A block `console` holds commands: a line each, or, where lines begin with `$ `, a command and below it what it prints. A block `python` is
run, all of a page in one place; a comment that is a value, behind an expression, is that of the expression, or the shape of an array. A
block `text` right after one of them is what it prints, of commands the last. A block `toml` that the line before it says to add to the "end
of `FILE`" is added to it. In what is printed `…` stands for anything, a line of it for any lines.

Words must be the same. Numbers are held to the noise that the tutorial states: four times what stands after ±, 4 %, 0.05 for other
decimals; whole numbers are exact, designs are any. On one kind of machine the same seed gives the same numbers, so that nothing fails by
chance; the noise is for machines that round in other ways. There a search may also end at another design, which more or fewer are as good
as: `VARIES`. Where studies were made smaller than the page says, numbers are any.
"""

import ast
import hashlib
import io
import re
import shlex
import shutil
import subprocess
import threading
import tomllib
import urllib.request
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import numpy as np
import tomlkit
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli import app

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?:end of `([^`\n]+)`[^\n]*\n\n)?^( *)```(\w*)\n(.*?)^\2```", re.DOTALL | re.MULTILINE)
NUMBER = r"[+-]?\d+(?:\.\d+)?"
ANY_NUMBER = r"[+-]?\d[\d,.]*"
ERRORS, PERCENT, DECIMAL = 4, 4, 0.05
VARIES = ("also good", "caution", "May I round?")
"""Lines that come or go with the numbers: not compared where numbers are any, nor where more or fewer of them are printed."""

SMALL = {
    "search": {
        "steps": 10,
        "batch": 32,
        "survey": 16,
        "survey_simulations": 50,
        "finalists": 2,
        "finalist_simulations": 100,
        "baselines": 2,
        "baseline_simulations": 100,
    },
    "discounting": {"blocks": 2, "trials": 2},
}
"""What is written into study files, `[search]` of all and `[task]` of some, where a page is tried with small studies."""
SMALLER = {
    "adapt": "--n 20",
    "curve": "--n 200 --points 2",
    "exact": "--n 60",
    "posterior": "--draws 40",
    "power": "--n 300",
    "serve": "--port 0",  # whatever else listens on this machine
    "validate": "--n 100 --exact 0 --reader 0",
}
"""Options that commands are given in addition, for the same reason; of an option given twice the last one counts."""
FEWER = {
    "adaptive.by_answers": {"EVERYWHERE": 24, "SOME": 24},
    "groups.evidence": {"draws_for": lambda people: 300},
    "groups.parameters": {"WORK": 40_000},
    "groups.population": {"GROUPS": (20, 40)},
    "groups.power_parameters": {"SWEEPS": 100, "BURN_IN": 20},
    "groups.power_people": {"DRAWS": 60},
    "groups.predictive": {"SIMULATED": 300},
    "report.style": {"inline": lambda figure, name, title: ""},  # tests/report looks at pictures
    "testing.likelihoods": {"PEOPLE": 150},  # few people say it too
    "testing.models": {"SECONDS": 0.03, "FEWEST": 12, "MOST": 300, "JUDGED": 150},
}
"""How much is looked at or drawn inside of commands that have no option for it."""
SHARED = ("design", "report", "validate")
"""Commands whose result is a matter of the study and the options alone."""
PEOPLE = 2
"""How many take part where a page serves an experiment."""


def blocks_of(path):
    """The blocks of a page: (kind, text, file that it is added to)."""
    return [
        (kind, re.sub(f"^{indent}", "", body, flags=re.MULTILINE), file) for file, indent, kind, body in BLOCK.findall(path.read_text())
    ]


def commands_of(body):
    """The commands of a block `console`, each with what the block says it prints, if it does."""
    if not body.startswith("$ "):
        return [(line, None) for line in body.splitlines() if line.strip()]
    parts = [part.partition("\n") for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]]
    return [(command, said or None) for command, _, said in parts]


class Reader:
    """Does what pages say.

    Arguments:
        folder: Where; the present folder while it is done.
        run: What carries a command out and gives what it prints, or None if it is not to be run.
        small: Were studies made small?
    """

    def __init__(self, folder, run, small):
        self.folder, self.run, self.small, self.names = folder, run, small, {"__name__": "page"}
        self.commands, self.compared = 0, 0

    def read(self, path):
        """Do a page from top to bottom."""
        printed = None
        for kind, body, file in blocks_of(path):
            if kind == "toml" and file:
                (self.folder / file).write_text((self.folder / file).read_text() + body)
            elif kind == "console":
                printed = [self.do(*command) for command in commands_of(body)][-1]
            elif kind == "python":
                printed = run_python(body, self.names), False
            elif kind == "text" and printed is not None:
                self.compare(body, *printed)
                printed = None

    def do(self, command, said):
        """Carry out a command; what it prints, and whether numbers in it are any, unless that is compared here."""
        printed = self.run(command, said)
        if printed is None:
            return None
        self.commands += 1
        if said is None:
            return printed, self.small
        return self.compare(said, printed, self.small)

    def compare(self, said, printed, loose):
        compare(said, printed, loose)
        self.compared += 1


def tellapart(words, said=None):
    """What the program prints, warnings first; what was wrong, if a page says so."""
    result = CliRunner().invoke(app, words)
    if result.exit_code == 2 and said is not None:
        return result.stderr
    assert result.exit_code == 0, f"{shlex.join(words)}: {result.output}"
    warnings = re.findall(r"^warning:.*?(?=^\S|\Z)", result.stderr, re.DOTALL | re.MULTILINE)
    return "".join(warnings) + result.stdout


class Small:
    """Carries out commands with small studies, and what was done before with a study and data alike not a second time.

    Arguments:
        kept: Where what commands made is kept.
        instead: Commands that are run in the place of one, or why none is, by what a page says.
    """

    def __init__(self, kept, instead):
        self.kept, self.instead, self.printed = kept, instead, {}

    def __call__(self, line, said=None):
        command = re.split(r"\s# ", line)[0].strip()
        if command in self.instead:
            others = self.instead[command]
            return "\n".join(self(other).rstrip() for other in others) if isinstance(others, list) else None
        program, *words = shlex.split(command, comments=True)
        if program != "tellapart":
            return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
        name, study = words[0], Path(words[1] if len(words) > 1 else "")
        if name in SHARED:
            return self.once(name, study, words[2:])
        alone = name == "serve" and "--simulate" not in words
        with few_points(), Visitors(study) if alone else nullcontext():
            printed = tellapart([*words, *SMALLER.get(name, "").split()], said)
        if name == "new":
            make_small(study / "study.toml", words[-1])
        return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8000", printed)

    def once(self, name, study, options):
        """Carry a command out, or copy what it made."""
        key = fingerprint(name, study, options)
        kept = self.kept / key
        if key not in self.printed:
            if name == "report" and not (study / "run" / "validation.json").is_file():
                self.once("validate", study, [])  # or it would make larger checks
            with few_points():
                printed = tellapart([name, str(study), *options, *SMALLER.get(name, "").split()])
            shutil.copytree(study, kept, ignore=shutil.ignore_patterns("*.toml", "*.sqlite*", "*.token"))
            self.printed[key] = printed.replace(str(study), "STUDY")
        shutil.copytree(kept, study, dirs_exist_ok=True)
        return self.printed[key].replace("STUDY", str(study))


def fingerprint(name, study, options):
    """What a command is about: a study by whatever name, files, and options."""
    plan = tomllib.loads((study / "study.toml").read_text())
    plan["study"].pop("name", None)
    files = [path.read_text() for path in map(Path, options) if path.is_file()]
    return hashlib.sha256(repr((name, plan, files, options)).encode()).hexdigest()[:16]


def make_small(file, example):
    """Write small sizes into a study file."""
    plan = tomlkit.parse(file.read_text())
    plan["search"] = {**SMALL["search"], **plan["search"]}
    plan["task"].update(SMALL.get(example, {}))
    file.write_text(tomlkit.dumps(plan))


@contextmanager
def few_points():
    """Curves have few points, each from few people: that of a report, and that of `power`, which goes on to large groups. And `FEWER`."""
    from tellapart import curve
    from tellapart.groups import power, power_models, power_parameters

    def information(*what, _whole=curve.information_curve, **settings):
        return _whole(*what, **{**settings, "n": 200, "points": 2})

    def people(*what, **settings):
        return power.power_curve(*what, **{**settings, "stages": ((5, 8),), "studies": 1})

    with ExitStack() as stack:
        stack.enter_context(patch.object(curve, "information_curve", information))
        for module in (power_models, power_parameters):
            stack.enter_context(patch.object(module, "power_curve", people))
        for module, numbers in FEWER.items():
            stack.enter_context(patch.multiple(f"tellapart.{module}", **numbers))
        yield


class Visitors:
    """While a server runs, people look at its pages and take part; then it is stopped, as by Ctrl+C.

    Arguments:
        study: Its folder.
    """

    def __init__(self, study):
        self.study, self.trouble = study, None

    def __enter__(self):
        import uvicorn

        self.server, self.run = uvicorn.Server, uvicorn.Server.run
        visitors = self

        def run(server, sockets):
            thread = threading.Thread(target=visitors.visit, args=(server, sockets[0]))
            thread.start()
            visitors.run(server, sockets)
            thread.join()

        uvicorn.Server.run = run

    def __exit__(self, *_):
        self.server.run = self.run
        if self.trouble:
            raise self.trouble

    def visit(self, server, door):
        try:
            address = "http://{}:{}".format(*door.getsockname()[:2])
            for page in ("/", "/researcher"):
                assert urllib.request.urlopen(address + page, timeout=60).status == 200
            for person in range(PEOPLE):
                self.take_part(address, f"browser-{person}")
        except Exception as error:  # told by who started this
            self.trouble = error
        finally:
            server.should_exit = True

    def take_part(self, address, browser):
        """From consent to the last trial."""
        from tellapart.server.simulated import Client

        client = Client(address)
        key = client.post("/api/start", "", {"consent": True, "browser": browser})["key"]
        texts = self.study / "texts.toml"
        questions = tomllib.loads(texts.read_text()).get("question", []) if texts.is_file() else []
        if questions:
            client.post("/api/questions", key, {"answers": [question["answer"] for question in questions]})
        while (block := client.post("/api/block", key)["block"]) is not None:
            place = {"position": block["position"], "attempt": block["attempt"]}
            for trial in range(block["trial"], block["trials"]):
                client.post("/api/trials", key, {**place, "trials": [{"trial": trial, "answer": trial % 2, "seconds": 0.5}]})
        client.post("/api/finish", key)


def run_python(body, names):
    """Run a block as a reader would; what it prints. Comments that are values are compared with what they stand behind."""
    lines, printed = body.splitlines(), io.StringIO()
    with redirect_stdout(printed):
        for node in ast.parse(body).body:
            comment = lines[node.end_lineno - 1].partition("  # ")[2]
            if isinstance(node, ast.Expr):
                value = eval(compile(ast.Expression(node.value), "<string>", "eval"), names)
            else:
                exec(compile(ast.Module([node], []), "<string>", "exec"), names)
                value = names.get(node.targets[0].id) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None
            if comment and value is not None:
                check_value(value, comment, names)
    return printed.getvalue()


class _Names(dict):
    """Names of a page, then those of tellapart without `ta.`."""

    def __missing__(self, name):
        return np.array if name == "array" else getattr(ta, name) if name in ta.__all__ else super().__missing__(name)


def check_value(value, comment, names):
    """Hold a value to the comment behind it, if the comment is a value and no words."""
    try:
        said = eval(comment, {}, _Names(names))
    except (SyntaxError, KeyError, NameError, AttributeError):
        return
    if isinstance(said, tuple) and isinstance(value, np.ndarray):
        value = value.shape
    same = np.allclose(value, said, atol=5e-4) if isinstance(said, np.ndarray) else value == said
    assert same, f"The page says {comment}, and it is {value}"


def compare(said, printed, loose=False):
    """What a page says against what is printed; if `loose`, numbers are any."""
    if loose:
        said, printed = (without_what_varies(text) for text in (said, printed))
    elif len(varying(said)) != len(varying(printed)):
        said, printed = (without(varying(text), text) for text in (said, printed))
    said, printed, number = said.strip(), printed.strip(), ANY_NUMBER if loose else NUMBER
    pieces = re.split(f"({number}|\\n…\\n|…)", said)
    anything = {"…": ".*?", "\n…\n": r"\n(?:.*?\n)?"}
    pattern = (anything.get(piece) or (f"({number})" if re.fullmatch(number, piece) else re.escape(piece)) for piece in pieces)
    found = re.fullmatch("".join(pattern), printed, re.DOTALL)
    assert found, f"The page says\n{said}\nand printed is\n{printed}"
    if loose:
        return
    for mine, number in zip(re.finditer(NUMBER, said), found.groups(), strict=True):
        line = said[said.rfind("\n", 0, mine.start()) + 1 : mine.end()]
        noise = noise_of(mine[0], line, said[mine.end() :])
        assert abs(float(mine[0]) - float(number)) <= noise, f"The page says {mine[0]}, printed is {number}:\n{printed}"


def without_what_varies(text):
    text = re.sub(r"about \d+ (seconds|minutes|hours|days)", "about 1 minutes", text)
    text = re.sub(r"(participants a second).*", r"\1", text)  # on a busy machine, what it means for the search follows
    return without(varying(text), text)


def varying(text):
    return [line for line in text.splitlines() if line.startswith(VARIES)]


def without(lines, text):
    return "\n".join(line for line in text.splitlines() if line not in lines)


def noise_of(number, before, after):
    """How far a number may be from what a page says, by what stands before it on its line and after it."""
    if before.endswith(f"± {number}") or before.startswith(("design ", "also good ")):
        return float("inf")
    error = re.match(r" ± (\d+(?:\.\d+)?)", after)
    if error:
        return ERRORS * float(error[1])
    if re.match(r" ?%", after):
        return PERCENT
    return DECIMAL if "." in number else 0.0
