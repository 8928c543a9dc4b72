"""The commands import, posterior, analyse and power on a finished run: what they print, write and refuse."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli import app
from tellapart.groups.power import PowerCurve, power_curve
from tellapart.tasks.text import format_design

PEOPLE = 14


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def result_of(*arguments):
    outcome = command(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


@pytest.fixture(scope="module")
def folder(study_folder, result):
    """The study's folder, with a table in the shape of somebody else's."""
    study, folder = result.study, study_folder
    table = ta.simulate_models(study.task, study.models, result.design, PEOPLE, np.random.default_rng(0)).behavior.to_table()
    label = [f"{number + 1:03d}" for number in table["participant"].astype(int)]
    pick = table["choice"].map({0: "left", 1: "middle", 2: "right"})
    missed = table.index % 17 == 3
    shape = {"subject ID": label, "age group": "", "group": np.where(table["participant"].astype(int) % 2, "old", "young")}
    theirs = pd.DataFrame({**shape, "block": table["block"] + 1, "trial": table["trial"] + 1})
    theirs["pick"], theirs["outcome"] = pick.where(~missed), table["reward"].where(~missed, 0)
    theirs[theirs["subject ID"].ne("014") | ((theirs["block"] == 1) & (theirs["trial"] <= 3))].to_csv(folder / "theirs.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def analysed(folder):
    families = ("--family", "habit=wslts", "--family", "values=aeg")
    outcome = command("analyse", folder, folder / "theirs.csv", "--out", folder / "page.html", *families, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def test_the_study_file_keeps_how_tables_are_read(folder):
    study = ta.Study.from_file(folder)
    assert study.data.columns == {"choice": "pick"}
    assert study.data.codes == {"choice": ("left", "middle", "right")}
    assert ta.Study.from_file(folder).to_toml() == study.to_toml()


def test_import_writes_what_all_commands_read(folder, tmp_path):
    result = result_of("import", folder, folder / "theirs.csv", "--out", tmp_path / "ours.csv")
    assert result["participants"] == PEOPLE
    assert ["choice", "pick"] in [[line["what"], line["column"]] for line in result["understood"]]
    table = pd.read_csv(tmp_path / "ours.csv", dtype={"participant": str})
    assert table["participant"].iloc[0] == "001"
    assert ta.understand([tmp_path / "ours.csv"], ta.BernoulliBandit(3, 2, 10)).behavior.mask.sum() == result["trials"]
    # the imported table no longer has the columns and words that [data] speaks of
    plain = ("--columns", "choice=choice", "--codes", "choice=0,1,2")
    again = result_of("import", folder, tmp_path / "ours.csv", "--out", tmp_path / "again.csv", *plain)
    assert again["trials"] == result["trials"]


def test_what_was_understood_is_said_before_anything_is_computed(analysed):
    assert analysed.stderr.startswith("what")
    assert "age group" in analysed.stderr
    assert "014 (2)" in analysed.stderr or "014 (3)" in analysed.stderr


def test_which_design_is_assumed_is_said_on_the_screen_and_on_the_page(folder, analysed, result, tmp_path):
    recommended = format_design(result.study.task.design_space, result.design)
    words = f"{recommended}: the recommended one; if people had another, say --design"
    assert words in analysed.stderr
    assert words in (folder / "page.html").read_text()
    other = ("--design", "0.2,0.5,0.8; 0.3,0.6,0.4")
    outcome = command("posterior", folder, folder / "theirs.csv", "--out", tmp_path / "who.csv", *other)
    assert "0.2,0.5,0.8; 0.3,0.6,0.4, by --design\n" in outcome.stderr
    ours = ("--columns", "choice=choice", "--codes", "choice=0,1,2")
    designs = np.tile([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], (2, 1, 1))
    behavior = ta.simulate_models(result.study.task, result.study.models, designs[0], 2, np.random.default_rng(0)).behavior
    table = behavior.to_table()
    table[["arm 0", "arm 1", "arm 2"]] = np.repeat(designs.reshape(-1, 3), 10, axis=0)
    table.to_csv(tmp_path / "theirs.csv", index=False)
    outcome = command("posterior", folder, tmp_path / "theirs.csv", "--out", tmp_path / "who.csv", *ours, *other)
    assert "by --design, in the place of what the table says" in outcome.stderr


def test_posterior_reads_the_same_table_and_counts_trials(folder, tmp_path):
    result = result_of("posterior", folder, folder / "theirs.csv", "--out", tmp_path / "who.csv")
    assert result["participants"] == PEOPLE
    table = pd.read_csv(tmp_path / "who.csv", dtype={"participant": str})
    assert table["participant"].tolist() == [f"{n + 1:03d}" for n in range(PEOPLE)]
    assert (table["trials"] + table["missed"]).eq(20).all()
    assert table["trials"].iloc[-1] <= 3


def test_analyse_writes_page_tables_and_draws(folder, analysed):
    import arviz

    result = json.loads(analysed.stdout)
    assert result["route"] == "likelihoods"
    assert result["participants"] == PEOPLE
    assert sum(row["frequency"] for row in result["random_effects"]["models"]) == pytest.approx(1)
    assert sum(row["frequency"] for row in result["families"]["models"]) == pytest.approx(1)
    assert len(result["families"]["models"]) == 2
    assert [row["parameter"] for row in result["parameters"]] == ["epsilon"]
    page = (folder / "page.html").read_text()
    for text in ("Before you believe it", "Fewer than 10 trials", "By group", "first minus second", "For the methods section", "Stephan"):
        assert text in page
    people = pd.read_csv(folder / "page-people.csv", dtype={"participant": str})
    assert {"trials", "missed", "group", "most_probable", "probability.aeg", "predictive.p", "unlike_models"} <= {*people}
    assert (people["aeg.epsilon.group.q05"] < people["aeg.epsilon.group"]).all()
    assert (people["aeg.epsilon.group"] < people["aeg.epsilon.group.q95"]).all()
    families = pd.read_csv(folder / "page-families.csv")
    assert families["frequency"].tolist() == pytest.approx([row["frequency"] for row in result["families"]["models"]])
    kept = arviz.from_netcdf(folder / "page-posterior.nc")
    assert {"posterior", "posterior_predictive", "observed_data"} <= {*kept.groups()}
    assert kept.posterior["aeg.epsilon"].dims == ("chain", "draw", "participant")


@pytest.fixture(scope="module")
def quickly(folder, tmp_path_factory):
    """The same table by the network alone: the words of the command, and its page."""
    page = tmp_path_factory.mktemp("quickly") / "page.html"
    families = ("--family", "habit=wslts", "--family", "values=aeg")
    outcome = command("analyse", folder, folder / "theirs.csv", "--out", page, "--amortized", "--least-trials", 5, *families)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome, page


def test_the_quick_way_says_so(quickly):
    outcome, _ = quickly
    assert "are the network's" in outcome.stdout
    assert "as a description of the group: the p-value" in outcome.stdout or "The models do not describe this group" in outcome.stdout
    assert "014 (2 trials recorded, fewer than 5)" in outcome.stdout or "014 (3 trials recorded, fewer than 5)" in outcome.stdout


@pytest.fixture
def few_studies(monkeypatch):
    """How many people are needed is not asked here, nor how well that is known."""
    monkeypatch.setitem(power_curve.__kwdefaults__, "studies", 60)


def test_power_says_how_many(folder, tmp_path, few_studies):
    found = result_of("power", folder, "--frequencies", "wslts=0.95,aeg=0.05", "--n", 300, "--figure", tmp_path / "power.svg")
    assert {*found} == {"recommended", "baseline"}
    assert found["recommended"]["curve"][0]["people"] == 5
    assert (tmp_path / "power.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(("given", "interval"), [((), 0.9), (("--certainty", 0.8), 0.8)])
def test_the_interval_that_is_to_be_narrow_is_as_sure_as_was_said(folder, monkeypatch, given, interval):
    asked = []

    def within(people, width, *, interval, **_):
        asked.append(interval)
        return PowerCurve(f"{100 * interval:g} % interval", np.array([8]), np.array([1.0]), 10)

    monkeypatch.setattr("tellapart.groups.power_parameters.parameter_within", within)
    result_of("power", folder, "--parameter", "aeg.epsilon", "--width", 0.2, "--n", 300, *given)
    assert asked == [interval, interval]


def test_power_is_silent_about_designs_that_the_network_does_not_know(folder, monkeypatch, few_studies):
    monkeypatch.setattr(ta.Amortized, "trains_at_each_design", True)
    outcome = command("power", folder, "--frequencies", "wslts=0.95,aeg=0.05", "--n", 300)
    assert outcome.exit_code == 0, outcome.stderr
    assert "baseline     not known: the network of the search 'amortized' knows the recommended design only" in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("analyse", "STUDY", "DATA", "--columns", "reward=nix"), "There is no column 'nix'"),
        (("analyse", "STUDY", "DATA", "--prior-counts", "two each"), '"1/K each" or "one each"'),
        (("analyse", "STUDY", "DATA", "--family", "a=wslts,age"), "did you mean 'aeg'"),
        (("analyse", "STUDY", "DATA", "--family", "a=wslts"), "do not hold each model once"),
        (("analyse", "STUDY", "DATA", "--least-trials", "500"), "nobody to analyse"),
        (("analyse", "STUDY", "nowhere.csv"), "no such data file"),
        (("posterior", "STUDY", "DATA", "--out", "OUT", "--codes", "choice"), "cannot be understood"),
        (("power", "STUDY", "--frequencies", "wslts=0.5"), "no frequencies of the models"),
        (("power", "STUDY", "--frequencies", "wslts=60,aeg=40"), "write 60 % as 0.6"),
        (("power", "STUDY", "--frequencies", "wslts=much"), "cannot be understood"),
        (("power", "STUDY", "--frequencies", "wslts=nan,aeg=0.4"), "no frequencies of the models"),
        (("power", "STUDY", "--frequencies", "wslts=0.6,aeg=0.4", "--versus", "aeg=0.4,wslts=0.6"), "These two groups do not differ"),
        (("power", "STUDY", "--parameter", "aeg.epsilon"), "--width or --effect"),
        (("power", "STUDY", "--effect", "0.1"), "are about a parameter"),
        (("power", "STUDY", "--parameter", "aeg.epsilon", "--width", "0.1", "--versus", "aeg=1"), "not one about frequencies"),
        (("power", "STUDY", "--parameter", "aeg.phi", "--width", "0.1"), "cannot be asked about"),
        (("power", "STUDY", "--parameter", "aeg.epsilon", "--effect", "7"), "differ that much"),
        (("power", "STUDY", "--parameter", "aeg.epsilon", "--effect", "nan"), "differ that much"),
        (("power", "STUDY", "--parameter", "aeg.epsilon", "--width", "0"), "a number above 0"),
        (("power", "STUDY", "--parameter", "aeg.epsilon", "--width", "nan"), "a number above 0"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(folder, tmp_path, arguments, said):
    places = {"STUDY": folder, "DATA": folder / "theirs.csv", "OUT": tmp_path / "out.csv"}
    more = ["--out", tmp_path / "out.html"] if arguments[0] == "analyse" else []
    outcome = command(*(places.get(word, word) for word in arguments), *more)
    assert outcome.exit_code == 2, outcome.stdout + outcome.stderr
    assert said in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("analyse", "DATA", "--out", "nowhere/a.html"), "no folder"),
        (("analyse", "DATA", "--family", "a=wslts"), "do not hold each model once"),
        (("power", "--figure", "nowhere/a.svg"), "no folder"),
    ],
)
def test_what_cannot_be_kept_is_not_computed(folder, monkeypatch, arguments, said):
    def computed(*_, **__):
        raise AssertionError("it was computed first")

    monkeypatch.setattr("tellapart.result.DesignResult.analyse", computed)
    monkeypatch.setattr("tellapart.groups.power_people.simulated_evidence", computed)
    name, *rest = (folder / "theirs.csv" if word == "DATA" else word for word in arguments)
    outcome = command(name, folder, *rest)
    assert outcome.exit_code == 2, outcome.stderr
    assert said in outcome.stderr


def test_wrong_keys_of_the_section_are_named_with_their_line(folder, tmp_path):
    text = (folder / "study.toml").read_text().replace("[data.columns]", "[data.colums]")
    (tmp_path / "study.toml").write_text(text if "colums" in text else text.replace("columns =", "colums ="))
    outcome = command("import", tmp_path, folder / "theirs.csv", "--out", tmp_path / "x.csv")
    assert outcome.exit_code == 2
    assert "'colums' is unknown" in outcome.stderr
    assert "did you mean 'columns'" in outcome.stderr


@pytest.mark.parametrize("name", ["import", "posterior", "analyse"])
def test_data_are_not_written_over(folder, name, tmp_path):
    data = tmp_path / "page-people.csv"
    data.write_bytes((folder / "theirs.csv").read_bytes())
    outcome = command(name, folder, data, "--out", tmp_path / "page.html" if name == "analyse" else data)
    assert outcome.exit_code == 2
    assert "over the data" in outcome.stderr
    assert data.read_bytes() == (folder / "theirs.csv").read_bytes()


def test_tables_of_an_earlier_analysis_do_not_stay_beside_a_new_page(folder, quickly):
    page = quickly[1]
    before = {str(path) for path in page.parent.glob("page-*")}
    after = result_of("analyse", folder, folder / "theirs.csv", "--out", page, "--amortized")
    assert before - set(after["tables"]) == {str(page.with_name("page-families.csv"))}
    assert sorted(after["tables"]) == sorted(str(path) for path in page.parent.glob("page-*"))


def test_who_has_no_trial_is_not_counted_for_a_model(folder, tmp_path):
    theirs = pd.read_csv(folder / "theirs.csv", dtype=str)
    theirs.loc[theirs["subject ID"] == "002", "pick"] = ""
    theirs.to_csv(tmp_path / "theirs.csv", index=False)
    found = result_of("posterior", folder, tmp_path / "theirs.csv", "--out", tmp_path / "people.csv")
    assert found["without_trials"] == 1
    assert sum(found["most_probable"].values()) == found["participants"] - 1
