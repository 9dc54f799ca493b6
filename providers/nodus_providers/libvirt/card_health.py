"""Cards after their machine ended: looked at once more, and put into quarantine where they didn't come back well.

The mark is on the host, so every computer that uses the host keeps the card out. The surprise: a card is looked at only after it is
given back, and a host that can't be asked marks nothing; the next look of a plan sees a card that doesn't answer anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from nodus_providers.libvirt.connection import TimeLimitError
from nodus_providers.libvirt.groups import HostdevPolicy
from nodus_providers.libvirt.hardware import inventory_of
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.inventory import HostInventory
from nodus_providers.libvirt.pci import PciAddress
from nodus_providers.libvirt.quarantine import Mark, failure_after_stop, failure_in_text, mark_script
from nodus_providers.libvirt.shell import ScriptError
from nodusctl.base.timestamps import format_time

# The last lines of the kernel's log about these cards, the newest last.
_KERNEL = 'dmesg 2>/dev/null | grep -E "$1" | tail -n 2 | cut -c1-300 || :\n'
_KERNEL_SECONDS = 10.0


@contextmanager
def kernel_words(host: Host, addresses: Iterable[str]) -> Iterator[None]:
    """Around a call that moves cards between drivers: where it isn't back in time, the error says what the host's kernel said of them."""
    try:
        yield
    except TimeLimitError as fault:
        found = _kernel_lines(host, tuple(addresses))
        raise TimeLimitError(f"{fault}{f'; its kernel says: {found}' if found else ''}") from fault


def _kernel_lines(host: Host, addresses: tuple[str, ...]) -> str:
    if not addresses:
        return ""
    signs = "|".join((*(re.escape(one) for one in addresses), "non-zero usage count"))
    try:
        lines = host.shell.run(_KERNEL, signs, limit_seconds=_KERNEL_SECONDS).splitlines()
    except OSError:
        return ""
    return " / ".join(line.partition("] ")[2] if line.startswith("[") else line for line in lines)


def quarantine_after_stop(host: Host, addresses: Iterable[str], drivers: Mapping[str, str]) -> tuple[Mark, ...]:
    """Look at the cards of a machine that ended and mark those that aren't well; ``drivers`` are those of before its start.

    HostError or LibvirtError where the host can't be asked. Does nothing for a machine without cards.
    """
    devices = [PciAddress.parse(text) for text in addresses]
    if not devices:
        return ()
    return _marked(host, failed_cards(inventory_of(host), devices, drivers))


def quarantine_after_message(host: Host, addresses: Iterable[str], message: str) -> tuple[Mark, ...]:
    """Mark the cards of a start that failed because of them: those that ``message`` names, else all of it. Most messages mark none."""
    devices = [PciAddress.parse(text) for text in addresses]
    reason = failure_in_text(message)
    if not reason or not devices:
        return ()
    named = [one for one in devices if str(one) in message] or devices
    return _marked(host, dict.fromkeys(named, reason), inventory_of(host))


def failed_cards(inventory: HostInventory, devices: Iterable[PciAddress], drivers: Mapping[str, str]) -> Mapping[PciAddress, str]:
    """The devices that aren't well, with what is wrong. A device that somebody has again already is not looked at."""
    is_managed = inventory.rules.policy is HostdevPolicy.MANAGED
    taken = {address for claim in inventory.claims if claim.is_active for address in claim.devices}
    looked_at = inventory.probe.devices
    found = {
        one: failure_after_stop(
            inventory.devices.get(one), looked_at.get(one), driver_before=drivers.get(str(one), ""), is_managed=is_managed
        )
        for one in devices
        if one not in taken
    }
    return {one: reason for one, reason in found.items() if reason}


def _marked(host: Host, failed: Mapping[PciAddress, str], inventory: HostInventory | None = None) -> tuple[Mark, ...]:
    if not failed:
        return ()
    seen = inventory or inventory_of(host)
    now = format_time(host.wall.now().replace(microsecond=0))
    marks = tuple(
        Mark(address=one, serial=seen.probe.facts(one).serial, reason=f"{reason} ({now})") for one, reason in sorted(failed.items())
    )
    return tuple(mark for mark in marks if _is_written(host, mark))


def _is_written(host: Host, mark: Mark) -> bool:
    """A mark that can't be written keeps nobody from ending the machine; the card shows as one that doesn't answer, or fails again."""
    try:
        host.shell.run(mark_script(mark))
    except ScriptError:
        return False
    return True
