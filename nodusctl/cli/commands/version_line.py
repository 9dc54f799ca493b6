"""What ``version`` prints; no Typer here, so that it can be said before Typer is loaded."""

from __future__ import annotations

import platform

from nodusctl import __version__
from nodusctl.base.exits import ExitCode
from nodusctl.cli.output.protocol import Output


def say_version(output: Output) -> ExitCode:
    """``nodusctl 0.1.0 (Python 3.11.2)``."""
    python = platform.python_version()
    output.result("result", lambda style: f"nodusctl {__version__} (Python {python})", lambda: {"version": __version__, "python": python})
    return ExitCode.DONE
