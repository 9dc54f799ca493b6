"""Base images: from a catalog name to a qcow2 on the host, fetched there once where the settings give a URL.

A machine never writes to a base; it gets an overlay of its own. A file whose digest isn't the one in the settings is never used, whether it
was fetched or put there by somebody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

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
# Goes on with what an earlier try has left, and takes it from the start where that is of no use. The lock is on the host, because other
# computers may want the same image there; whoever was cut off leaves a download that goes on, and the next one waits for it.
_FETCH = """set -eu
target=$1 url=$2 sha=$3 shown=$4 part=$1.part
[ ! -e "$target" ] || exit 0
mkdir -p "${target%/*}"
exec 9>"$target.lock"
flock 9
[ ! -e "$target" ] || exit 0
digest() { sha256sum "$part" | cut -d' ' -f1; }
fail() { echo "$shown can't be fetched: $said" >&2; exit 1; }
whole() { rm -f "$part"; said=$(get 2>&1) || fail; }
get() {
    if command -v curl >/dev/null; then
        curl -fsSL --retry 2 --connect-timeout 30 --speed-limit 1 --speed-time 60 "$@" -o "$part" "$url"
    else
        [ $# = 0 ] || set -- -c
        wget -q --tries=3 --timeout=60 "$@" -O "$part" "$url"
    fi
}
if [ -s "$part" ]; then
    [ "$(digest)" = "$sha" ] || said=$(get -C - 2>&1) || case $? in 8 | 22 | 33 | 36) whole ;; *) fail ;; esac
    [ "$(digest)" = "$sha" ] || whole
else
    whole
fi
found=$(digest)
[ "$found" = "$sha" ] || { rm -f "$part"; echo "what $shown gives has the SHA-256 $found, and the settings say $sha" >&2; exit 1; }
chmod 0644 "$part"; sync "$part"; mv "$part" "$target"; rm -f "$target.lock"
"""
# A file is read whole once, and again when it has become another one.
_VERIFY = """set -eu
file=$1 sha=$2 folder=$3
[ -r "$file" ] || { echo "there is no $file on the host" >&2; exit 1; }
mkdir -p "$folder"
mark=$folder/.verified-$(printf %s "$file" | sha256sum | cut -c1-16)
now="$sha $(stat -L -c '%s %Y %i' "$file")"
[ "$(cat "$mark" 2>/dev/null)" != "$now" ] || exit 0
found=$(sha256sum "$file" | cut -d' ' -f1)
[ "$found" = "$sha" ] || { echo "$file has the SHA-256 $found, and the settings say $sha" >&2; exit 1; }
echo "$now" >"$mark.$$"; mv "$mark.$$" "$mark"
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
        path = _verified(host, found.path, found.sha256) if found.path else _fetched(host, found)
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
    url = settings.url or ""
    parts = urlsplit(url)
    # What is said of an address leaves out what may be a password or a token.
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    with host.locks.held(f"image-{settings.sha256}"):
        host.shell.run(_FETCH, target, url, settings.sha256 or "", shown, limit_seconds=_FETCH_SECONDS)
    return target


def _verified(host: Host, path: str, sha256: str | None) -> str:
    if sha256 is not None:
        host.shell.run(_VERIFY, path, sha256, f"{host.folder}/images", limit_seconds=_FETCH_SECONDS)
    return path
