"""Which secret values are sealed with a plan's records: the new versions, whole, with keys that keep their stored value copied over."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from nodusctl.base.ids import Address
from nodusctl.executor.pushing import vault_name
from nodusctl.planner.records import RecordsAfter
from nodusctl.ports.journal import Journal
from nodusctl.state.snapshot import Snapshot


def sealed_values(
    by_address: Mapping[Address, Mapping[str, bytes]], after: RecordsAfter, journal: Journal, snapshot: Snapshot
) -> dict[str, str]:
    """Vault name → base64 text, for every Secret that gets a new version; nothing for one whose bytes are the same."""
    sealed: dict[str, str] = {}
    for address, values in by_address.items():
        uid = after.uids.get(address, "")
        status = after.statuses.get(uid)
        if status is None or status.secret is None:
            continue
        standing = snapshot.get(address)
        former = standing.status.secret.version if standing is not None and standing.status.secret is not None else 0
        for key in status.secret.hmacs:
            text = base64.b64encode(values[key]).decode() if key in values else journal.secret(vault_name(uid, former, key))
            if text is not None:
                sealed[vault_name(uid, status.secret.version, key)] = text
    return sealed
