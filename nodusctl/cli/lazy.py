"""The root group: it knows every command by name and imports a command's module only when that command is called."""

from __future__ import annotations

import importlib
from typing import Any

import typer.main
from typer.core import TyperGroup

from nodusctl.base.nearest import nearest
from nodusctl.cli.registry import ENTRIES
from nodusctl.cli.root_help import root_help


class LazyGroup(TyperGroup):
    """An unknown command is a usage error that names the nearest."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every command, in the order of the help."""
        return list(ENTRIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, its module imported now; None for an unknown name."""
        entry = ENTRIES.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"nodusctl.cli.commands.{entry.module}")
        application = module.APPS[cmd_name] if hasattr(module, "APPS") else module.app
        command = typer.main.get_command(application)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As click does, with a suggestion for a misspelt name."""
        if args and args[0] not in ENTRIES and not args[0].startswith("-"):
            near = nearest(args[0], ENTRIES)
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean '{near}'?" if near else ""))
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: Any) -> str:
        """The same text as without Typer."""
        return root_help()
