"""What ``doctor`` finds about single cards: groups that can't be given away, holders, resets, sizes, quarantine. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nodus_providers.libvirt.groups import Group, HostdevPolicy
from nodus_providers.libvirt.holders import merely_defined
from nodus_providers.libvirt.inventory import HostInventory
from nodus_providers.libvirt.pci import AMD, PciDevice
from nodus_providers.libvirt.pci_models import Model, is_screen, model_of
from nodus_providers.libvirt.quarantine import marks_of
from nodusctl.base.diagnostics import Diagnostic, note, warning

_MIB = 2**20
_SMALL_BAR = 256 * _MIB
# AMD cards whose reset leaves them unusable until the host is rebooted: Vega 10 and 20, Navi 10 and 14, MI100.
_BAD_RESET = (range(0x6860, 0x6880), range(0x66A0, 0x66B0), range(0x7310, 0x7350), range(0x738C, 0x738F))


def card_findings(inventory: HostInventory) -> Iterator[Diagnostic]:
    """Of every group with a display device, then of marks nobody needs any more."""
    offered = {group.id: model for group, model in inventory.offered}
    for group in inventory.groups:
        model = offered.get(group.id)
        if model is None:
            yield from _unnamed(group, inventory)
            continue
        yield from _not_viable(group, inventory)
        yield from _busy(group, inventory)
        for card in group.cards:
            yield from _resets(card, inventory)
            yield from _screen(card, inventory)
            yield from _sizes(card, model, inventory)
    yield from _switches(inventory)
    yield from _old_marks(inventory)


def _unnamed(group: Group, inventory: HostInventory) -> Iterator[Diagnostic]:
    cards = [card for card in group.cards if not is_screen(card) and card.address not in inventory.rules.excluded]
    kinds = {model_of(card, inventory.rules.models) for card in cards}
    for card in cards:
        if model_of(card, inventory.rules.models) is None:
            name = " ".join(f"{card.vendor_name} {card.product_name} ({card.ids})".split())
            detail = f"{card.address} {name} isn't in the table of known cards, so it isn't offered."
            fix = f'Name it in the provider\'s settings, with its memory:\n  cards: {{names: {{"{card.ids}": "FAMILY GIB"}}}}'
            yield note("Unsupported", "A graphics card is not known", detail, fix)
    if len(kinds) > 1 and None not in kinds:
        names = ", ".join(f"{card.address} ({card.ids})" for card in cards)
        detail = f"{group.id} holds cards of different kinds, and they only go together: {names}."
        yield warning("DeviceGroupNotViable", "A group holds different cards", detail, "Put one of them into another slot, then:\n  reboot")


def _not_viable(group: Group, inventory: HostInventory) -> Iterator[Diagnostic]:
    obstacle = inventory.obstacle(group)
    if obstacle is not None and group.number is not None:
        yield warning("DeviceGroupNotViable", "A card can't be given to a machine", f"{obstacle.why}.", obstacle.fix)


def _busy(group: Group, inventory: HostInventory) -> Iterator[Diagnostic]:
    cards = ", ".join(str(one.address) for one in group.passed)
    holders = inventory.holders(group)
    ours = {claim.owner for claim in inventory.claims if claim.owner}
    for holder in holders:
        if holder.name not in ours:
            drivers = ", ".join(one.shown for one in group.passed)
            fix = f"As root on the host:\n  {holder.fix}"
            yield note("DeviceBusy", "A card is used by something else", f"{drivers} held by {holder.name}.", fix)
    for claim in merely_defined(group, inventory.claims):
        detail = f"{cards} stands in the definition of {claim.holder}, which is off. It holds nothing, and whichever starts first has it."
        fix = f"Take it out of that definition:\n  {inventory.rules.virsh} edit {claim.name}"
        yield warning("DeviceBusy", "A stopped domain names a card", detail, fix)


def _resets(card: PciDevice, inventory: HostInventory) -> Iterator[Diagnostic]:
    if card.address not in inventory.probe.devices:
        return
    facts = inventory.probe.facts(card.address)
    methods = facts.reset_methods
    if not methods:
        detail = f"{card.address}: the kernel knows no way to reset it, so it may fail from its second machine on and is quarantined then."
        yield note("ProviderNotReady", "A card can't be reset", detail, f"See what the kernel says:\n  dmesg | grep {card.address}")
    elif card.vendor == AMD and any(card.product in ids for ids in _BAD_RESET) and "device_specific" not in methods:
        detail = (
            f"{card.address} ({card.ids}) is of a kind whose reset ({', '.join(methods)}) often leaves it unusable until the host reboots."
        )
        fix = "Install the vendor-reset module on the host, then:\n  "
        fix += f"echo device_specific > /sys/bus/pci/devices/{card.address}/reset_method"
        yield warning("ProviderNotReady", "A card's reset is known to fail", detail, fix)
    if facts.power_state == "D3cold" and card.is_on_vfio:
        detail = f"{card.address} sleeps in D3cold; some cards don't come back from it (not ready 65535ms after resume)."
        fix = "If it doesn't, as root on the host:\n  echo options vfio-pci disable_idle_d3=1 > /etc/modprobe.d/nodus-vfio.conf"
        yield note("ProviderNotReady", "A card is in its deepest sleep", detail, fix)


def _screen(card: PciDevice, inventory: HostInventory) -> Iterator[Diagnostic]:
    if not inventory.probe.facts(card.address).is_boot_screen or not card.driver or card.is_on_vfio:
        return
    detail = f"{card.address} ({card.driver}) shows the host's console. Taking it away may hang, and giving it back often does."
    fix = f'Leave it to the host:\n  cards: {{exclude: ["{card.address}"]}}'
    if inventory.rules.policy is HostdevPolicy.MANAGED:
        yield warning("ProviderNotReady", "A card is the host's own screen", detail, fix)


def _sizes(card: PciDevice, model: Model, inventory: HostInventory) -> Iterator[Diagnostic]:
    bars = inventory.probe.facts(card.address).bars
    if model.family.startswith("rtx") and not model.family.startswith("rtxpro") and bars and bars[0] > _SMALL_BAR:
        detail = f"{card.address} has a resizable BAR of {bars[0] // _MIB} MiB in use; with some consumer cards machines then don't start."
        fix = "If they don't, switch Resizable BAR off in the host's firmware, then:\n  reboot"
        yield note("ProviderNotReady", "A consumer card uses a resizable BAR", detail, fix)


def _switches(inventory: HostInventory) -> Iterator[Diagnostic]:
    switches = [device for device in inventory.devices.values() if device.is_nvswitch]
    if switches:
        names = ", ".join(str(one.address) for one in switches)
        detail = (
            f"cards joined by NVSwitches ({names}) answer CUDA with error 802 until the host's fabric manager has made their partition, "
        )
        detail += "and only it knows which sets may be joined. Single cards are offered."
        fix = "Set FABRIC_MODE=1 in /usr/share/nvidia/nvswitch/fabricmanager.cfg of the host, then as root there:\n"
        fix += "  systemctl enable --now nvidia-fabricmanager"
        yield note("Unsupported", "Cards are joined by NVSwitches", detail, fix)


def _old_marks(inventory: HostInventory) -> Iterator[Diagnostic]:
    used = {mark for group in inventory.groups for card in group.cards if (mark := inventory.mark(card)) is not None}
    for mark in marks_of(inventory.probe.quarantine):
        if mark not in used:
            detail = f"{mark.address} was put into quarantine ({mark.reason}) and isn't there any more, or another card is."
            yield note("ProviderNotReady", "A quarantined card is gone", detail, f"As root on the host:\n  {mark.lift_command}")
