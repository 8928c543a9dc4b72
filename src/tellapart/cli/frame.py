"""The program: its commands, and what happens when one fails."""

from __future__ import annotations

import functools
import json
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


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command whose errors are messages."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except TellapartError as error:
            stop(f"Error: {error}", 2)
        except MemoryError:
            stop("Error: There is not enough memory for this.\n  fix:      ask for fewer participants at a time", 2)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            _explain(error)

    app.command()(guarded)
    return function


def option(written: str, help: str, **more: Any) -> Any:
    """An option as help writes it, "--out FILE.csv" or "--json", and what it is for."""
    name, _, metavar = written.partition(" ")
    return typer.Option(name, metavar=metavar or None, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """An argument as help writes it, "STUDY", and what it is."""
    return typer.Argument(metavar=metavar, help=help)


def show(result: Any) -> None:
    typer.echo(result if isinstance(result, str) else json.dumps(result, allow_nan=False))


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
