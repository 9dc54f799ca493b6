"""What ``doctor`` finds: areas that were looked at, each with its findings. Pure; the looking is done before.

The surprise: a finding without a command that mends it would only worry somebody, so ``with_fix`` gives each one at least the registered
remedy of its code, and a missing piece is never less than a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.base.diagnostics import Diagnostic, Severity, error, warning
from nodusctl.resources.errors import REASONS

LEAST_PYTHON = (3, 11)
_GIB = 2**30
SCARCE_BYTES = 2 * _GIB
FULL_BYTES = 200 * 2**20
CLOCK_SLACK = timedelta(minutes=2)
_OPEN_TO_OTHERS = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One thing that was looked at: ``kind`` is host, project, state, plugin or provider; ``note`` says what was seen."""

    kind: str
    name: str
    note: str = ""
    findings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """All areas, in the order they were looked at."""

    areas: tuple[Area, ...]

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Every finding once."""
        return tuple(dict.fromkeys(finding for area in self.areas for finding in area.findings))

    @property
    def is_healthy(self) -> bool:
        """False where any finding is an error or a warning."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRoom:
    """A folder that is written to, and how much room its file system has."""

    what: str
    path: str
    free_bytes: int
    is_writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMode:
    """A private file or folder that is there."""

    what: str
    path: str
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What a look at this computer gave. ``known_moment`` is the newest moment that must have passed (the price book's)."""

    python: tuple[int, int, int]
    platform: str
    programs: tuple[tuple[str, str], ...]
    rooms: tuple[DiskRoom, ...]
    modes: tuple[FileMode, ...]
    now: datetime
    known_moment: datetime | None


_PACKAGES = {"ssh": "openssh-client", "scp": "openssh-client", "ssh-keygen": "openssh-client", "git": "git"}
_NEEDED = {
    "ssh": "Machines are reached with it.",
    "scp": "Files are copied with it.",
    "ssh-keygen": "Key pairs of machines are made with it.",
}


def host_areas(facts: HostFacts) -> Iterator[Area]:
    """Python, programs, room on disk, clock, and who may read private files."""
    version = ".".join(map(str, facts.python))
    yield Area(kind="host", name="python", note=version, findings=tuple(_python_findings(facts.python, version)))
    for name, path in facts.programs:
        yield Area(kind="host", name=name, note=path or "missing", findings=() if path else (missing_program(name),))
    for room in facts.rooms:
        yield Area(kind="host", name=room.what, note=f"{room.free_bytes / _GIB:.1f} GiB free", findings=tuple(_room_findings(room)))
    yield Area(kind="host", name="clock", note=f"{facts.now:%Y-%m-%dT%H:%M:%SZ}", findings=tuple(clock_findings(facts)))
    for one in facts.modes:
        yield Area(kind="host", name=one.what, note=f"mode {one.mode:04o}", findings=tuple(_mode_findings(one)))


def clock_findings(facts: HostFacts, *, last_operation: datetime | None = None) -> Iterator[Diagnostic]:
    """A clock that is behind what has already happened makes wrong charges and locks that look fresh."""
    known = max((one for one in (facts.known_moment, last_operation) if one is not None), default=None)
    if known is not None and facts.now < known - CLOCK_SLACK:
        detail = f"It says {facts.now:%Y-%m-%dT%H:%M:%SZ}; something known here happened at {known:%Y-%m-%dT%H:%M:%SZ}."
        yield error(
            "ClockWrong", "This computer's clock is behind", detail, "Set it from the network, as root:\n  timedatectl set-ntp true"
        )


def with_fix(finding: Diagnostic) -> Diagnostic:
    """The finding with a remedy, whoever forgot it."""
    if finding.fix:
        return finding
    known = REASONS.get(finding.code)
    return replace(finding, fix=known.fix if known is not None and known.fix else "Report it to the author of what was checked.")


def mended(areas: Iterable[Area]) -> Checkup:
    """The areas as one checkup, every finding with its fix."""
    return Checkup(areas=tuple(replace(area, findings=tuple(with_fix(one) for one in area.findings)) for area in areas))


def _python_findings(version: tuple[int, int, int], shown: str) -> Iterator[Diagnostic]:
    if version[:2] < LEAST_PYTHON:
        detail = f"This is {shown}; nodusctl is tested from 3.11 on."
        yield error("Unsupported", "Python is too old", detail, "Install a newer one, as root:\n  apt-get install python3")


def missing_program(name: str) -> Diagnostic:
    """A program that is called by its name and isn't on PATH."""
    fix = f"Run as root:\n  apt-get install {_PACKAGES.get(name, name)}"
    return error("ProgramMissing", "A program is not installed", f"{name} is not on PATH. {_NEEDED.get(name, '')}".strip(), fix)


def _room_findings(room: DiskRoom) -> Iterator[Diagnostic]:
    where = f"{room.what} {room.path}"
    if not room.is_writable:
        yield error("NotWritable", "A folder can't be written", f"{where} can't be written by this user.", f"chmod u+rwx {room.path}")
    if room.free_bytes < FULL_BYTES:
        detail = (
            f"{where}: {room.free_bytes // 2**20} MiB are free. A state that can't be written loses no money, but nothing can be started."
        )
        yield error(
            "DiskFull", "There is no room on disk", detail, f"See what takes it, then free some:\n  du -xh {room.path} | sort -h | tail"
        )
    elif room.free_bytes < SCARCE_BYTES:
        detail = f"{where}: {room.free_bytes / _GIB:.1f} GiB are free."
        yield warning(
            "DiskScarce", "Room on disk is scarce", detail, f"See what takes it, then free some:\n  du -xh {room.path} | sort -h | tail"
        )


def _mode_findings(one: FileMode) -> Iterator[Diagnostic]:
    if one.mode & _OPEN_TO_OTHERS:
        wanted = one.mode & 0o700
        detail = f"{one.what} {one.path} has mode {one.mode:04o}: others on this computer may read it."
        yield error("OpenToOthers", "A private file is open to others", detail, f"chmod {wanted:o} {one.path}")
