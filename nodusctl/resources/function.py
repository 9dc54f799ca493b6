"""Function: a Python function served by warm workers. Fields, limits and defaults follow the Function seed page.

Every field is mutable; a change to code, image or resources rolls the workers.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from nodusctl.resources.fields import REQUIRED, SpecModel, StatusModel, spec_field
from nodusctl.resources.fragments import EnvVar, Network, Placement, Resources, SecretMount, VolumeMount
from nodusctl.resources.mutability import ChangeHint, Mutability
from nodusctl.resources.recovery import Recovery
from nodusctl.resources.scalars import Amount, Count, Decimal, Duration, Name, Text, decimal_between, duration_between, matching
from nodusctl.resources.status import Condition, Cost, Estimate, ImageStatus
from nodusctl.resources.workspace import ImageName

DottedName = Annotated[Text, matching(r"[^\W\d]\w*(\.[^\W\d]\w*)*", "a dotted Python name, such as pkg.module")]
PythonName = Annotated[Text, matching(r"[^\W\d]\w*", "a Python name")]


class FunctionClass(SpecModel):
    """A class whose methods can be called."""

    name: PythonName = spec_field("Name of the class.", REQUIRED)
    methods: tuple[PythonName, ...] | None = spec_field("Methods a call may name.", rule="At most 128.", max_length=128)


class FunctionCode(SpecModel):
    """What the worker imports."""

    module: DottedName = spec_field("Module to import.", REQUIRED)
    qualname: DottedName = spec_field("Qualified name of the function or class in the module.", REQUIRED)
    blob: Annotated[Text, matching(r"sha256:[0-9a-f]{64}", "sha256: and 64 hex digits")] | None = spec_field(
        "Archive of the code, named by its content."
    )
    cls: FunctionClass | None = spec_field("Set for a class.")


class FunctionScaling(SpecModel):
    """How many workers there are."""

    min_workers: Count = spec_field(
        "Workers that stay warm; an idle one is billed. Counts for the Function, whatever its methods.", 0, rule="0 to maxWorkers.", ge=0
    )
    max_workers: Count = spec_field("Most workers at once.", 10, rule="1 to 1000.", ge=1, le=1000)
    scaledown_window: Annotated[Duration, duration_between("0s", "20m")] = spec_field(
        "How long an idle worker above minWorkers stays.", timedelta(seconds=60), rule="0s to 20m."
    )
    target_concurrency: Count = spec_field("Calls one worker runs at once.", 1, rule="1 to 1000.", ge=1, le=1000)


class FunctionRetries(SpecModel):
    """What happens after a call that raised."""

    max_retries: Count = spec_field("How often a call that raised is tried again.", 0, rule="0 to 10.", ge=0, le=10)
    initial_delay: Duration = spec_field("Wait before the first retry.", timedelta(seconds=1))
    backoff_coefficient: Annotated[Decimal, decimal_between(1, 10)] = spec_field("Factor on the wait after each retry.", 2, rule="1 to 10.")
    max_delay: Duration = spec_field("Longest wait.", timedelta(seconds=60))


class FunctionCluster(SpecModel):
    """Several machines for one worker (beta)."""

    size: Count = spec_field("Machines.", REQUIRED, rule="At least 2.", ge=2)
    launcher: Literal["Plain"] | None = spec_field("How the members are started.")
    network: Literal["Colocated", "Regional", "Global"] | None = spec_field("How near the members stand.")
    transport: Literal["Direct", "Auto"] | None = spec_field("How the members reach each other.")


class InitCommand(SpecModel):
    """A command that runs before the worker."""

    command: tuple[Text, ...] = spec_field("Program and arguments.", REQUIRED, min_length=1)
    timeout: Annotated[Duration, duration_between("1s", "30m")] | None = spec_field("Longest run.", rule="At most 30m.")


class Sidecar(SpecModel):
    """A container beside the worker."""

    name: Name = spec_field("Name, unique in the Function.", REQUIRED)
    command: tuple[Text, ...] | None = spec_field("Program and arguments.")
    env: tuple[EnvVar, ...] | None = spec_field("Environment variables.", max_length=256)
    image: ImageName | None = spec_field("Image; left out, the main image.")
    startup_timeout: Duration | None = spec_field("Longest time until it is ready.")


class FunctionSpec(SpecModel):
    """What the owner wants."""

    code: FunctionCode = spec_field("What the worker imports.", REQUIRED, mut=Mutability.ROLLS)
    python: Literal["3.10", "3.11", "3.12", "3.13"] = spec_field(
        "Python of the image, in quotes.", REQUIRED, rule='"3.10" to "3.13".', mut=Mutability.ROLLS
    )
    image: ImageName | None = spec_field(
        "Image; left out, nodus/python:<minor>.", rule="At most one of image and imageRef.", mut=Mutability.ROLLS
    )
    image_ref: Name | None = spec_field("Image object that was built.", rule="At most one of image and imageRef.", mut=Mutability.ROLLS)
    image_pull_secrets: tuple[Name, ...] | None = spec_field(
        "Secrets of type Registry that may pull the image.", rule="At most 4.", max_length=4
    )
    command: tuple[Text, ...] | None = spec_field("Entry point instead of the worker's own.", mut=Mutability.ROLLS)
    args: tuple[Text, ...] | None = spec_field("Arguments of the entry point.", mut=Mutability.ROLLS)
    working_dir: Text | None = spec_field("Folder the entry point starts in.", mut=Mutability.ROLLS)
    state: Literal["Running", "Stopped"] = spec_field(
        "Stopped drains the workers to zero while new calls queue.", "Running", hint=ChangeHint.STARTS_OR_STOPS
    )
    timeout: Annotated[Duration, duration_between("1s", "24h")] = spec_field(
        "Limit of one call.", timedelta(seconds=300), rule="1s to 24h."
    )
    scaling: FunctionScaling = spec_field(
        "How many workers there are.", factory=lambda: FunctionScaling.model_validate({}), hint=ChangeHint.REPRICES
    )
    retries: FunctionRetries = spec_field("What happens after a call that raised.", factory=lambda: FunctionRetries.model_validate({}))
    cluster: FunctionCluster | None = spec_field("Several machines for one worker.", hint=ChangeHint.REPRICES)
    recovery: Recovery | None = spec_field("How progress outlives a lost machine; counted apart from retries.")
    resources: Resources = spec_field(
        "The least a worker must have.", factory=lambda: Resources.model_validate({}), mut=Mutability.ROLLS, hint=ChangeHint.REPRICES
    )
    placement: Placement = spec_field(
        "Which machines may be taken.", factory=lambda: Placement.model_validate({}), hint=ChangeHint.REPRICES
    )
    network: Network = spec_field("Network rules.", factory=lambda: Network.model_validate({}))
    connections: tuple[Name, ...] | None = spec_field("Connections whose environment and hosts are added.", rule="At most 4.", max_length=4)
    env: tuple[EnvVar, ...] | None = spec_field("Environment variables.", rule="At most 256; NODUS_ is reserved.", max_length=256)
    secrets: tuple[SecretMount, ...] | None = spec_field("Secrets given as environment variables and files. Short form: the name alone.")
    volumes: tuple[VolumeMount, ...] | None = spec_field("Volumes at paths.")
    sidecars: tuple[Sidecar, ...] | None = spec_field("Containers beside the worker.")
    init_command: InitCommand | None = spec_field("A command that runs before the worker.")
    service_account_name: Name = spec_field("Account for calls made from inside.", "default")
    max_cost_usd: Amount | None = spec_field(
        "Most all workers together may cost.", rule="May only be raised; removing it is a raise.", mut=Mutability.RAISE_ONLY
    )


class FunctionWorkers(StatusModel):
    """Workers by what they do."""

    starting: Count = spec_field("Placed, not yet taking calls.", 0)
    ready: Count = spec_field("Taking calls.", 0)
    busy: Count = spec_field("Running at least one call.", 0)
    idle: Count = spec_field("Running none.", 0)
    draining: Count = spec_field("Finishing their calls, then stopping.", 0)


class FunctionQueue(StatusModel):
    """Calls by where they are."""

    queued: Count = spec_field("Waiting for a worker.", 0)
    running: Count = spec_field("On a worker.", 0)


class FunctionStatus(StatusModel):
    """What was observed."""

    phase: str | None = spec_field("Where the Function is in its life.")
    reason: str | None = spec_field("Cause of the phase for programs.")
    message: str | None = spec_field("The phase in a sentence.")
    conditions: tuple[Condition, ...] | None = spec_field("Ready and Funded.")
    workers: FunctionWorkers | None = spec_field("Workers by what they do.")
    queue: FunctionQueue | None = spec_field("Calls by where they are.")
    image: ImageStatus | None = spec_field("The image in use.")
    app_version: Count | None = spec_field("Version of the App that last deployed it.")
    cost: Cost | None = spec_field("Money spent; a copy of the ledger for display.")
    estimate: Estimate | None = spec_field("What it would cost, made by the plan.")
    handled_requests: dict[str, str] | None = spec_field("Request annotations that were acted on.")
    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
