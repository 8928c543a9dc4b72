"""The numbers that README.md quotes are those of docs/numbers, and what docs/numbers says of designs is still so."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tellapart as ta

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import peers  # noqa: E402
import server  # noqa: E402
import zoo  # noqa: E402

KEPT = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "docs" / "numbers").glob("*.json"))}
FALSE_ALARM = 1e-4


@pytest.mark.parametrize("name", [name for name, kept in KEPT.items() if "recommended" in kept])
def test_designs_still_tell_what_is_said(name):
    """z-tests on other participants than those of the kept numbers, false alarm 1e-4 over all designs of a study."""
    study, kept = ta.Study.from_file(ROOT / "examples" / name), KEPT[name]
    designs = [kept["recommended"], kept["customary"][0]]
    for said in designs:
        design = ta.parse_design(study.task.design_space, said["design"])
        now = ta.exact_information(study, design, 600, np.random.default_rng(11))
        assert abs(now.nats - said["nats"]) < stats.norm.isf(FALSE_ALARM / 2 / len(designs)) * np.hypot(now.se, said["se"])


def test_the_readme_quotes_what_is_printed():
    assert KEPT["bandit"]["printed"] in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/explanation/examples.md", "docs/explanation/zoo.md"])
def test_pages_quote_one_value(page):
    text = (ROOT / page).read_text()
    recommended, customary = KEPT["discounting"]["recommended"], KEPT["discounting"]["customary"]
    ours, theirs = 100 * recommended["accuracy"], 100 * np.mean([one["accuracy"] for one in customary])
    assert f"{theirs:.0f} of 100" in text
    assert f"{ours:.0f} of 100" in text
    said = re.findall(r"(\d+) are recognised with customary questions and (\d+) with recommended ones", text)  # beside a figure
    assert all(one == (f"{theirs:.0f}", f"{ours:.0f}") for one in said)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/explanation/examples.md"])
def test_pages_quote_how_many_are_recognised_if_questions_are_chosen_for_each_person(page):
    text, kept = (ROOT / page).read_text(), KEPT["discounting"]["adaptive"]
    beside = kept["beside"]
    assert f"{100 * kept['accuracy']:.0f} of 100" in text
    if page.endswith("examples.md"):
        assert f"{100 * kept['accuracy']:.1f} ± {100 * kept['accuracy_se']:.1f} % of {kept['n']}" in text
        assert f"{100 * beside['accuracy']:.1f} ± {100 * beside['accuracy_se']:.1f} %" in text


@pytest.mark.parametrize("words", peers.WORDS)
def test_the_page_on_peers_has_the_tables_that_were_measured(words):
    assert words(KEPT["peers"]) in (ROOT / "docs" / "explanation" / "peers.md").read_text()


def test_what_is_said_of_peers_is_what_was_measured():
    page, readme, kept = (ROOT / "docs" / "explanation" / "peers.md").read_text(), (ROOT / "README.md").read_text(), KEPT["peers"]
    assert all(f"{name} {number}" in page.replace("**", "").lower() for name, number in peers.PEERS.items())
    assert kept["versions"] == peers.PEERS | peers.BESIDE
    assert f"{kept['seconds']:.0f} s of processor time" in page
    assert f"{kept['people']:,} fresh participants" in page
    for row in kept["posterior"]:
        assert f"{peers.NAMES[row['tool']]} {peers.share(row)}" in readme


def test_the_page_on_losses_has_the_table_that_was_measured():
    assert server.table(KEPT["server"]) in (ROOT / "docs" / "explanation" / "nothing-lost.md").read_text()


def test_the_page_on_the_zoo_has_what_was_measured():
    kept = json.loads(zoo.KEPT.read_text())
    assert zoo.measured(kept) in zoo.PAGE.read_text()
    assert set(kept["scan"]) <= set(zoo.CASES)
    svg = zoo.PICTURE.read_text()
    assert all(f"({zoo.gain(row)})" in svg for row in kept["scan"].values())


def test_no_estimate_of_a_peer_is_above_the_exact_answer():
    """A z-test on the same participants for each tool, false alarm 1e-4 over all of them."""
    rows = KEPT["peers"]["posterior"]
    assert all(row["missing"] > -stats.norm.isf(FALSE_ALARM / len(rows)) * row["missing_se"] for row in rows)
