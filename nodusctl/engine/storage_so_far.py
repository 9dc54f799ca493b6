"""What accrues now for the disks of a state, read anew from their statuses: Budgets count it before it is posted."""

from __future__ import annotations

from nodusctl.ledger.storage import Stretches
from nodusctl.ports.journal import Journal


def stretches_in(journal: Journal) -> Stretches:
    """By the uid of the Volume; of every disk whose price was written down."""
    volumes = journal.load_many(record.uid for record in journal.records("volume"))
    found = ((uid, stored.status.volume.storage) for uid, stored in volumes.items() if stored.status.volume is not None)
    return {uid: stretch for uid, stretch in found if stretch is not None}
