"""What a distribution is made of, as one digest: the same for a wheel and for what installing it left behind, and never by importing it.

A wheel's RECORD (PEP 376, PEP 427) lists its files with their SHA-256. Installing adds files of the installer's own (INSTALLER, scripts,
compiled bytecode), which are left out here. The surprise: RECORD is only the list. Every file is read and hashed, because a RECORD that
still says what it said is what a changed file would leave behind.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path

_INSTALLERS_OWN = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "RECORD.jws", "RECORD.p7s"})
_CODE = frozenset({".py", ".so", ".pyd", ".dll", ".dylib"})
_RELOCATED = frozenset({"purelib", "platlib"})


class ContentsFault(Exception):
    """The files are not what their RECORD says, or there is no RECORD; the text is one sentence without its full stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel by its file name (PEP 427): ``platforms`` are its platform tags, ``any`` for one that runs everywhere."""

    file: str
    name: str
    version: str
    platforms: tuple[str, ...]
    sha256: str
    contents: str


def is_editable(distribution: Distribution) -> bool:
    """True where it is run from its sources, so that it has no files of its own to hash (PEP 610)."""
    text = distribution.read_text("direct_url.json")
    try:
        return bool(text and (json.loads(text).get("dir_info") or {}).get("editable"))
    except (ValueError, AttributeError):
        return False


def installed_contents(distribution: Distribution) -> str:
    """The digest of an installed distribution; ContentsFault where a file is missing, changed, or nobody's."""
    text = distribution.read_text("RECORD")
    if text is None:
        raise ContentsFault("it has no RECORD, so nobody can say what belongs to it")
    recorded = dict(_recorded(text))
    root = Path(str(distribution.locate_file("")))
    hashes = {name: _hash_of_file(root / name, name) for name in recorded}
    changed = [name for name, found in hashes.items() if found != recorded[name]]
    if changed:
        raise ContentsFault(f"{_named(changed)} changed since it was installed")
    strangers = sorted(_strangers(root, recorded))
    if strangers:
        raise ContentsFault(f"{_named(strangers)} lies in its packages and is not its own")
    return _digest(hashes)


def module_is_its_own(module: str, distribution: Distribution) -> bool:
    """True where Python would find the module's package among this distribution's files; asked without importing it."""
    try:
        found = find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return False
    places = (
        [found.origin] if found is not None and found.origin else list(found.submodule_search_locations or ()) if found is not None else []
    )
    root = Path(str(distribution.locate_file(""))).resolve()
    return bool(places) and all(Path(place).resolve().is_relative_to(root) for place in places if place)


def read_wheel(path: Path) -> Wheel:
    """One wheel; ContentsFault where the file is none, or holds something else than its RECORD says."""
    parts = path.name.removesuffix(".whl").split("-")
    if path.suffix != ".whl" or len(parts) not in {5, 6}:
        raise ContentsFault(f"{path.name} is no name of a wheel")
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            record = next((name for name in names if name.endswith(".dist-info/RECORD") and name.count("/") == 1), None)
            if record is None:
                raise ContentsFault(f"{path.name} has no RECORD")
            recorded = dict(_rows(archive.read(record).decode()))
            hashes = {
                name: _base64(hashlib.sha256(archive.read(name)).digest())
                for name in names
                if name.rpartition("/")[2] not in _INSTALLERS_OWN
            }
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError) as fault:
        raise ContentsFault(f"{path.name} can't be read: {fault}") from None
    changed = [name for name, found in hashes.items() if recorded.get(name) != found]
    if changed:
        raise ContentsFault(f"{_named(changed)} in {path.name} is not what its RECORD says")
    placed = {place: found for name, found in hashes.items() if (place := _installed_place(name)) is not None}
    return Wheel(
        file=path.name, name=parts[0], version=parts[1], platforms=tuple(parts[-1].split(".")), sha256=sha256, contents=_digest(placed)
    )


def _recorded(text: str) -> Iterator[tuple[str, str]]:
    """Files that came with the wheel: those of the installer, compiled ones, and what lies outside the packages are left out."""
    for name, found in _rows(text):
        is_outside = name.startswith(("../", "/"))
        if found and not is_outside and "__pycache__" not in name.split("/") and name.rpartition("/")[2] not in _INSTALLERS_OWN:
            yield name, found


def _rows(text: str) -> Iterator[tuple[str, str]]:
    for row in csv.reader(io.StringIO(text)):
        if row:
            algorithm, _, value = (row[1] if len(row) > 1 else "").partition("=")
            yield row[0].replace("\\", "/"), value if algorithm == "sha256" else ""


def _installed_place(name: str) -> str | None:
    """Where a wheel's file goes below site-packages; None for what goes elsewhere (scripts, headers)."""
    parts = name.split("/")
    if not parts[0].endswith(".data"):
        return name
    return "/".join(parts[2:]) if len(parts) > 2 and parts[1] in _RELOCATED else None


def _hash_of_file(path: Path, name: str) -> str:
    try:
        return _base64(hashlib.sha256(path.read_bytes()).digest())
    except OSError as fault:
        raise ContentsFault(f"{name} can't be read: {fault.strerror}") from None


def _strangers(root: Path, recorded: Mapping[str, str]) -> Iterator[str]:
    """Code in the packages of a distribution that its RECORD doesn't list: it would be imported all the same."""
    packages = {name.split("/")[0] for name in recorded if "/" in name and not name.split("/")[0].endswith(".dist-info")}
    for package in packages:
        for path in (root / package).rglob("*"):
            name = path.relative_to(root).as_posix()
            if path.suffix in _CODE and name not in recorded and path.is_file():
                yield name


def _digest(hashes: Mapping[str, str]) -> str:
    return hashlib.sha256("".join(f"{name}\0{found}\n" for name, found in sorted(hashes.items())).encode()).hexdigest()


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _named(names: Iterable[str]) -> str:
    shown = list(names)
    return shown[0] if len(shown) == 1 else f"{shown[0]} and {len(shown) - 1} more"
