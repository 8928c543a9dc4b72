"""Files are written whole or not at all; paths in commands can be pasted."""

import ast
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import tellapart as ta
from tellapart.files import quoted, written_whole


@pytest.mark.parametrize(
    ("system", "path", "written"),
    [
        ("posix", "study", "study"),
        ("posix", "my study", "'my study'"),
        ("nt", r"C:\Users\me\study", r"C:\Users\me\study"),
        ("nt", r"C:\my studies\one", r'"C:\my studies\one"'),
    ],
)
def test_a_path_in_a_command_is_quoted_as_the_system_wants_it(system, path, written):
    with mock.patch("os.name", system):
        assert quoted(path) == written


def test_what_fails_half_way_leaves_what_was_there(tmp_path):
    file = tmp_path / "kept.txt"
    file.write_text("before")

    def write_half():
        with written_whole(file) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.txt", "before")]


def test_a_file_in_use_is_not_replaced_and_the_error_says_which(tmp_path):
    file = tmp_path / "kept.txt"
    file.write_text("before")
    with file.open(encoding="utf-8"), pytest.raises(ta.DataError, match=r"kept\.txt"), written_whole(file) as temporary:
        temporary.write_text("after")
    assert file.read_text() == "before"


def test_every_text_is_read_and_written_in_a_named_encoding():
    """Without one, a name with an umlaut is read as something else on another system."""
    places = {"open": 2, "read_text": 0, "write_text": 1}  # where the encoding stands if it is not named
    missing = []
    for file in sorted(Path(ta.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in places:
                place, named = places[node.func.attr], {keyword.arg for keyword in node.keywords}
                binary = any(isinstance(a, ast.Constant) and isinstance(a.value, str) and "b" in a.value for a in node.args)
                text = getattr(node.func.value, "id", "") not in ("Run", "webbrowser") and not binary
                if text and "encoding" not in named and len(node.args) <= place:
                    missing.append(f"{file.name}:{node.lineno}")
    assert not missing


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits on the size of files")
def test_networks_on_a_full_disk(tmp_path):
    """Safetensors' own way to write a file does not raise an OSError."""
    code = f"""
import resource, signal
from pathlib import Path
import torch
from tellapart import DataError
from tellapart.training import save_tensors
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save_tensors(Path({str(tmp_path / "network.safetensors")!r}), {{"weights": torch.zeros(10_000)}})
except DataError as error:
    print(error.fix)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "make room" in done.stdout
    assert not list(tmp_path.iterdir())
