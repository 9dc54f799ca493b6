"""What others did to a machine of ours: edited or removed its definition, or took its cards while it was off. Asks the host."""

from __future__ import annotations

from nodus_providers.libvirt.connection import Domain, LibvirtError, Power
from nodus_providers.libvirt.definitions import taken_cards
from nodus_providers.libvirt.drift import changes
from nodus_providers.libvirt.holders import read_claim
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.pci import PciAddress
from nodus_providers.libvirt.records import LAUNCHING, MachineRecord, owner_in

_LIVES = (Power.RUNNING, Power.PAUSED)


def edits_of(host: Host, domain: Domain, record: MachineRecord) -> tuple[tuple[str, str, str], ...]:
    """What somebody changed by hand in the definition of a machine that runs: name, as it was made, as it is now."""
    if record.phase == LAUNCHING or domain.power not in _LIVES:
        return ()
    try:
        return changes(record.wrote, host.connection.xml(domain.uuid), is_persistent=domain.is_persistent)
    except LibvirtError:
        return ()  # it went while we looked


def taken_from(host: Host, domain: Domain, record: MachineRecord) -> str:
    """Who has the cards of a machine that is off by now, in a sentence; "" where nobody has."""
    if not record.devices or domain.power in _LIVES:
        return ""
    claims = [read_claim(xml, is_active=is_active, owner_of=owner_in) for xml, is_active in host.connection.definitions()]
    taken = taken_cards([PciAddress.parse(one) for one in record.devices], claims, domain.uuid)
    return "; ".join(f"its card {address} is held by {holder} now" for address, holder in taken)
