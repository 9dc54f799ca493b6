"""Base images: from a catalog name to a qcow2 on the host, fetched there once where the settings give a URL.

A machine never writes to a base; it gets an overlay of its own. A file whose digest isn't the one in the settings is never used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.shell import ScriptError
from nodusctl.provider.replies import Refused, Scope

if TYPE_CHECKING:
    from nodus_providers.libvirt.settings import ImageSettings

_CATALOG = "nodus/"
_FETCH_SECONDS = 1800.0
# Checks that files are there; prints the base's format.
_LOOK = """set -eu
for file in "$@"; do [ -r "$file" ] || { echo "there is no $file on the host" >&2; exit 1; }; done
qemu-img info -U --output=json "$1" | sed -n 's/^    "format": "\\([a-z0-9]*\\)".*/\\1/p' | head -n 1
"""
_FETCH = """set -eu
target=$1 url=$2 sha=$3
[ ! -e "$target" ] || exit 0
new=$target.$$; trap 'rm -f "$new"' EXIT
if command -v curl >/dev/null; then curl -fsSL --retry 2 -o "$new" "$url"; else wget -q -O "$new" "$url"; fi
found=$(sha256sum "$new" | cut -d' ' -f1)
[ "$found" = "$sha" ] || { echo "what $url gives has the digest $found, not the one in the settings" >&2; exit 1; }
chmod 0644 "$new"; sync "$new"; mv "$new" "$target"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A base image on a host. ``kernel`` "" means firmware of the named kind."""

    path: str
    format: str
    kernel: str = ""
    initrd: str = ""
    cmdline: str = ""
    firmware: str = "efi"


def base_of(host: Host, images: Mapping[str, ImageSettings], image: str) -> Base | Refused:
    """The base of a catalog image; a refusal says what is missing and how to get it."""
    found = images.get(image)
    if found is None:
        if not image.startswith(_CATALOG):
            why = f"a virtual machine boots from a disk image, and {image!r} is not one of images: in the provider's settings"
            return Refused("Unsupported", message=f"{why}; an OCI image can be run inside it, with podman")
        return Refused("ImageNotFound", message=f"no base for {image} in the provider's settings; add images: {{{image}: {{path: …}}}}")
    try:
        path = found.path or _fetched(host, found)
        files = [one for one in (path, found.kernel, found.initrd) if one]
        kind = host.shell.run(_LOOK, *files).strip()
    except ScriptError as fault:
        return Refused("ImageNotFound", Scope.ZONE, str(fault))
    if kind not in ("qcow2", "raw"):
        return Refused("ImageNotFound", Scope.ZONE, f"{path} on {host.zone} is no qcow2 image")
    return Base(
        path=path,
        format=kind,
        kernel=found.kernel or "",
        initrd=found.initrd or "",
        cmdline=found.cmdline,
        firmware=found.firmware,
    )


def _fetched(host: Host, settings: ImageSettings) -> str:
    target = f"{host.folder}/images/{settings.sha256}.qcow2"
    with host.locks.held(f"image-{settings.sha256}"):
        host.shell.run(_FETCH, target, settings.url or "", settings.sha256 or "", limit_seconds=_FETCH_SECONDS)
    return target
