"""The program: its commands, and what happens when one fails."""

from __future__ import annotations

import functools
import inspect
import json
from contextvars import ContextVar
from dataclasses import is_dataclass
from typing import Annotated, Any, Callable, NoReturn

import typer

from .. import __version__
from ..errors import TellapartError

app = typer.Typer(
    name="tellapart",
    help="Which experiment tells our theories of the mind apart, and how sure will we be afterwards?",
    epilog="Begin with: tellapart new my-study --example bandit",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


_JSON: ContextVar[bool] = ContextVar("json")
"""Is the result of the command to be printed as JSON?"""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command that also takes --json, and whose errors are messages.

    An argument whose default is a dataclass stands for the fields of that class, an option each.
    """
    arguments, options = inspect.signature(function, eval_str=True).parameters, dict[str, inspect.Parameter]()
    groups: dict[str, Any] = {name: type(one.default) for name, one in arguments.items() if is_dataclass(one.default)}
    for name, one in arguments.items():
        options |= inspect.signature(groups[name], eval_str=True).parameters if name in groups else {name: one}

    @functools.wraps(function)
    def guarded(as_json: bool, **given: Any) -> None:
        _JSON.set(as_json)
        for name, group in groups.items():
            given[name] = group(**{option: given.pop(option) for option in inspect.signature(group).parameters})
        try:
            function(**given)
        except TellapartError as error:
            stop(f"Error: {error}", 2)
        except MemoryError:
            stop("Error: There is not enough memory for this.\n  fix:      ask for fewer participants at a time", 2)
        except KeyboardInterrupt:
            stop("Stopped. Nothing is lost but what was being computed.", 130)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            _explain(error)

    as_json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
    vars(guarded)["__signature__"] = inspect.Signature([*options.values(), as_json])
    app.command()(guarded)
    return function


def option(written: str, help: str, **more: Any) -> Any:
    """An option as help writes it, "--out FILE.csv" or "--json", and what it is for."""
    name, _, metavar = written.partition(" ")
    return typer.Option(name, metavar=metavar or None, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """An argument as help writes it, "STUDY", and what it is."""
    return typer.Argument(metavar=metavar, help=help)


AsJson = Annotated[bool, option("--json", "Print the result as JSON.")]


def show(result: Any, words: str) -> None:
    """Print a result as JSON if that was asked for, else in words."""
    typer.echo(json.dumps(result, allow_nan=False) if _JSON.get() else words)


def stop(message: str, code: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _explain(error: Exception) -> NoReturn:
    """Say whose fault it is: a failing model file is the user's to mend, all else is ours."""
    import platform
    import traceback

    from ..parts import place_in_user_code

    place = place_in_user_code(error)
    if place is not None:
        message = TellapartError("The study's own code failed.", where=place, got=f"{type(error).__name__}: {error}", fix="mend that line")
        stop(f"Error: {message}", 2)
    versions = f"tellapart {__version__}, Python {platform.python_version()}, {platform.platform()}"
    help_us = f"This is a fault of tellapart, not yours. Please report it with the lines above, your command and: {versions}"
    stop(f"{''.join(traceback.format_exception(error))}\n{help_us}", 1)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tellapart {__version__}")
        raise typer.Exit()


@app.callback()
def _about(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options of the program as a whole."""
