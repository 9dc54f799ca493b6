"""``providers lock``: writes down which plugins the project's providers are, without importing one of them.

Locking is the one way a lock changes, and it changes by versions: the same version with other content than was locked is what a lock is
there to find, so it is refused here too. Wheels of other platforms come from a folder, or from the package index through pip, which has the
person's own index, proxy and certificates.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, error, warning
from nodusctl.base.exits import UserError
from nodusctl.base.redaction import clean
from nodusctl.engine.plan_files import write_whole
from nodusctl.plugins.contents import ContentsFault, Wheel, installed_contents, is_editable, read_wheel
from nodusctl.plugins.discovery import OUR_DISTRIBUTION, by_type, installed_entry_points
from nodusctl.plugins.lock_file import NAME, Artefact, LockedPlugin, LockFile, lock_text, read_lock
from nodusctl.resources.project import ProjectFile

PIP_LIMIT_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """``platforms`` are pip's tags (``manylinux2014_x86_64``); ``wheels`` a folder of wheels, None asks the package index."""

    platforms: tuple[str, ...] = ()
    wheels: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocked:
    """One provider type: what it was locked to before (None: it wasn't) and is now; ``artefacts`` counts its forms."""

    type: str
    before: str | None
    after: str
    artefacts: int
    is_built_in: bool
    is_editable: bool


def lock_providers(folder: Path, project: ProjectFile, request: LockRequest) -> tuple[tuple[Relocked, ...], tuple[Diagnostic, ...]]:
    """Write the lock, whole or not at all. UserError where a plugin isn't installed, is broken, or is another than was locked."""
    before = read_lock(folder) or LockFile(plugins={})
    entries = by_type(installed_entry_points())
    types = sorted({one.type for one in project.providers})
    missing = [_not_installed(name) for name in types if name not in entries]
    if missing:
        raise UserError(*missing)
    locked = {name: _locked(entries[name], before.plugins.get(name), request) for name in types}
    write_whole(folder / NAME, lock_text(locked))
    changes = tuple(_relocked(name, before.plugins.get(name), locked[name]) for name in types)
    return changes, tuple(_remarks(locked.values(), request))


def _locked(entry: EntryPoint, former: LockedPlugin | None, request: LockRequest) -> LockedPlugin:
    distribution = entry.dist
    if distribution is None:
        raise UserError(_not_installed(entry.name))
    made = LockedPlugin(type=entry.name, distribution=distribution.name, version=distribution.version)
    if distribution.name == OUR_DISTRIBUTION:
        return replace(made, is_built_in=True)
    if is_editable(distribution):
        return replace(made, is_editable=True)
    try:
        here = Artefact(contents=installed_contents(distribution), platform=sysconfig.get_platform())
        found = [_artefact(one) for one in _wheels(distribution, request)]
    except ContentsFault as fault:
        raise UserError(_broken(entry.name, distribution, str(fault))) from None
    same = former if former is not None and (former.distribution, former.version) == (made.distribution, made.version) else None
    known = same.artefacts if same is not None else ()
    if same is not None:
        _refuse_other_content(same, here, found)
    # The wheel that was installed says more of the same content than its traces do.
    is_seen = any(one.contents == here.contents for one in (*known, *found))
    return replace(made, artefacts=tuple(dict.fromkeys((*known, *found, *(() if is_seen else (here,))))))


def _wheels(distribution: Distribution, request: LockRequest) -> Sequence[Wheel]:
    """Wheels of this version for the platforms asked for; ContentsFault where one is missing or is not what it says."""
    if request.wheels is not None:
        found = _of(distribution, request.wheels)
        lacking = [one for one in request.platforms if not any(_covers(wheel, one) for wheel in found)]
        if lacking or not found:
            raise ContentsFault(f"{request.wheels} has no wheel of {distribution.version} for {', '.join(lacking) or 'it'}")
        return found
    if not request.platforms:
        return ()
    with tempfile.TemporaryDirectory(prefix="nodusctl-wheels-") as scratch:
        for platform in request.platforms:
            _download(distribution, platform, Path(scratch), request)
        return _of(distribution, Path(scratch))


