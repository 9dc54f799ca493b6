"""What a client token made, and all there is. A launch's token finds a live machine only.

The token of a later call finds its thing as it is now, ended or not: it is asked to settle an end.
"""

from __future__ import annotations

from nodus_providers.simulated import disks, machines
from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.effects import Gone, Partial
from nodus_providers.simulated.gate import Effects
from nodus_providers.simulated.rows import OF_TOKEN, DiskRow, MachineRow, RevisionRow, TokenRow
from nodus_providers.simulated.views import revision_view, shown_disk, shown_machine
from nodus_providers.simulated.world import World
from nodusctl.provider.machines import Disk, Holdings, Machine, Revision

Found = Machine | Disk | Revision | None
_VISIBLE = f"{OF_TOKEN} AND visible_at <= ?"


def find(tx: Transaction, world: World, token: str, effects: Effects) -> Found:
    """The thing, or None when nothing carries the token or nothing of it is visible yet."""
    if effects.first(Gone):
        return None
    made = (token, world.account, tx.now)
    machine = tx.row(MachineRow, f"{_VISIBLE} AND state NOT IN ('terminated', 'gone')", *made, order="id")
    if machine is not None:
        return shown_machine(tx, world, machine, effects)
    disk = tx.row(DiskRow, f"{_VISIBLE} AND state != 'gone'", *made, order="id")
    if disk is not None:
        return shown_disk(tx, world, disk, effects)
    revision = tx.row(RevisionRow, "token = ?", token)
    if revision is not None:
        return revision_view(revision)
    return _subject(tx, world, token, effects)


def holdings(tx: Transaction, world: World, effects: Effects) -> Holdings:
    """Everything tagged that the platform shows; a ``partial`` fault loses the last of it."""
    all_machines, all_disks = machines.machines_shown(tx, world, effects), disks.disks_shown(tx, world, effects)
    partial = effects.first(Partial)
    share = 100 if partial is None else partial.percent
    return Holdings(machines=all_machines[: len(all_machines) * share // 100], disks=all_disks[: len(all_disks) * share // 100])


def _subject(tx: Transaction, world: World, token: str, effects: Effects) -> Found:
    used = tx.row(TokenRow, "token = ?", token)
    if used is None:
        return None
    if used.kind == "machine":
        machine = tx.row(MachineRow, "id = ? AND account = ?", used.subject, world.account)
        return None if machine is None else shown_machine(tx, world, machine, effects)
    disk = tx.row(DiskRow, "id = ? AND account = ?", used.subject, world.account)
    return None if disk is None else shown_disk(tx, world, disk, effects)


def addresses_of_token(tx: Transaction, token: str) -> tuple[str, ...]:
    """Whose things a token made or touched; empty where the world doesn't know it."""
    machines = tx.rows(MachineRow, "token = ? OR id = (SELECT subject FROM token WHERE token = ?)", token, token)
    disks = tx.rows(
        DiskRow,
        "token = ? OR id IN (SELECT subject FROM token WHERE token = ? UNION SELECT disk_id FROM revision WHERE token = ?)",
        *(token, token, token),
    )
    return tuple(dict.fromkeys([*(machine.address for machine in machines), *(disk.address for disk in disks)]))


def addresses_of_ids(tx: Transaction, *ids: str) -> tuple[str, ...]:
    """Whose machines and disks these are, in the order of the ids."""
    found: list[str] = []
    for thing_id in ids:
        kind: type[MachineRow] | type[DiskRow] = MachineRow if thing_id.startswith("i-") else DiskRow
        row = tx.row(kind, "id = ?", thing_id)
        found += [row.address] if row else []
    return tuple(dict.fromkeys(found))


def all_addresses(tx: Transaction) -> tuple[str, ...]:
    """Everyone who holds something."""
    return tuple(str(address) for (address,) in tx.execute("SELECT address FROM machine UNION SELECT address FROM disk ORDER BY 1"))
