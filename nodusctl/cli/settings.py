"""Settings of the command line itself, and which source each came from: flag > environment > project > user > system > default.

Values stay text until a command needs them, so that ``config view`` can show every source alike. The surprise: ``color`` and ``chdir`` are
never taken from a project file, because they are needed before any project is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nodusctl.base.diagnostics import Diagnostic, Span, error
from nodusctl.base.durations import parse_duration
from nodusctl.base.exits import ExitCode, UserError


class Level(StrEnum):
    """Where a value came from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    PROJECT = "project file"
    USER = "user file"
    SYSTEM = "system file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. ``check`` raises ValueError with what is right; ``is_of_project`` allows it under ``cli`` of nodusctl.yaml."""

    name: str
    variable: str
    default: str
    description: str
    check: Callable[[str], object] = str
    is_of_project: bool = True
    flag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A value and where it came from; ``place`` is a flag, a variable or ``file:line:column``."""

    name: str
    value: str
    level: Level
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The values of one source, each with its place (a Span in a file, else a name)."""

    level: Level
    values: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Span | str] = field(default_factory=dict)


def _one_of(*words: str) -> Callable[[str], object]:
    def check(text: str) -> object:
        if text not in words:
            raise ValueError(f"it is one of {', '.join(words)}")
        return text

    return check


def _parallelism(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 100):
        raise ValueError("it is a whole number from 1 to 100")
    return int(text)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="color",
        variable="NODUSCTL_COLOR",
        default="auto",
        description="When to colour: auto, always or never.",
        check=_one_of("auto", "always", "never"),
        is_of_project=False,
        flag="--color",
    ),
    Setting(
        name="chdir",
        variable="NODUSCTL_CHDIR",
        default="",
        description="The folder in which the project is looked for.",
        is_of_project=False,
        flag="--chdir",
    ),
    Setting(
        name="parallelism",
        variable="NODUSCTL_PARALLELISM",
        default="10",
        description="Provider calls at once.",
        check=_parallelism,
        flag="--parallelism",
    ),
    Setting(
        name="timeout",
        variable="NODUSCTL_TIMEOUT",
        default="30m",
        description="How long to wait for machines.",
        check=parse_duration,
        flag="--timeout",
    ),
    Setting(
        name="lockTimeout",
        variable="NODUSCTL_LOCK_TIMEOUT",
        default="10s",
        description="How long to wait for the state lock, which is held for as long as it takes to write a plan down.",
        check=parse_duration,
        flag="--lock-timeout",
    ),
    Setting(
        name="ci",
        variable="NODUSCTL_CI",
        default="false",
        description="Whether this is a run of CI, where nothing unreviewed is applied: true or false.",
        check=_one_of("true", "false", "1", "0"),
        is_of_project=False,
        flag="--ci",
    ),
    Setting(
        name="stateKeyFile",
        variable="NODUSCTL_STATE_KEY_FILE",
        default="",
        description="The file with the state's encryption key; empty is state.key in the user's data folder.",
        is_of_project=False,
    ),
    Setting(
        name="stateKeySource",
        variable="NODUSCTL_STATE_KEY_SOURCE",
        default="file",
        description="Where this person's keys to states lie: file, or keyring (the desktop's).",
        check=_one_of("file", "keyring"),
        is_of_project=False,
    ),
)
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """Layers, strongest first."""

    layers: tuple[Layer, ...] = ()

    def chosen(self, name: str) -> Chosen:
        """The value that wins."""
        for layer in self.layers:
            if name in layer.values:
                return Chosen(name=name, value=layer.values[name], level=layer.level, place=str(layer.places.get(name, "")))
        return Chosen(name=name, value=BY_NAME[name].default, level=Level.DEFAULT)

    def text(self, name: str) -> str:
        """Its value alone."""
        return self.chosen(name).value

    def under(self, layer: Layer) -> Settings:
        """With one more layer, at its place by strength."""
        order = list(Level)
        return Settings(tuple(sorted((*self.layers, layer), key=lambda one: order.index(one.level))))


NO_SETTINGS = Settings()


def checked(layer: Layer) -> Layer:
    """The layer, or UserError with one Diagnostic for each value that can't be."""
    faults = [fault for name, text in layer.values.items() if (fault := _fault(BY_NAME[name], text, layer)) is not None]
    if faults:
        raise UserError(*faults, exit_code=ExitCode.USAGE)
    return layer


def from_environment(environment: Mapping[str, str]) -> Layer:
    """The ``NODUSCTL_*`` variables that are set and not empty."""
    found = {setting.name: setting for setting in SETTINGS if environment.get(setting.variable)}
    values = {name: environment[setting.variable] for name, setting in found.items()}
    return checked(Layer(level=Level.ENVIRONMENT, values=values, places={name: setting.variable for name, setting in found.items()}))


def from_flags(**values: str) -> Layer:
    """What was said on the command line; an empty value counts as not said."""
    said = {name: text for name, text in values.items() if text}
    return checked(Layer(level=Level.FLAG, values=said, places={name: BY_NAME[name].flag for name in said}))


def _fault(setting: Setting, text: str, layer: Layer) -> Diagnostic | None:
    try:
        setting.check(text)
    except ValueError as fault:
        place = layer.places.get(setting.name)
        shown = place if isinstance(place, str) and place else setting.name
        span = place if isinstance(place, Span) else None
        detail = f"{shown} says {text!r}; {fault}."
        return error("Usage", "A setting has no readable value", detail, "Correct it there.", span=span, field=setting.name)
    return None
