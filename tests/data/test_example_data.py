"""The example data are read at the first try, and are what the script beside them makes."""

import importlib.util
from pathlib import Path

import numpy as np

import tellapart
from tellapart.data.understand import understand

FOLDER = Path(tellapart.__file__).parent / "examples" / "data"
TASK = tellapart.BernoulliBandit(3, 2, 30)


def script():
    spec = importlib.util.spec_from_file_location("make_example_data", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tabs_and_two_groups():
    found = understand([FOLDER / "bandit-hbayesdm.txt"], TASK)
    assert found.behavior.participants[0] == "001"
    assert found.behavior.mask.all()
    assert np.unique(found.groups["group"], return_counts=True)[1].tolist() == [12, 12]


def test_screens_of_jspsych():
    found = understand([FOLDER / "bandit-jspsych.json"], TASK)
    assert len(found.behavior) == 6
    assert 0 < (~found.behavior.mask).sum() < 30
    choice, _ = script().simulate(tellapart.WSLTS(), 6, seed=3)
    np.testing.assert_array_equal(found.behavior.fields["choice"][found.behavior.mask], choice[found.behavior.mask])


def test_one_file_for_each_person():
    found = understand([FOLDER / "bandit-people"], TASK)
    choice, reward = script().simulate(tellapart.AEG(), 6, seed=5)
    np.testing.assert_array_equal(found.behavior.fields["choice"], choice)
    np.testing.assert_array_equal(found.behavior.fields["reward"], reward)


def test_the_script_makes_these_files(tmp_path):
    made = script()
    made.HERE = tmp_path
    made.hbayesdm()
    made.jspsych()
    made.one_file_each()
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) == 8
    for name in written:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name
