"""The user's and the system's ``config.yaml``, and the ``cli`` part of a project file, as layers of settings.

A file that isn't there is an empty layer, found without loading a YAML reader.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nodusctl.base.diagnostics import Diagnostic, Span, error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.nearest import nearest
from nodusctl.cli.settings import BY_NAME, Layer, Level, Settings, checked, from_environment, from_flags
from nodusctl.cli.surroundings import Surroundings

if TYPE_CHECKING:
    from nodusctl.cli.global_options import GlobalOptions
    from nodusctl.resources.project import ProjectFile

FILE = "config.yaml"
SYSTEM_FOLDER = Path("/etc/nodusctl")


def person_settings(around: Surroundings, options: GlobalOptions) -> Settings:
    """Everything that is known before a project is: flags that stand anywhere, the environment, the user's file, the system's."""
    import platformdirs

    user_folder = Path(platformdirs.user_config_dir("nodusctl", appauthor=False))
    return Settings(
        (
            from_flags(color=options.colour, chdir=options.chdir),
            from_environment(around.environment),
            read_layer(user_folder / FILE, Level.USER),
            read_layer(SYSTEM_FOLDER / FILE, Level.SYSTEM),
        )
    )


def read_layer(path: Path, level: Level) -> Layer:
    """The settings in one file. UserError (64) for what can't be read: an unknown key, a value of another type."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return Layer(level=level)
    from nodusctl.documents.reading import read_mapping

    document, faults = read_mapping(str(path), content)
    if document is None or not isinstance(document.value, dict):
        raise UserError(*faults, exit_code=ExitCode.USAGE)
    values: dict[str, str] = {}
    places: dict[str, Span | str] = {}
    wrong: list[Diagnostic] = []
    for name, value in document.value.items():
        span = document.span((name,), key=True)
        if name not in BY_NAME:
            wrong.append(_unknown(str(name), span))
        elif isinstance(value, bool) or not isinstance(value, (str, int)):
            wrong.append(error("Invalid", "A setting is no plain value.", f"It says {value!r}.", "Write one text or number.", span=span))
        else:
            values[name], places[name] = str(value), document.span((name,))
    if wrong:
        raise UserError(*wrong, exit_code=ExitCode.USAGE)
    return checked(Layer(level=level, values=values, places=places))


def project_layer(project: ProjectFile) -> Layer:
    """What ``cli`` of nodusctl.yaml says."""
    written = project.settings.cli
    if written is None or project.document is None:
        return Layer(level=Level.PROJECT)
    from nodusctl.base.durations import format_duration

    timeout, lock_timeout = written.timeout, written.lock_timeout
    said = {
        "parallelism": str(written.parallelism) if written.parallelism is not None else "",
        "timeout": format_duration(timeout) if timeout is not None else "",
        "lockTimeout": format_duration(lock_timeout) if lock_timeout is not None else "",
    }
    values = {name: text for name, text in said.items() if text}
    document = project.document
    return Layer(level=Level.PROJECT, values=values, places={name: document.span(("cli", name)) for name in values})


def _unknown(name: str, span: Span) -> Diagnostic:
    near = nearest(name, BY_NAME)
    fix = f"Did you mean {near}?" if near else f"The settings are {', '.join(BY_NAME)}."
    return error("NotSupported", "There is no such setting.", f"It says {name!r}.", fix, span=span, field=name)
