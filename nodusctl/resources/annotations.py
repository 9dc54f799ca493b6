"""The annotations under ``nodus.dev/`` that a person may write: a closed list, each with its type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nodusctl.base.timestamps import parse_time
from nodusctl.resources.windows import parse_windows

PREFIX = "nodus.dev/"
REQUEST_ACTIONS = ("start", "stop", "restart", "refresh-secrets")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_ENV_NAMES = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*(,\s*[A-Za-z_][A-Za-z0-9_]*\s*)*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationFacts:
    """One annotation. ``check`` gives what is right as the end of a sentence, or an empty text when the value is fine."""

    type: str
    description: str
    example: str
    check: Callable[[str], str]


def _check_windows(text: str) -> str:
    try:
        parse_windows(text)
    except ValueError as problem:
        return str(problem)
    return ""


def _check_flag(text: str) -> str:
    return "" if text in ("true", "false") else 'it is "true" or "false"'


def _check_name(text: str) -> str:
    return "" if _NAME.match(text) else "it is the former name of this object"


def _check_env_names(text: str) -> str:
    return "" if _ENV_NAMES.match(text) else "it is names of environment variables, separated by commas"


def _check_time(text: str) -> str:
    try:
        parse_time(text)
    except ValueError as problem:
        return str(problem)
    return ""


_REQUESTS = {
    f"{action}-requested-at": AnnotationFacts(
        type="time",
        description=f"A new value asks for {action}; the value acted on is copied to status.handledRequests.",
        example="2026-10-26T07:00:00Z",
        check=_check_time,
    )
    for action in REQUEST_ACTIONS
}

ANNOTATIONS: Mapping[str, AnnotationFacts] = MappingProxyType(
    {
        "windows": AnnotationFacts(
            type="windows",
            description="Weekly windows in which the Workspace runs.",
            example="Mon-Fri 09:00-17:00 Europe/Madrid",
            check=_check_windows,
        ),
        "late-start": AnnotationFacts(
            type="boolean text", description="Start a window that was missed by more than 30 minutes.", example="true", check=_check_flag
        ),
        "moved-from": AnnotationFacts(
            type="name",
            description="Former name of this object: a rename instead of a removal and a new object.",
            example="lab",
            check=_check_name,
        ),
        "protected": AnnotationFacts(
            type="boolean text", description="Refuse every removal of this object.", example="true", check=_check_flag
        ),
        "allow-env": AnnotationFacts(
            type="names",
            description="Environment variables that look like secrets and are none.",
            example="TOKEN_LIMIT",
            check=_check_env_names,
        ),
        **_REQUESTS,
    }
)
