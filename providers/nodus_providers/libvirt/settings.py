"""Settings of a libvirt provider in the project file. Imported on first use: pydantic is slow to load."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from nodusctl.base.money import Money
from nodusctl.base.quantities import parse_quantity

_DECIMAL = r"[0-9]+(\.[0-9]{1,6})?"
_NAME = r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"
_PATH = r"^/[^'\"\n\x00]*$"
_SHA256 = r"^[0-9a-f]{64}$"
_ADDRESS = r"^([0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$"
_KEY = re.compile(r"(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]+=*( .*)?\Z")
DEFAULT_FOLDER = "/var/lib/libvirt/images/nodus"


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CardSettings(_Settings):
    """How a host's graphics cards are given to machines."""

    policy: Literal["managed", "leave-on-vfio"] = Field(
        "managed", description="managed: libvirt takes a card from its host driver and gives it back; leave-on-vfio: it stays on vfio-pci."
    )
    exclude: tuple[Annotated[str, Field(pattern=_ADDRESS)], ...] = Field((), strict=False, description="PCI addresses never given away.")
    names: Mapping[str, str] = Field(
        {}, strict=False, description="Cards the shipped table doesn't know: vendor:product to family and GiB."
    )
    roms: Mapping[str, str] = Field({}, strict=False, description="PCI address to a ROM file on the host, or to off.")
    hugePages: Literal["2Mi", "1Gi"] | None = Field(None, description="Take the memory of machines with cards from huge pages.")  # noqa: N815
    pinned: bool = Field(False, description="Give machines with cards host CPUs of their own.")
    hideHypervisor: bool = Field(False, description="Hide the hypervisor from drivers that refuse one (GeForce, before 2021).")  # noqa: N815


class HostSettings(_Settings):
    """One host."""

    name: str | None = Field(None, pattern=_NAME, description="The host's name in offers; default: from the connection address.")
    uri: str = Field("qemu:///system", description="qemu:///system, or qemu+ssh://user@host/system.")
    hostKey: str | None = Field(None, description="The host's public SSH key, as in known_hosts without the name; needed with qemu+ssh.")  # noqa: N815
    identityFile: str | None = Field(None, description="Private key for qemu+ssh; default: ssh's own.")  # noqa: N815
    folder: str = Field(DEFAULT_FOLDER, pattern=_PATH, description="Where the host keeps disks of machines and homes.")
    cpu: str | int | None = Field(None, description="Cores to offer; default: all of the host.")
    memory: str | int | None = Field(None, description="Memory to offer; default: all of the host but 2Gi.")
    rateUSDPerHour: str | None = Field(None, pattern=f"^{_DECIMAL}$", description="What an hour of a machine costs, a decimal string.")  # noqa: N815
    network: str | None = Field(None, description="The libvirt network of machines; default: `default`.")
    bridge: str | None = Field(None, description="A bridge of the host instead of a libvirt network.")
    domainType: Literal["auto", "kvm", "qemu"] = Field("auto", description="auto takes KVM where the processor can.")  # noqa: N815
    emulatedCpu: str = Field("qemu64", pattern=r"^[A-Za-z0-9._-]{1,64}$", description="CPU model under emulation.")  # noqa: N815
    cards: CardSettings = Field(default_factory=CardSettings, description="How its graphics cards are given away.")

    @field_validator("cpu", "memory")
    @classmethod
    def _is_quantity(cls, value: str | int | None) -> str | int | None:
        if value is not None and parse_quantity(value) <= 0:
            raise ValueError("a quantity above zero, such as 4 or 16Gi")
        return value

    @model_validator(mode="after")
    def _can_be_reached(self) -> HostSettings:
        parts = urlsplit(self.uri)
        if parts.path == "/session":
            raise ValueError("a session daemon can neither detach cards nor pin memory, and root has none; write uri: qemu:///system")
        if parts.scheme not in ("qemu", "qemu+ssh") or parts.path != "/system" or parts.query:
            raise ValueError("uri is qemu:///system or qemu+ssh://user@host/system, without parameters")
        if parts.scheme == "qemu+ssh" and (self.hostKey is None or _KEY.match(self.hostKey) is None):
            raise ValueError(
                "qemu+ssh needs hostKey, one line such as `ssh-ed25519 AAAA…`; print it on the host: cat /etc/ssh/ssh_host_ed25519_key.pub"
            )
        if self.network is not None and self.bridge is not None:
            raise ValueError("a host has a network or a bridge, not both")
        return self

    def rate(self) -> Money | None:
        """The price of an hour; None where none is set."""
        return None if self.rateUSDPerHour is None else Money.parse(self.rateUSDPerHour)


class ImageSettings(_Settings):
    """A base image: a qcow2 on the host or at a URL. With ``kernel`` it is booted directly, without firmware."""

    path: str | None = Field(None, pattern=_PATH, description="The base qcow2 on the host.")
    url: str | None = Field(None, pattern=r"^https?://[^\s'\"]+$", description="Where the host fetches it, once.")
    sha256: str | None = Field(None, pattern=_SHA256, description="Its SHA-256; needed with url.")
    kernel: str | None = Field(None, pattern=_PATH, description="A kernel on the host to boot directly.")
    initrd: str | None = Field(None, pattern=_PATH, description="The initrd that goes with it.")
    cmdline: str = Field("console=ttyS0", pattern=r"^[\x20-\x7e]*$", description="The kernel's command line.")
    firmware: Literal["bios", "efi"] = Field("efi", description="Firmware where no kernel is given.")

    @model_validator(mode="after")
    def _has_one_source(self) -> ImageSettings:
        if (self.path is None) == (self.url is None):
            raise ValueError("an image has a path or a url")
        if self.url is not None and self.sha256 is None:
            raise ValueError("an image from a url needs its sha256")
        if self.initrd is not None and self.kernel is None:
            raise ValueError("an initrd needs a kernel")
        return self


class LibvirtSettings(_Settings):
    """All optional: without any, this computer's own libvirt is used."""

    hosts: tuple[HostSettings, ...] = Field(
        (HostSettings.model_construct(),), strict=False, min_length=1, description="The hosts of the Pool."
    )
    images: Mapping[str, ImageSettings] = Field({}, strict=False, description="Catalog name of an image to its base.")

    @model_validator(mode="after")
    def _names_are_unique(self) -> LibvirtSettings:
        names = [zone_of(host) for host in self.hosts]
        if len(set(names)) != len(names):
            raise ValueError("two hosts have one name; give each a name of its own")
        return self


def zone_of(host: HostSettings) -> str:
    """The host's name in offers."""
    if host.name:
        return host.name
    name = re.sub(r"[^a-z0-9]+", "-", (urlsplit(host.uri).hostname or "this-host").lower()).strip("-")
    return name[:32].rstrip("-") or "host"
