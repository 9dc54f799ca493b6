"""Workspace: a person's machine. Fields, limits and defaults follow the Workspace seed page; ``objects.md`` adds the rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from nodusctl.resources.fields import SpecModel, StatusModel, spec_field
from nodusctl.resources.fragments import EnvVar, Network, Placement, Resources, SecretMount
from nodusctl.resources.mutability import ChangeHint, Mutability
from nodusctl.resources.scalars import Amount, Count, Duration, Flag, Name, Text, Time, duration_between, matching
from nodusctl.resources.status import Condition, Cost, DurationBand, Estimate

ImageName = Annotated[
    Text, matching(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}", "an image, such as nodus/workspace-cpu or registry.example/team/image:tag")
]


class WorkspaceSchedule(SpecModel):
    """One working window."""

    ready_by: Time | None = spec_field(
        "When the Workspace must be ready; it starts 15 minutes earlier.", rule="At least 15 minutes ahead when written or changed."
    )
    stop_at: Time | None = spec_field("When the Workspace stops.", rule="After readyBy.")


class WorkspaceSpec(SpecModel):
    """What the owner wants."""

    state: Literal["Running", "Stopped"] = spec_field(
        "Stopped saves the home and gives the machine back. Only the owner writes it.",
        "Running",
        mut=Mutability.ANY,
        hint=ChangeHint.STARTS_OR_STOPS,
    )
    volume: Name | None = spec_field(
        "ReadWriteOnce Volume at /home/nodus, saved on every stop.",
        rule="Exactly one of volume and ephemeral: true.",
        mut=Mutability.IMMUTABLE,
    )
    ephemeral: Flag = spec_field(
        "Run without a home Volume; files are lost at the stop.",
        False,
        rule="Exactly one of volume and ephemeral: true.",
        mut=Mutability.IMMUTABLE,
    )
    image: ImageName | None = spec_field(
        "Catalog image or your own. Left out: nodus/workspace-pytorch-cuda with a GPU, nodus/workspace-cpu without.",
        mut=Mutability.NEXT_START,
    )
    image_pull_secrets: tuple[Name, ...] | None = spec_field(
        "Secrets of type Registry that may pull the image.", rule="At most 4.", mut=Mutability.NEXT_START, max_length=4
    )
    resources: Resources = spec_field(
        "The least the machine must have.",
        factory=lambda: Resources.model_validate({}),
        mut=Mutability.NEXT_START,
        hint=ChangeHint.REPRICES,
    )
    placement: Placement = spec_field(
        "Which machines may be taken.", factory=lambda: Placement.model_validate({}), mut=Mutability.NEXT_START, hint=ChangeHint.REPRICES
    )
    network: Network = spec_field("Network rules.", factory=lambda: Network.model_validate({}), mut=Mutability.NEXT_START)
    connections: tuple[Name, ...] | None = spec_field(
        "Connections whose environment and hosts are added.", rule="At most 4.", mut=Mutability.NEXT_START, max_length=4
    )
    env: tuple[EnvVar, ...] | None = spec_field(
        "Environment variables.", rule="At most 256; NODUS_ is reserved.", mut=Mutability.NEXT_START, max_length=256
    )
    secrets: tuple[SecretMount, ...] | None = spec_field(
        "Secrets given as environment variables and as files of mode 0400 under /run/secrets. Short form: the name alone.",
        mut=Mutability.NEXT_START,
    )
    service_account_name: Name = spec_field("Account for calls made from inside.", "default", mut=Mutability.NEXT_START)
    ssh_keys: tuple[Name, ...] = spec_field(
        "SSHKeys that may log in; none means all SSHKeys of this state.",
        (),
        rule="At most 100.",
        mut=Mutability.ANY,
        hint=ChangeHint.ENDS_SESSIONS,
        max_length=100,
    )
    tools: tuple[Literal["VSCode", "Jupyter", "SSH"], ...] = spec_field("Tools to serve.", ("VSCode", "Jupyter", "SSH"), mut=Mutability.ANY)
    idle_timeout: Annotated[Duration, duration_between("10m", "24h", or_zero=True)] = spec_field(
        "The machine stops itself after this long without use: no terminal or tool in use, no process, no work on CPU or GPU.",
        timedelta(hours=1),
        rule="0s never, else 10m to 24h.",
        mut=Mutability.ANY,
    )
    schedule: WorkspaceSchedule | None = spec_field("One working window.", mut=Mutability.ANY)
    max_cost_usd: Amount | None = spec_field(
        "Stop when the charges of this Workspace reach this amount.",
        rule="May only be raised; removing it is a raise.",
        mut=Mutability.RAISE_ONLY,
    )


class WorkspaceUrl(StatusModel):
    """The address of one tool."""

    url: str | None = spec_field("Opens the tool.")


class WorkspaceSsh(StatusModel):
    """How to log in."""

    command: str | None = spec_field("Command that connects from a terminal.")
    host: str | None = spec_field("Host name the command uses.")
    host_key: str | None = spec_field("The machine's public host key; it stays the same from session to session.")


class WorkspaceConnect(StatusModel):
    """How to reach the Workspace."""

    ssh: WorkspaceSsh | None = spec_field("OpenSSH.")
    vscode: WorkspaceUrl | None = spec_field("VS Code on the desktop.")
    jupyter: WorkspaceUrl | None = spec_field("JupyterLab.")


class WorkspaceEndpoint(StatusModel):
    """The address of one port or tool in the browser."""

    name: str = spec_field("Tool or port.", "")
    port: Count | None = spec_field("Port in the machine.")
    url: str | None = spec_field("Address.")


class WorkspaceHome(StatusModel):
    """What is saved of the home folder."""

    volume: str | None = spec_field("The home Volume.")
    revision: Count = spec_field("Revision the last save made; 0 before the first.", 0)
    saved_time: Time | None = spec_field("When that revision was made.")


class WorkspaceSession(StatusModel):
    """The session that runs."""

    attempt: str | None = spec_field("Its Attempt.")
    offering: str | None = spec_field("The offering it runs on.")
    region_class: str | None = spec_field("The region class of the offering.")
    rate_usd_per_hour: Amount | None = spec_field("The rate, frozen for the session.")
    start_time: Time | None = spec_field("When its tools first answered; empty while it starts.")
    armed_until: Time | None = spec_field("When its machine ends itself, as read back from it.")


class WorkspaceSessionReceipt(StatusModel):
    """What one ended session cost."""

    attempt: str | None = spec_field("Its Attempt.")
    start_time: Time | None = spec_field("When it started.")
    end_time: Time | None = spec_field("When its machine was gone.")
    billed_seconds: Count | None = spec_field("Seconds charged, from the start of billing to confirmed deletion.")
    charge_usd: Amount | None = spec_field("What it cost.")
    stop_reason: str | None = spec_field("Why it ended.")


class WorkspaceStatus(StatusModel):
    """What was observed."""

    phase: Literal["Pending", "Starting", "Running", "Recovering", "Stopping", "Stopped", "Terminating", "Failed"] | None = spec_field(
        "Where the Workspace is in its life."
    )
    reason: str | None = spec_field("Cause of the phase for programs.")
    message: str | None = spec_field("The phase in a sentence.")
    conditions: tuple[Condition, ...] | None = spec_field("Scheduled, Funded, Ready, Stopped, NodeUnreachable, SetupComplete, StateSaved.")
    connect: WorkspaceConnect | None = spec_field("How to reach it.")
    endpoints: tuple[WorkspaceEndpoint, ...] | None = spec_field("Addresses of browser tools.")
    cost: Cost | None = spec_field("Money spent; a copy of the ledger for display.")
    estimate: Estimate | None = spec_field("What it would cost, made by the plan.")
    home: WorkspaceHome | None = spec_field("What is saved of the home.")
    last_activity_time: Time | None = spec_field("Last use seen; idleTimeout counts from here.")
    session: WorkspaceSession | None = spec_field("The session that runs.")
    last_session: WorkspaceSessionReceipt | None = spec_field("The receipt of the last session.")
    next_scheduled_start_time: Time | None = spec_field(
        "When a window or schedule starts it next, ahead of when it is to be ready; empty while it is Parked."
    )
    start_estimate: DurationBand | None = spec_field("How long a start takes.")
    stop_by_time: Time | None = spec_field(
        "When it stops at the latest: the nearest of its window, money and lease. While Funded is False, a stop until then saves the home."
    )
    stop_reason: (
        Literal["", "Owner", "Deleted", "MaxCostReached", "BudgetExceeded", "Unfunded", "Schedule", "LeaseEnded", "Idle", "Interrupted"]
        | None
    ) = spec_field("Why it is stopped; empty while it runs.")
    handled_requests: dict[str, str] | None = spec_field("Request annotations that were acted on.")
    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
