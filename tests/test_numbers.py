"""The numbers that README.md quotes are those of docs/numbers, and what docs/numbers says of designs is still so."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tellapart as ta

ROOT = Path(__file__).parents[1]
KEPT = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "docs" / "numbers").glob("*.json"))}
FALSE_ALARM = 1e-4


@pytest.mark.parametrize("name", KEPT)
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
