"""Cards that failed: kept out until a person says they are well, by a mark on the host they are in.

The mark is a file named by the card's address, with its serial number where it has one, so that it follows the card to another slot and
isn't inherited by the card that is put into the old one. Pure: scripts and verdicts; who runs a script is the connection's affair.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from nodus_providers.libvirt.host_probe import DeviceFacts, HostProbe
from nodus_providers.libvirt.pci import VFIO_DRIVERS, PciAddress, PciDevice

FOLDER = "/var/lib/nodus/quarantine"
_SERIAL = "serial="


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark: where the card was, its serial number or "", and what happened, with when."""

    address: PciAddress
    serial: str = ""
    reason: str = ""

    @property
    def lift_command(self) -> str:
        """What a person runs on the host once the card is well."""
        return f"rm {FOLDER}/{self.address}"


def marks_of(files: Mapping[str, str]) -> tuple[Mark, ...]:
    """Read the marks of a host: file name to content. A file that isn't named by an address is none of ours."""
    found = []
    for name, content in files.items():
        try:
            address = PciAddress.parse(name)
        except ValueError:
            continue
        first, _, rest = content.strip().partition(" ")
        serial = first.removeprefix(_SERIAL) if first.startswith(_SERIAL) else ""
        found.append(Mark(address=address, serial=serial, reason=(rest if first.startswith(_SERIAL) else content).strip()))
    return tuple(found)


def mark_script(mark: Mark) -> str:
    """Set a mark, for good: written beside, flushed, renamed. Repeating it changes nothing."""
    path = shlex.quote(f"{FOLDER}/{mark.address}")
    line = shlex.quote(f"{_SERIAL}{mark.serial} {' '.join(mark.reason.split())}")
    return f"set -e\nmkdir -p {FOLDER}\nprintf '%s\\n' {line} > {path}.new\nsync {path}.new 2>/dev/null || sync\nmv {path}.new {path}\n"


def mark_on(device: PciDevice, probe: HostProbe) -> Mark | None:
    """The mark that speaks of this card: of the same serial number, or of the same address where either has none."""
    serial = probe.facts(device.address).serial
    for mark in marks_of(probe.quarantine):
        if mark.serial and serial:
            if mark.serial == serial:
                return mark
        elif mark.address == device.address:
            return mark
    return None


def failure_after_stop(device: PciDevice | None, facts: DeviceFacts | None, *, driver_before: str, is_managed: bool) -> str:
    """What a look at a card after its machine ended finds wrong with it; "" where it is well.

    Args:
        device: as libvirt lists it now; None where it lists none at this address any more.
        facts: as sysfs shows it now; None where nobody could look.
        driver_before: the host's driver before the machine started, "" for none.
        is_managed: True where libvirt had to give it back to that driver.
    """
    if device is None:
        return "it fell off the bus: the host lists no device at this address any more"
    if facts is not None and facts.answers is False:
        power = f" (power state {facts.power_state})" if facts.power_state else ""
        return f"it no longer answers: its configuration space can't be read or holds only ones{power}"
    if is_managed and driver_before and driver_before not in VFIO_DRIVERS and not device.driver:
        return f"it wasn't given back: no driver is bound, {driver_before} was before"
    return ""


def failure_in_text(message: str) -> str:
    """What in a message of libvirt, QEMU or the kernel says that a card is broken, as a reason to keep it out; "" where nothing does."""
    low = message.lower()
    return next((reason for words, reason in _SIGNS if all(word in low for word in words)), "")


_SIGNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("not ready", "after resume"), "it didn't come back from its sleep (D3cold)"),
    (("unknown header type",), "it no longer answers: its header reads as ones"),
    (("unknown pci header type",), "it no longer answers: its header reads as ones"),
    (("unable to reset pci device",), "it can't be reset"),
    (("failed to reset",), "its reset failed"),
    (("not ready", "giving up"), "it didn't come back from its reset"),
)
