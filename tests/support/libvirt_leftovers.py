"""Domains that killed test runs left on a shared libvirt host, found and ended.

Ours by the provider's own metadata, and left over by what that says: the run of the conformance suite that made it is over, or its files
lie in a temporary folder of a pytest that has ended. Whatever else there is, of people or of runs that go on, is never touched.
"""

from __future__ import annotations

import os
import re
import shutil
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

from nodus_providers.libvirt.connection import Connection
from nodus_providers.libvirt.hosts import tag_in
from nodus_providers.libvirt.records import MachineRecord, record_in_mark
from nodusctl.base.timestamps import parse_time
from nodusctl.testing.runs import is_left_over

_OF_PYTEST = re.compile(r"(.*/pytest-of-[^/]+/pytest-\d+)/")


def clear_leftovers(uri: str) -> tuple[str, ...]:
    """End and remove them, with their files; the names of those that were there."""
    connection, gone = Connection(uri), []
    for domain in connection.domains():
        record = record_in_mark(domain.mark)
        if record is None or tag_in(record.id) == "":
            continue
        folder = machine_folder(connection.xml(domain.uuid), record)
        if is_over(record, folder, datetime.now(UTC)):
            connection.destroy(domain.uuid)
            connection.undefine(domain.uuid)
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            gone.append(domain.name)
    return tuple(gone)


def machine_folder(xml: str, record: MachineRecord) -> Path | None:
    """Where the machine's own files are, by its definition; None where that names no such folder."""
    files = (Path(source.get("file", "")) for source in ET.fromstring(xml).findall("devices/disk/source"))
    return next((file.parent for file in files if file.parent.name == record.id), None)


def is_over(record: MachineRecord, folder: Path | None, now: datetime) -> bool:
    """Whether the run that made it has ended, however it did."""
    if is_left_over(record.tags, parse_time(record.created_at), now):
        return True
    found = _OF_PYTEST.match(f"{folder}/") if folder is not None else None
    return found is not None and not _goes_on(Path(found[1]))


def _goes_on(folder: Path) -> bool:
    """A pytest keeps its pid in its folder while it runs, and takes it away at its end."""
    try:
        os.kill(int((folder / ".lock").read_text()), 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    except (ValueError, OSError):
        return True
    return True
