"""The Typer application: global options, and how each command's own application is made."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from nodusctl.cli.lazy import LazyGroup

_TYPE_NAME = re.compile(r" <[a-z]+(\[[a-z]+\])?>")

application = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@application.callback()
def _root(
    chdir: str = typer.Option("", "--chdir", metavar="DIR", help="Look for the project from DIR instead of the current folder."),
    color: str = typer.Option("auto", "--color", metavar="WHEN", help="Colour: auto, always or never."),
    json_into: str = typer.Option("", "--json-into", metavar="FILE", help="Also write the lines of --json to FILE."),
) -> None:
    """Global options are read before Typer runs, wherever they stand; declared here for the help."""


class PlainCommand(TyperCommand):
    """Help without Python's names for types (``<list[str]>``), which say nothing to a person at a terminal."""

    def get_help(self, ctx: Any) -> str:
        """Typer's text without them."""
        return _TYPE_NAME.sub("", super().get_help(ctx))


def one_command(function: Callable[..., Any]) -> typer.Typer:
    """A Typer application with a single command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(cls=PlainCommand, epilog=GLOBAL_OPTIONS)(function)
    return app


def family(help_text: str) -> typer.Typer:
    """A Typer application with sub-commands."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=help_text, epilog=GLOBAL_OPTIONS)


GLOBAL_OPTIONS = "Also --chdir DIR, --color auto|always|never and --json-into FILE, before or after the command."