def _download(distribution: Distribution, platform: str, into: Path, request: LockRequest) -> None:
    wanted = f"{distribution.name}=={distribution.version}"
    options = ("--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--platform", platform)
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", *options, "--dest", str(into), wanted],
            env=dict(request.environment),
            capture_output=True,
            text=True,
            timeout=PIP_LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise ContentsFault(f"pip could not fetch {wanted} for {platform}: {fault}") from None
    if ran.returncode:
        said = clean(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "it gave no reason")
        raise ContentsFault(f"pip could not fetch {wanted} for {platform}: {said.rstrip('.')}")


def _of(distribution: Distribution, folder: Path) -> list[Wheel]:
    """The wheels of this very version in a folder."""
    try:
        wheels = [read_wheel(path) for path in sorted(folder.iterdir()) if path.suffix == ".whl" and _is_of(path.name, distribution)]
    except OSError as fault:
        raise ContentsFault(f"{folder} can't be read: {fault.strerror}") from None
    return wheels


def _is_of(file: str, distribution: Distribution) -> bool:
    name, version, *_ = (*file.split("-"), "", "")
    return (_plain(name), version) == (_plain(distribution.name), distribution.version)


def _plain(name: str) -> str:
    """A distribution's name as all its spellings have it (PEP 503)."""
    return name.lower().replace("-", "_").replace(".", "_")


def _covers(wheel: Wheel, platform: str) -> bool:
    return "any" in wheel.platforms or platform in wheel.platforms


def _artefact(wheel: Wheel) -> Artefact:
    return Artefact(contents=wheel.contents, platform=".".join(wheel.platforms), file=wheel.file, sha256=wheel.sha256)


def _refuse_other_content(former: LockedPlugin, here: Artefact, found: Iterable[Artefact]) -> None:
    """The same version with other files: a wheel that was replaced, or an installation that comes from none of those locked."""
    by_file = {one.file: one for one in former.artefacts if one.file}
    replaced = [one.file for one in found if one.file in by_file and by_file[one.file] != one]
    is_known = any(one.contents == here.contents for one in (*former.artefacts, *found))
    if replaced:
        why = f"{replaced[0]} has another content than it had"
    elif former.artefacts and not is_known:
        why = "what is installed here comes from none of the artefacts that were locked"
    else:
        return
    detail = f"{former.distribution} {former.version}: {why}."
    fix = (
        f"If it comes from a wheel for another platform or Python, lock that one too:\n  nodusctl providers lock --platform TAG\n"
        f"Else find out who replaced it. Where it is meant, remove the entry of {former.type} from {NAME}, then lock again."
    )
    raise UserError(error("PluginDiffers", "The same version has other content.", detail, fix, span=former.span))


def _relocked(name: str, before: LockedPlugin | None, after: LockedPlugin) -> Relocked:
    return Relocked(
        type=name,
        before=f"{before.distribution} {before.version}" if before is not None else None,
        after=f"{after.distribution} {after.version}",
        artefacts=len(after.artefacts),
        is_built_in=after.is_built_in,
        is_editable=after.is_editable,
    )


def _remarks(locked: Iterable[LockedPlugin], request: LockRequest) -> Iterator[Diagnostic]:
    for one in locked:
        if one.is_editable:
            detail = f"{one.distribution} is run from its sources, so only its version is locked, and only on computers where it is too."
            yield warning(
                "PluginEditable", "A plugin has no files to lock.", detail, "Install it, then lock again:\n  pip install DISTRIBUTION"
            )
        elif one.is_built_in and (request.platforms or request.wheels):
            detail = f"{one.type} ships with nodusctl {one.version}, which is what it is locked to on every platform."
            yield warning("PluginBuiltIn", "A plugin has no artefact of its own.", detail)


def _not_installed(name: str) -> Diagnostic:
    fix = "Install its distribution, then lock again. What is installed:\n  nodusctl providers list"
    return error("NotSupported", "No provider plugin has this type.", f"Nothing installed answers to type {name!r}.", fix)


def _broken(name: str, distribution: Distribution, why: str) -> Diagnostic:
    detail = f"Provider type {name} ({distribution.name} {distribution.version}): {why}."
    fix = f"Install it afresh, then lock again:\n  pip install --force-reinstall --no-deps {distribution.name}=={distribution.version}"
    return error("PluginDiffers", "A provider plugin can't be locked.", detail, fix)
