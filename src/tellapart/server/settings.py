"""The numbers of an experiment: how many people, how long places are kept, codes. They are in `serve.toml` beside the study."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ..errors import StudyError, nearest

FILE = "serve.toml"
PROLIFIC = "https://app.prolific.com/submissions/complete?cc={code}"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_truth(cls, value: Any) -> Any:
        if isinstance(value, bool):  # pydantic would take it for 0 or 1
            raise ValueError("a number or a text, not true or false")
        return value


class Codes(_Strict):
    """Where people are sent afterwards.

    Arguments:
        completion, screen_out, no_consent: The codes of the platform; where one is empty there is no link, only words.
        address: The link, with {code} in it.
    """

    completion: str = ""
    screen_out: str = ""
    no_consent: str = ""
    address: str = PROLIFIC

    @field_validator("address")
    @classmethod
    def _is_link(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")) or "{code}" not in value:
            raise ValueError("an address that begins with https:// and contains {code}")
        return value

    def link(self, kind: Literal["completion", "screen_out", "no_consent"]) -> str | None:
        """The link for those who completed, were screened out or did not consent."""
        code = str(getattr(self, kind))
        return self.address.replace("{code}", quote(code, safe="")) if code else None


class Limits(_Strict):
    """How often one may ask. A limit is a number of requests each second, and how many may come at once.

    Arguments:
        session: Requests of one session.
        address: Requests of one network address, behind which there may be a whole laboratory.
        start: Starts of one address; each takes a place, if only for a while.
        token: Wrong tokens of one address.
        body: Bytes of a request.
    """

    session: tuple[float, int] = (20.0, 100)
    address: tuple[float, int] = (500.0, 5000)
    start: tuple[float, int] = (5.0, 600)
    token: tuple[float, int] = (0.2, 10)
    body: int = Field(default=64_000, ge=1_000)


class Settings(_Strict):
    """The numbers of an experiment.

    Arguments:
        participants: How many people at most; 0 for no limit. Places of those who left are free again.
        order: Of the blocks: "designed", "counterbalanced" (each block equally often in each place and after each other one), or
            "random" (drawn for each participant). If not given, "counterbalanced" where the task says that blocks are exchangeable
            and every model that it begins each of them anew.
        practice: Trials of practice.
        place_minutes: After so long without a sign of life a participant's place goes to another one.
        resume_minutes: Who is back within these goes on at the trial where they were; later the block begins anew.
        resume_hours: Who comes back later than this cannot go on.
        questions: How often the questions about the instructions may be tried before a participant is screened out.
        policy_seconds: How long a policy may think about the next block before the planned one is used.
        codes, limits: See there.
    """

    participants: int = Field(default=0, ge=0)
    order: Literal["designed", "counterbalanced", "random"] | None = None
    practice: int = Field(default=3, ge=0, le=50)
    place_minutes: float = Field(default=30.0, gt=0)
    resume_minutes: float = Field(default=5.0, ge=0)
    resume_hours: float = Field(default=2.0, ge=0)
    questions: int = Field(default=3, ge=1)
    policy_seconds: float = Field(default=1.0, gt=0)
    codes: Codes = Codes()
    limits: Limits = Limits()


def read_settings(folder: Path) -> Settings:
    """The settings in the folder's `serve.toml`; the usual ones if there is none."""
    file = folder / FILE
    if not file.is_file():
        return Settings()
    try:
        return Settings.model_validate(tomllib.loads(file.read_text("utf-8-sig")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError("The settings are not valid TOML.", where=str(file), expected="text in UTF-8", got=error) from None
    except ValidationError as error:
        first = error.errors()[0]
        section, *keys = map(str, ("", *first["loc"]) if len(first["loc"]) == 1 else first["loc"])
        key, where = ".".join(keys), f"{file}, [{section}]" if section else str(file)
        if first["type"] == "extra_forbidden":
            raise StudyError(f"The key '{key}' is unknown.", where=where, fix=_fix(key, section)) from None
        expected = first["msg"].removeprefix("Value error, ")
        raise StudyError(f"The value of '{key}' cannot be used.", where=where, expected=expected, got=first["input"]) from None


def _fix(key: str, section: str) -> str | None:
    """The usual way out for a key that a section, or the file above all sections, does not know."""
    if section and key in Settings.model_fields:
        return f"'{key}' belongs above [{section}]: what stands below that line is part of it"
    parts: dict[str, type[BaseModel]] = {"codes": Codes, "limits": Limits}
    return nearest(key, parts.get(section, Settings).model_fields)
