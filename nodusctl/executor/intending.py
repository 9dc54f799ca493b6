"""Turns a due step into an Intent and what is committed with it, before any call.

The request that will be sent stands in the intent as JSON (what is secret stands in the vault), so that a process that finds the intent
after a crash can send exactly the same bytes under the same token.
"""

from __future__ import annotations

from collections.abc import Callable

from nodusctl.attempts.intents import StepKind
from nodusctl.executor import intending_disks as disks
from nodusctl.executor import intending_launches as launches
from nodusctl.executor import intending_machines as machines
from nodusctl.executor.intended import Intended
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import (
    AttachHome,
    CreateDisk,
    DeleteDisk,
    DetachHome,
    DropEmptyDisk,
    DropRevision,
    GrowDisk,
    HandOverKeys,
    Launch,
    PushSecrets,
    Quiesce,
    Release,
    Renew,
    RestoreDisk,
    SaveHome,
)

Outward = (
    CreateDisk
    | DropEmptyDisk
    | Launch
    | AttachHome
    | HandOverKeys
    | PushSecrets
    | Renew
    | Quiesce
    | Release
    | DetachHome
    | SaveHome
    | RestoreDisk
    | DropRevision
    | GrowDisk
    | DeleteDisk
)


def intend(outside: Outside, situation: Situation, step: Outward) -> Intended:
    """The intent of ``step``, whole."""
    return _MAKERS[type(step)](outside, situation, step)


_MAKERS: dict[type, Callable[..., Intended]] = {
    Launch: launches.launch,
    CreateDisk: disks.create_disk,
    DropEmptyDisk: disks.drop_disk,
    AttachHome: disks.attach,
    DetachHome: disks.detach,
    SaveHome: disks.save,
    PushSecrets: machines.push,
    Renew: machines.renew,
    HandOverKeys: machines.on_machine(StepKind.HAND_OVER_KEYS, lambda outside, situation: {}),
    Quiesce: machines.on_machine(StepKind.QUIESCE, machines.grace),
    Release: machines.on_machine(StepKind.RELEASE, lambda outside, situation: {}),
    RestoreDisk: disks.restore,
    DropRevision: disks.drop_revision,
    GrowDisk: disks.grow,
    DeleteDisk: disks.delete_disk,
}
