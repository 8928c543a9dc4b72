"""Pages that can be read: short sentences in README and tutorial, short pages in the tutorial, and each page opens with what it is for."""

import re
from pathlib import Path

import pytest

import tellapart

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TUTORIAL = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
LONGEST_SENTENCE, LONGEST_PAGE = 30, 800
OPENERS = {"reference": "Here you find ", "": "Here you find "}
"""By folder; on all other pages it is "After this page you have", "know" or "can"."""

name_of = dict(ids=lambda path: str(path.relative_to(ROOT)))  # noqa: C408


def prose(text):
    """What is read as sentences, a piece for each paragraph, heading, list item and cell of a table; no code, pictures or addresses."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    pieces = re.split(r"\n\s*\n|\n(?=#)|\n(?=\s*[-*] )|\n(?=\s*\d+\. )|\n(?=\|)|(?<=\|)", text)
    return [" ".join(piece.strip("| \n#*-").split()) for piece in pieces if re.search(r"\w", piece)]


def sentences(text):
    return [sentence for piece in prose(text) for sentence in re.split(r"(?<=[.!?])['\")*]*\s+", piece)]


def words(text):
    return [word for word in text.split() if re.search(r"\w", word)]


@pytest.mark.parametrize("path", [ROOT / "README.md", *TUTORIAL], **name_of)
def test_no_sentence_is_long(path):
    long = {sentence: len(words(sentence)) for sentence in sentences(path.read_text()) if len(words(sentence)) > LONGEST_SENTENCE}
    assert not long


@pytest.mark.parametrize("path", TUTORIAL, **name_of)
def test_no_page_of_the_tutorial_is_long(path):
    assert len(words(path.read_text())) <= LONGEST_PAGE  # code, tables and all


@pytest.mark.parametrize("path", PAGES, **name_of)
def test_a_page_opens_with_what_you_have_at_its_end(path):
    """After the title comes a sentence by itself, of the form that its kind of page has."""
    title, opener, *_ = path.read_text().split("\n\n")
    folder = path.relative_to(ROOT / "docs").parts[0] if path.parent != ROOT / "docs" else ""
    assert title.startswith("# ")
    assert re.match(OPENERS.get(folder, "After this page you (have|know|can) "), opener)
    assert len(sentences(opener)) == 1


def test_sentences_are_found():
    text = "# A head\n\nOne `a b. c` two. Three?\n\n```text\nNo. No.\n```\n\n| six | seven 0.5 [eight](nine.md). Ten |\n|---|---|\n"
    assert sentences(text) == ["A head", "One code two.", "Three?", "six", "seven 0.5 eight.", "Ten"]


OUTDATED = re.compile(r"by habit|designs? of habit|a row a trial|trials a block")
"""What has a plainer name: randomly drawn comparison designs, one row per trial, trials per block."""


def test_outdated_words_are_gone():
    files = [ROOT / "README.md", *PAGES, *(file for ending in ("py", "html", "toml", "js") for file in (ROOT / "src").rglob(f"*.{ending}"))]
    wrong = {str(file.relative_to(ROOT)): found[0] for file in files if (found := OUTDATED.search(file.read_text("utf-8")))}
    assert not wrong


def test_links_of_files_beside_the_documentation_lead_somewhere():
    """Those of the pages themselves are checked by `make docs`."""
    for file in ROOT.glob("*.md"):
        for target in re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", file.read_text()):
            assert (ROOT / target).exists(), f"{file.name}: {target}"


def test_one_version_everywhere():
    citation, changes = (ROOT / "CITATION.cff").read_text(), (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {tellapart.__version__}\n" in citation
    assert re.search(r"^## (\S+?),? ", changes, re.MULTILINE)[1] == tellapart.__version__
