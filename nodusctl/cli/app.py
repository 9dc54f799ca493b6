"""The Typer application: global options, and how each command's own application is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from nodusctl.cli.lazy import LazyGroup

_HELP = """Declarative machines for ML work: YAML in, a reviewed and priced plan, exact receipts out.

No server and no account: specs in files, state in a database beside them, providers as plugins.
"""

_EPILOG = """First steps:  nodusctl plan examples/quickstart    what would happen, and what it would cost
              nodusctl apply examples/quickstart   the same, then asks, then does it
              nodusctl destroy --chdir examples/quickstart   takes everything down again

Exit codes: 0 done, 1 error, 2 changes (plan --detailed-exitcode), 10 blocked, 11 plan refused, 12 price moved or unknown,
13 state locked, 14 partly applied, 64 usage error, 70 a bug in nodusctl, 130 or 143 interrupted."""


class Group(LazyGroup):
    """Keeps the line breaks of the epilog."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """As written, without re-wrapping."""
        formatter.write_paragraph()
        formatter.write(_EPILOG + "\n")


application = typer.Typer(
    cls=Group,
    help=_HELP,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@application.callback()
def _root(
    chdir: str = typer.Option("", "--chdir", metavar="DIR", help="Look for the project from DIR instead of the current folder."),
    color: str = typer.Option("auto", "--color", metavar="WHEN", help="Colour: auto, always or never."),
) -> None:
    """Global options are read before Typer runs, wherever they stand; declared here for the help."""


def one_command(function: Callable[..., Any]) -> typer.Typer:
    """A Typer application with a single command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(epilog=GLOBAL_OPTIONS)(function)
    return app


def family(help_text: str) -> typer.Typer:
    """A Typer application with sub-commands."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=help_text, epilog=GLOBAL_OPTIONS)


GLOBAL_OPTIONS = "Also --chdir DIR and --color auto|always|never, before or after the command."
