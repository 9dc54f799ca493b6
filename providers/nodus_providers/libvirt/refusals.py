"""What libvirt's and QEMU's words about a start that failed mean: whose fault it is, and so where else it may be tried. Pure."""

from __future__ import annotations

from nodusctl.provider.replies import Refused, Scope

# Of a code, the words one of which is in the message. Whatever else keeps a valid definition from starting lies with the host.
_MEANINGS: tuple[tuple[str, Scope, tuple[str, ...]], ...] = (
    ("DeviceBusy", Scope.DEVICE, ("is in use by driver",)),
    ("DeviceGroupNotViable", Scope.DEVICE, ("is not viable", "must be manually detached", "no such host device", "Non-endpoint PCI")),
    (
        "CapacityUnavailable",
        Scope.ZONE,
        ("annot allocate memory", "nable to map backing store", "annot limit locked memory", "annot set up guest memory"),
    ),
)


def refusal_of_start(message: str, code: str, zone: str) -> Refused:
    """The refusal for a start or a definition that failed with ``message``; ``code`` where the words say nothing in particular."""
    text = " ".join(message.split())
    for meant, scope, signs in _MEANINGS:
        if any(sign in text for sign in signs):
            return Refused(meant, scope, text)
    return Refused(code, Scope.ZONE, f"the machine could not be started on {zone}: {text}")
