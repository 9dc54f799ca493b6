"""``nodusctl --help``, made from the registry alone: the first thing a newcomer types shouldn't wait for Typer to load."""

from __future__ import annotations

from nodusctl.cli.registry import SECTIONS

_HEAD = """Usage: nodusctl [--chdir DIR] [--color WHEN] [--json-into FILE] COMMAND [ARGS]...

  Declarative machines for ML work. Write YAML; see a plan with what it will cost; apply it; get a machine you can ssh into, and an
  exact receipt. No server and no account: specs in files, state in a database beside them, providers as plugins.
"""

_OPTIONS = """Options, before or after the command:
  --chdir DIR       Look for the project from DIR instead of the current folder.
  --color WHEN      auto, always or never.
  --json-into FILE  Also write the lines of --json to FILE.
  -h, --help        This text; after a command, that command's own.
"""

_FOOT = """Try it:
  nodusctl plan examples/quickstart       what would happen, what it would cost at most; changes nothing
  nodusctl apply examples/quickstart      the same, then asks, then does it on this computer
  nodusctl ssh lab --chdir examples/quickstart
  nodusctl destroy --chdir examples/quickstart   undo: stops the machine, keeps the saved home
  nodusctl delete volume/lab-home --chdir examples/quickstart   the home and its data too

Exit codes: 0 done, 1 error, 2 changes (plan --detailed-exitcode), 3 drift, 10 blocked, 11 plan refused, 12 price above the plan's
bound, 13 state locked, 14 partly applied, 15 against policy, 64 usage error, 70 a bug in nodusctl, 130 or 143 interrupted.

Not in this version: cloud providers, running Functions, a server. Windows and renewals need nodusctl tick, from cron: docs/time.md."""


def root_help() -> str:
    """The whole text."""
    width = max(len(entry.name) for _, entries in SECTIONS for entry in entries)
    sections = [
        "\n".join([f"{title}:", *(f"  {entry.name:<{width}}  {entry.help}" for entry in entries)]) + "\n" for title, entries in SECTIONS
    ]
    return "\n".join([_HEAD, *sections, _OPTIONS, _FOOT])
