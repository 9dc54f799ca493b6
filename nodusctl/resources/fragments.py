"""Parts of specs that several kinds share: environment, secrets, volumes, resources, network, placement."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator

from nodusctl.resources.fields import REQUIRED, SpecModel, refuse, spec_field
from nodusctl.resources.scalars import Amount, Count, Duration, Flag, Name, Quantity, Text, matching, quantity_between

EnvName = Annotated[Text, matching(r"[A-Za-z_][A-Za-z0-9_]*", "letters, digits and '_', not beginning with a digit")]
SECRET_KEY_PATTERN = r"[-._a-zA-Z0-9]{1,253}"
SecretKeyName = Annotated[Text, matching(SECRET_KEY_PATTERN, "at most 253 letters, digits, '-', '_' and '.'")]
DnsPattern = Annotated[
    Text,
    matching(
        r"(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*(?![0-9]+$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?",
        "a DNS name in lower case, or *.suffix; no address",
    ),
]
GpuType = Annotated[
    Text,
    matching(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "an accelerator id or family, such as H100 or H100-SXM"),
    AfterValidator(str.upper),
]
"""Matched in any case, so kept in one: two spellings of a name are no change."""
EgressPreset = Literal["python-packages", "conda-packages", "huggingface", "github", "wandb", "debian-packages"]
EGRESS_PRESETS: tuple[str, ...] = get_args(EgressPreset)
"""A provider that keeps AllowList knows the hosts of each."""
GpuCount = Literal[1, 2, 4, 8]
Size = Annotated[Quantity, quantity_between("1Mi", None)]
"""Bytes; fewer than this are a forgotten unit."""

_SYSTEM_FOLDERS = ("/etc", "/usr", "/bin", "/sbin", "/proc", "/sys", "/dev", "/boot", "/run")


def check_mount_path(path: str) -> str:
    """Absolute, normalised, and no system folder nor anything inside one."""
    is_normal = path.startswith("/") and "//" not in path and not any(part in (".", "..") for part in path.split("/"))
    bare = path.rstrip("/")
    top = "/" + bare.lstrip("/").split("/")[0]
    if not is_normal:
        raise refuse(
            "Invalid", "A mount path is not absolute.", f"{path[:80]!r} was written; it begins with '/' and has no '.', '..' or '//' in it."
        )
    if not bare or top in _SYSTEM_FOLDERS or top.startswith("/lib"):
        raise refuse(
            "Invalid",
            "A mount path is a system path.",
            f"{path[:80]!r} was written.",
            "Mount it elsewhere, for example under /nodus or /mnt.",
        )
    return bare


MountPath = Annotated[Text, AfterValidator(check_mount_path)]


class SecretKeyRef(SpecModel):
    """One key of a Secret."""

    name: Name = spec_field("Name of the Secret.", REQUIRED)
    key: SecretKeyName = spec_field("Key within the Secret.", REQUIRED)


class EnvVarSource(SpecModel):
    """Where the value of an environment variable comes from."""

    secret_key_ref: SecretKeyRef = spec_field("The key of a Secret that holds the value.", REQUIRED)


class EnvVar(SpecModel):
    """One environment variable."""

    name: EnvName = spec_field("Name of the variable.", REQUIRED, rule="Letters, digits and '_'; NODUS_ is reserved.")
    value: Text | None = spec_field("The value as written. Use valueFrom for secrets.", rule="Exactly one of value and valueFrom.")
    value_from: EnvVarSource | None = spec_field("Where the value comes from.", rule="Exactly one of value and valueFrom.")


class SecretMount(SpecModel):
    """A Secret whose keys become environment variables and files."""

    name: Name = spec_field("Name of the Secret.", REQUIRED)
    version: Count | None = spec_field("Version to keep to; without it the latest one when the machine is asked for.", ge=1)


class VolumeMount(SpecModel):
    """A Volume at a path."""

    volume: Name = spec_field("Name of the Volume.", REQUIRED)
    mount_path: MountPath = spec_field("Where the Volume appears.", REQUIRED, rule="Absolute, and no system path.")
    read_only: Flag = spec_field("Mount without the right to write.", False)
    revision: Count | None = spec_field("Revision to mount instead of the latest.", rule="Only with readOnly: true.", ge=1)


class GPURequest(SpecModel):
    """The accelerators of one machine."""

    type: tuple[GpuType, ...] | None = spec_field(
        "Accelerator ids or families, in order of preference; a family stands for each of its variants. Left out, any.",
        rule="1 to 8, in any case.",
        min_length=1,
        max_length=8,
    )
    count: GpuCount = spec_field("Accelerators in one machine.", 1, rule="1, 2, 4 or 8.")
    exact: Flag = spec_field("Take the named variant only, not its family.", False)
    interconnect: Literal["Any", "NVLink"] = spec_field("How the accelerators are connected.", "Any")
    min_memory: Size | None = spec_field("Least memory of one accelerator.")


class Resources(SpecModel):
    """The least a machine must have; with accelerators a larger host is taken whole."""

    cpu: Quantity | None = spec_field("Least number of vCPUs.")
    memory: Size | None = spec_field("Least host memory.")
    disk: Size | None = spec_field("Least local disk.")
    gpu: GPURequest | None = spec_field("Accelerators. Short forms: H100:8, L4, H100-SXM! (the variant only).")
    nodes: Count | None = spec_field("Number of machines; more than one is only for kinds that are distributed.", rule="1.", ge=1)


class Egress(SpecModel):
    """What the machine may reach."""

    policy: Literal["Deny", "AllowList", "Open"] = spec_field(
        "Deny nothing goes out, AllowList only what is listed, Open everything.", "Open"
    )
    allow: tuple[DnsPattern, ...] | None = spec_field(
        "DNS names, or *.suffix.", rule="Only with policy AllowList; at most 128.", max_length=128
    )
    presets: tuple[EgressPreset, ...] | None = spec_field(
        "Lists of the hosts that a purpose needs, by name.", rule="Only with policy AllowList."
    )


class Network(SpecModel):
    """Network rules of the machine."""

    egress: Egress = spec_field("Outbound connections.", factory=lambda: Egress.model_validate({}))


class Placement(SpecModel):
    """Which machines may be taken, and how to choose among them."""

    profile: Literal["Balanced", "Cost", "Speed"] = spec_field(
        "Balanced weighs price and start time, Cost the price, Speed the start time.", "Balanced"
    )
    interruptible: Literal["Never", "Allow", "Prefer"] = spec_field(
        "Whether capacity that can be taken back may be used; Allow decides by expected cost.", "Never"
    )
    max_rate_usd_per_hour: Amount | None = spec_field("Leave out offers above this hourly rate.")
    offerings: tuple[Annotated[Text, matching(r"[a-z0-9][-a-z0-9.]*", "an offering's id, such as h100-sxm-80g-x8-us")], ...] | None = (
        spec_field("Take only these offerings.")
    )
    regions: tuple[Annotated[Text, matching(r"[a-z][-a-z0-9]*", "a region class, such as us or eu")], ...] | None = spec_field(
        "Region classes such as us and eu; none means any."
    )
    pool: Name | None = spec_field("Take machines of this Pool.")
    dedicated: Literal[True] | None = spec_field("Reserved; only true is accepted.")
    queue_timeout: Duration = spec_field(
        "How long to wait for capacity before failing with CapacityUnavailable.", timedelta(hours=24), rule="0s waits for ever."
    )
