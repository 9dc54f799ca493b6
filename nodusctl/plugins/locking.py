"""Holding plugins to the lock: each is compared before it is imported, because importing it is what a wrong one is waiting for.

Only the plugin's own distribution is compared. What it depends on, and Python itself, are the installer's to pin.
"""

from __future__ import annotations

from importlib.metadata import Distribution, EntryPoint

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.plugins.contents import ContentsFault, installed_contents, is_editable, module_is_its_own
from nodusctl.plugins.discovery import OUR_DISTRIBUTION
from nodusctl.plugins.lock_file import LockedPlugin, LockFile

_RELOCK = "If the change is meant, lock it on purpose and commit the file:\n  nodusctl providers lock"


def lock_fault(entry: EntryPoint, lock: LockFile) -> Diagnostic | None:
    """Why this plugin must not be imported; None where it is the one that was locked."""
    locked, distribution = lock.plugins.get(entry.name), entry.dist
    if locked is None:
        detail = f"Provider type {entry.name} ({_shown(distribution)}) is not in {lock.shown}."
        return error(
            "PluginUnlocked", "A provider plugin is not locked.", detail, "Lock it, and commit the file:\n  nodusctl providers lock"
        )
    if distribution is None:
        return _differs(entry, locked, "nobody can say which distribution it comes from")
    if (distribution.name, distribution.version) != (locked.distribution, locked.version):
        return _differs(entry, locked, f"it is {_shown(distribution)} here")
    if locked.is_built_in or distribution.name == OUR_DISTRIBUTION:
        return (
            None
            if locked.is_built_in == (distribution.name == OUR_DISTRIBUTION)
            else _differs(entry, locked, "only one of both is built in")
        )
    return _content_fault(entry, distribution, locked)


def plugin_digest(distribution: Distribution | None) -> str:
    """The digest of a plugin's files, for a plan to remember.

    Empty for a built-in one, for one that is run from its sources, and for one whose files are not what was installed.
    """
    if distribution is None or distribution.name == OUR_DISTRIBUTION or is_editable(distribution):
        return ""
    try:
        return installed_contents(distribution)
    except ContentsFault:
        return ""


def _content_fault(entry: EntryPoint, distribution: Distribution, locked: LockedPlugin) -> Diagnostic | None:
    if is_editable(distribution) or locked.is_editable:
        is_same = is_editable(distribution) and locked.is_editable
        where = "it is run from its sources here" if not locked.is_editable else "it was locked as run from its sources, and isn't"
        return None if is_same else _differs(entry, locked, where)
    if not module_is_its_own(entry.module, distribution):
        return _differs(entry, locked, f"the module {entry.module} would be imported from elsewhere")
    try:
        found = installed_contents(distribution)
    except ContentsFault as fault:
        return _differs(entry, locked, str(fault))
    if found in {one.contents for one in locked.artefacts}:
        return None
    platforms = ", ".join(sorted({one.platform for one in locked.artefacts})) or "none"
    return _differs(entry, locked, f"its files (sha256:{found[:16]}…) are none of those locked (for {platforms})")


def _differs(entry: EntryPoint, locked: LockedPlugin, why: str) -> Diagnostic:
    detail = f"Provider type {entry.name} is locked to {locked.distribution} {locked.version}; {why}. It was not imported."
    return error("PluginDiffers", "A provider plugin is not the one that was locked.", detail, _RELOCK, span=locked.span)


def _shown(distribution: Distribution | None) -> str:
    return f"{distribution.name} {distribution.version}" if distribution is not None else "of no distribution"
