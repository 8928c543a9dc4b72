"""Study folders to begin with: copies of the examples that come with tellapart, which run as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import tomlkit

from .errors import StudyError, nearest

EXAMPLES = Path(__file__).parent / "examples"


def known_examples() -> list[str]:
    """The names of the examples."""
    return sorted(file.parent.name for file in EXAMPLES.glob("*/study.toml"))


def make_study(folder: Path, example: str, seed: int | None = None) -> list[Path]:
    """Copy an example into a folder, named after the folder; the files that were made.

    Arguments:
        folder: Where to; must not be there, or be empty.
        seed: The seed of the study; the example's if not given.
    """
    known = known_examples()
    if example not in known:
        raise StudyError(f"There is no example '{example}'.", expected=", ".join(known), got=f"'{example}'", fix=nearest(example, known))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError("This place is taken.", where=str(folder), expected="a new or an empty folder", fix="choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudyError("The folder cannot be made.", where=str(folder), got=error.strerror, fix="choose another place") from None
    files = sorted(file for file in (EXAMPLES / example).iterdir() if file.suffix in (".toml", ".py", ".js"))
    made = [Path(shutil.copyfile(file, folder / file.name)) for file in files]
    study = folder / "study.toml"
    document = tomlkit.parse(study.read_text("utf-8"))  # which keeps comments and all else
    document["study"].update({"name": folder.resolve().name} | ({} if seed is None else {"seed": seed}))
    study.write_text(tomlkit.dumps(document), encoding="utf-8")
    return made
