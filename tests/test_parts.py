"""Parts by name: those that ship, those beside a study, those of installed packages; and what is said when there is none."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

import tellapart as ta
from tellapart import parts
from tellapart.parts import find_part, known_parts, load_again, loaded_files, use_of

SHIPPED = {
    "task": {"bernoulli-bandit", "noisy-readings"},
    "model": {"wslts", "aeg", "gls", "hidden-number"},
    "search": {"amortized", "bayesopt"},
    "encoder": {"history", "sequence", "blocks"},
    "estimator": {"posterior", "likelihood", "nwj", "infonce"},
}

FILE = """
import tellapart as ta

class Mine(ta.HistoryEncoder):
    name = "mine"

class Nameless(ta.Model):
    parameters = {}
    simulate = None

class Unfinished(ta.Model):
    name = "unfinished"

NUMBER = 3
"""


@pytest.mark.parametrize("kind", SHIPPED)
def test_what_ships_is_found_by_its_name(kind):
    known = known_parts(kind)
    assert SHIPPED[kind] <= set(known)
    for name, part in known.items():
        assert find_part(kind, name) is part
        assert use_of(kind, part) == part.name == name


def test_searches_that_ship_are_found_without_loading_networks():
    find = "from tellapart.parts import find_part; [find_part('search', name) for name in ('amortized', 'bayesopt')]"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {find}; print('torch' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path


def test_a_file_beside_a_study(folder):
    part = find_part("encoder", "mine:Mine", folder)
    assert part is find_part("encoder", "mine:Mine", folder)
    assert use_of("encoder", part) == "mine:Mine"
    (folder / "mine.py").write_text(FILE.replace("NUMBER = 3", "NUMBER = 4"))
    assert find_part("encoder", "mine:Mine", folder) is not part


def test_two_studies_may_each_have_helpers_of_the_same_name_and_changed_ones_are_loaded_anew(tmp_path):
    folders = {10: tmp_path / "one", 200: tmp_path / "two"}
    for number, folder in folders.items():
        (folder / "inside_helpers").mkdir(parents=True)
        (folder / "mine.py").write_text(
            f"from helpers_of_mine import NUMBER\nfrom inside_helpers import more\n{FILE}".replace("NUMBER = 3", "")
        )
        (folder / "helpers_of_mine.py").write_text(f"NUMBER = {number}\n")
        (folder / "inside_helpers" / "more.py").write_text(f"NUMBER = {number}\n")
    for number, folder in folders.items():
        module = sys.modules[find_part("encoder", "mine:Mine", folder).__module__]
        assert module.NUMBER == module.more.NUMBER == number
    before = find_part("encoder", "mine:Mine", folders[10]).__module__
    (folders[10] / "helpers_of_mine.py").write_text("NUMBER = 3000\n")
    module = sys.modules[find_part("encoder", "mine:Mine", folders[10]).__module__]
    assert (module.NUMBER, module.more.NUMBER) == (3000, 10)
    assert module.__name__ == before  # numba keeps what it compiled by the file that did not change, and finds it by the module's name


def test_a_module_in_a_subfolder(folder):
    (folder / "sub").mkdir()
    (folder / "mine.py").rename(folder / "sub" / "mine.py")
    assert use_of("encoder", find_part("encoder", "sub.mine:Mine", folder)) == "sub.mine:Mine"


@pytest.mark.parametrize(
    ("kind", "use", "message"),
    [
        ("model", "age", "did you mean 'aeg'"),
        ("encoder", "mine:Nothing", "There is no 'Nothing' in 'mine.py'"),
        ("encoder", "nowhere:Mine", "There is no file 'nowhere.py'"),
        ("encoder", "mine:NUMBER", "is not an encoder"),
        ("model", "mine:Mine", "'Mine' is not a model"),
        ("model", "mine:Unfinished", "'Unfinished' is not finished"),
        ("model", "mine:Nameless", "'Nameless' has no name"),
        ("model", "mine:not a name", "names no class"),
        ("search", "../mine:Mine", "names no class"),
    ],
)
def test_what_is_not_found(folder, kind, use, message):
    with pytest.raises(ta.StudyError, match=message):
        find_part(kind, use, folder)


@pytest.mark.parametrize(("code", "got"), [("1 / 0", "ZeroDivisionError"), ("def", "SyntaxError"), ("raise SystemExit", "SystemExit")])
def test_files_that_cannot_be_loaded(tmp_path, code, got):
    (tmp_path / "mine.py").write_text(f"\n\n{code}\n")
    with pytest.raises(ta.StudyError, match=r"Loading 'mine\.py' failed") as error:
        find_part("model", "mine:Mine", tmp_path)
    assert "line 3" in error.value.where
    assert got in str(error.value)


def test_a_class_that_no_file_could_name():
    class Local(ta.AEG):
        name = "local"

    with pytest.raises(ta.StudyError, match="in no file"):
        use_of("model", Local)


def test_a_users_file_is_loaded_again_in_another_process(folder):
    part = find_part("encoder", "mine:Mine", folder)
    sent = next(file for file in loaded_files() if file.name == part.__module__)
    del sys.modules[part.__module__]
    (folder / "mine.py").unlink()
    load_again(sent)
    assert sys.modules[part.__module__].Mine.name == "mine"


def test_a_broken_package_is_in_nobody_elses_way(monkeypatch):
    """It is not among the known parts, and whoever names its part is told."""
    group = "tellapart.models"
    points = [EntryPoint("broken", "no_such_package.models:Model", group), EntryPoint("no-model", "json:dumps", group)]
    points += [EntryPoint("aeg-again", "tellapart.bandits.aeg:AEG", group)]
    monkeypatch.setattr(parts, "entry_points", lambda group: [point for point in points if point.group == group])
    assert {"broken", "no-model", "aeg-again"}.isdisjoint(known_parts("model"))
    assert find_part("model", "aeg") is ta.AEG
    assert find_part("model", "gls") is ta.GLS
    with pytest.raises(ta.StudyError, match="'broken' cannot be loaded") as error:
        find_part("model", "broken")
    assert "No module named 'no_such_package'" in str(error.value)
    with pytest.raises(ta.StudyError, match="is not a model"):
        find_part("model", "no-model")
    with pytest.raises(ta.StudyError, match="'aeg-again' calls itself 'aeg'"):  # a study file could not be written with such a part
        find_part("model", "aeg-again")


def test_a_name_that_two_parts_have_is_refused(monkeypatch):
    """Nobody's part hides another, neither ours theirs nor theirs ours."""
    group = "tellapart.searches"
    points = [EntryPoint("amortized", "theirs.search:Search", group), *(EntryPoint("both", f"{one}:Search", group) for one in ("a", "b"))]
    monkeypatch.setattr(parts, "entry_points", lambda group: [point for point in points if point.group == group])
    with pytest.raises(ta.StudyError, match="'amortized' is that of 2 searches") as error:
        find_part("search", "amortized")
    assert "tellapart itself, theirs.search:Search" in str(error.value)
    with pytest.raises(ta.StudyError, match="'both' is that of 2 searches"):
        find_part("search", "both")
    assert find_part("search", "bayesopt") is ta.BayesianOptimization
