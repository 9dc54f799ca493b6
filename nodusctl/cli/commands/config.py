"""``nodusctl config view``: every setting with its value and, with ``--origin``, the source that won."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import ExitCode
from nodusctl.base.urls import without_password
from nodusctl.cli.app import family
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.settings import BY_NAME, SETTINGS, Chosen, Level
from nodusctl.cli.wiring import Wiring
from nodusctl.render.style import Style
from nodusctl.render.tables import table
from nodusctl.resources.explain import explain

app = family("Settings of the command line and of the project.")


@app.callback()
def _config() -> None:
    """Settings of the command line and of the project."""


@app.command("view")
def view(
    context: typer.Context,
    *,
    with_origin: Annotated[bool, typer.Option("--origin", help="Say which source won: flag, variable, file and line, default.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """Settings as they count here. Flag > environment NODUSCTL_* > project file > user file > system file > default."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    rows = [*_of_command_line(wiring), *_of_project(wiring)]
    output.result("result", lambda style: _text(rows, style, with_origin=with_origin), lambda: {"settings": [_json(one) for one in rows]})
    return ExitCode.DONE


def _of_command_line(wiring: Wiring) -> list[Chosen]:
    return [*(wiring.settings.chosen(setting.name) for setting in SETTINGS), _state_key(wiring)]


def _state_key(wiring: Wiring) -> Chosen:
    """Where the key comes from; never the key."""
    if wiring.surroundings.environment.get("NODUSCTL_STATE_KEY"):
        return Chosen(name="stateKey", value="(set)", level=Level.ENVIRONMENT, place="NODUSCTL_STATE_KEY")
    source = wiring.settings.chosen("stateKeySource")
    if source.value == "keyring":
        return Chosen(name="stateKey", value="(the desktop's keyring)", level=source.level, place=source.place)
    named = wiring.settings.chosen("stateKeyFile")
    is_there = wiring.key_file.exists()
    value = str(wiring.key_file) + ("" if is_there else " (made when a value is first sealed)")
    return Chosen(name="stateKey", value=value, level=named.level, place=named.place)


def _of_project(wiring: Wiring) -> list[Chosen]:
    project = wiring.project.file
    written = project.document.value if project.document is not None else None
    fields = explain("project")
    found = []
    for name in [name for name, _, _ in fields.fields] if not isinstance(fields, Diagnostic) else []:
        if isinstance(written, dict) and name in written and project.document is not None:
            place = str(project.document.span((name,), key=True))
            value = without_password(str(written[name])) if name == "state" else _shown(written[name])
            found.append(Chosen(name=f"project: {name}", value=value, level=Level.PROJECT, place=place))
        elif name != "cli":
            doc = explain(f"project.{name}")
            default = doc.default if not isinstance(doc, Diagnostic) else ""
            found.append(Chosen(name=f"project: {name}", value=default or "none", level=Level.DEFAULT))
    return found


def _shown(value: Any) -> str:
    """One line: lists joined, mappings by key, and of a mapping of mappings the keys alone."""
    if isinstance(value, dict):
        inner = [str(key) if isinstance(one, dict) else f"{key}: {_shown(one)}" for key, one in value.items()]
        return ", ".join(inner)
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def _text(rows: list[Chosen], style: Style, *, with_origin: bool) -> str:
    if not with_origin:
        return table(("SETTING", "VALUE"), [[one.name, one.value or "none"] for one in rows], style)
    shown = [[one.name, one.value or "none", one.level.value, one.place] for one in rows]
    return table(("SETTING", "VALUE", "ORIGIN", "PLACE"), shown, style)


def _json(one: Chosen) -> dict[str, str]:
    variable = BY_NAME[one.name].variable if one.name in BY_NAME else ""
    parts = {"name": one.name, "value": one.value, "origin": one.level.value, "place": one.place, "variable": variable}
    return {name: text for name, text in parts.items() if text or name == "value"}
