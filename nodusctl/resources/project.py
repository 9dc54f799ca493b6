"""The project file ``nodusctl.yaml``: what a folder of specs belongs to and may use.

Settings of a provider stay a raw mapping beside its type: only the plugin knows their fields, and ``read_settings`` checks
them against its model with the same diagnostics as everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ValidationError

from nodusctl.base.diagnostics import Diagnostic, in_order
from nodusctl.documents.discovery import DEFAULT_GLOBS
from nodusctl.documents.document import Document, FieldPath
from nodusctl.resources.faulting import Fault, to_diagnostics
from nodusctl.resources.fields import REQUIRED, SpecModel, spec_field
from nodusctl.resources.scalars import Amount, Count, Duration, Flag, Name, Text, duration_between
from nodusctl.resources.validation import faults_of, missing_field, null_faults, wrong_type

DEFAULT_STATE = "sqlite:///.nodus/state.db"
_Settings = TypeVar("_Settings", bound=BaseModel)


class IgnoreRule(SpecModel):
    """A field whose differences are not shown."""

    path: Text = spec_field("Field, such as spec.env, or workspace/lab spec.env for one object.", REQUIRED, min_length=1)
    reason: Text = spec_field("Why; the plan counts these rules.", REQUIRED, min_length=1)


class Policy(SpecModel):
    """Limits that a plan must keep."""

    max_deletes: Count = spec_field("Removals by absence that destroy content or end a running session.", 3, ge=0)
    max_price_age: Duration | None = spec_field("Oldest price a plan may rest on.")
    max_monthly_usd: Amount | None = spec_field(
        "Most that everything running for 730 h may cost once a plan that adds to it is carried out."
    )
    max_increase_usd: Amount | None = spec_field("Most a plan may add to what everything running for 730 h costs.")
    allowed_regions: tuple[Text, ...] | None = spec_field(
        "Regions, region classes or zones a Workspace may be placed in; every offer of a plan counts.", min_length=1
    )
    allowed_gpu_types: tuple[Text, ...] | None = spec_field(
        "GPUs a Workspace may get, such as L4 or H100-SXM; an empty list means none. Every offer of a plan counts."
    )
    interruptible_required: Flag = spec_field("Every Workspace is placed on capacity that can be taken back, where there is any.", False)
    windows_required: Flag = spec_field("Every Workspace has a schedule or windows, so that the clock ends it.", False)
    command: tuple[Text, ...] | None = spec_field(
        "Program and arguments that is given each plan as JSON and passes it with exit code 0.", min_length=1
    )


class Prices(SpecModel):
    """Where prices come from beside the shipped book."""

    files: tuple[Text, ...] | None = spec_field("Price files, relative to the project.")


class ProviderEntry(SpecModel):
    """One provider instance; its other settings are described by the provider's own schema."""

    type: Name = spec_field("Provider type, such as local or simulated.", REQUIRED)


class CommandDefaults(SpecModel):
    """What options of the command line are when nobody says otherwise in this project."""

    parallelism: Count | None = spec_field("Provider calls at once.", ge=1, le=100)
    timeout: Duration | None = spec_field("How long to wait for machines.")
    lock_timeout: Duration | None = spec_field("How long to wait for the state lock.")


class ProjectSettings(SpecModel):
    """The keys of nodusctl.yaml."""

    project: Name = spec_field("Name of the project: the namespace of its objects.", "default")
    state: Text = spec_field(
        "Where the state is kept: sqlite:///PATH, or postgresql://USER@HOST/DATABASE for a team.", DEFAULT_STATE, min_length=1
    )
    specs: tuple[Text, ...] = spec_field("Globs of the files that hold objects.", DEFAULT_GLOBS, min_length=1)
    providers: dict[Name, ProviderEntry] | None = spec_field("Provider instances by name; left out, the provider local.")
    lease_term: Annotated[Duration, duration_between("1h", "72h")] = spec_field(
        "How long a machine may run without being renewed.", timedelta(hours=8), rule="1h to 72h."
    )
    window_lead: Annotated[Duration, duration_between("0s", "1h")] = spec_field(
        "How long before a window its machine is started.", timedelta(minutes=15), rule="0s to 1h."
    )
    always_on: Flag = spec_field("A program that acts at every moment is running, so nothing must be armed for its absence.", False)
    notify: tuple[Text, ...] | None = spec_field("Program and arguments that is given each notice.", min_length=1)
    prices: Prices | None = spec_field("Where prices come from beside the shipped book.")
    ignore: tuple[IgnoreRule, ...] | None = spec_field("Fields whose differences are not shown.")
    cli: CommandDefaults | None = spec_field("What options of the command line are when nobody says otherwise.")
    policy: Policy = spec_field("Limits that a plan must keep.", factory=lambda: Policy.model_validate({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """One entry of ``providers``: the plugin's type and everything else as written."""

    name: str
    type: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    document: Document | None = field(default=None, repr=False, compare=False)

    @property
    def path(self) -> FieldPath:
        """Where it stands in the project file."""
        return ("providers", self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """A project. Relative paths in it are relative to its folder."""

    settings: ProjectSettings
    providers: tuple[ProviderSettings, ...]
    document: Document | None = field(default=None, repr=False, compare=False)

    @property
    def project(self) -> str:
        """The namespace of its objects."""
        return self.settings.project

    @property
    def policy(self) -> Policy:
        """Limits that a plan must keep."""
        return self.settings.policy


@dataclass(frozen=True, slots=True)
class DecodedProject:
    """The project file, or None with what is wrong in it."""

    project: ProjectFile | None
    diagnostics: tuple[Diagnostic, ...]


def default_project() -> ProjectFile:
    """What a missing project file means: project ``default``, provider ``local``, state under ``.nodus/``."""
    return ProjectFile(settings=ProjectSettings.model_validate({}), providers=(ProviderSettings(name="local", type="local"),))


def decode_project(document: Document) -> DecodedProject:
    """Read nodusctl.yaml (a mapping, from ``documents.reading.read_mapping``)."""
    value = document.value
    if not isinstance(value, dict):
        return DecodedProject(None, to_diagnostics([wrong_type((), value, "a mapping")], document))
    providers = value.get("providers", {})
    faults = list(null_faults({key: inner for key, inner in value.items() if key != "providers"}, ()))
    faults.extend(_provider_faults(providers))
    named = {path for fault in faults for path in fault.paths}
    own = {key: inner for key, inner in value.items() if key != "providers"}
    if isinstance(providers, dict) and providers:
        own["providers"] = {name: {"type": entry["type"]} for name, entry in providers.items() if _has_type(entry)}
    try:
        settings = ProjectSettings.model_validate(own)
    except ValidationError as problem:
        faults.extend(fault for fault in faults_of(problem, ProjectSettings, ()) if fault.paths[0] not in named)
        return DecodedProject(None, in_order(to_diagnostics(faults, document)))
    if faults:
        return DecodedProject(None, in_order(to_diagnostics(faults, document)))
    instances = tuple(
        ProviderSettings(
            name=name, type=entry["type"], settings={key: inner for key, inner in entry.items() if key != "type"}, document=document
        )
        for name, entry in providers.items()
    )
    return DecodedProject(ProjectFile(settings=settings, providers=instances or default_project().providers, document=document), ())


def read_settings(model: type[_Settings], provider: ProviderSettings) -> tuple[_Settings | None, tuple[Diagnostic, ...]]:
    """Check a provider's settings against its plugin's model; faults stand at their places in the project file."""
    try:
        return model.model_validate(dict(provider.settings)), ()
    except ValidationError as problem:
        document = provider.document or Document("nodusctl.yaml", {}, _nowhere())
        return None, in_order(to_diagnostics(faults_of(problem, model, provider.path), document))


def _nowhere() -> Any:
    from nodusctl.documents.document import Place

    return Place(1, 1)


def _has_type(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("type"), str)


def _provider_faults(providers: object) -> list[Fault]:
    if not isinstance(providers, dict):
        return [wrong_type(("providers",), providers, "a mapping")]
    faults: list[Fault] = []
    for name, entry in providers.items():
        path: FieldPath = ("providers", name)
        if not isinstance(entry, dict):
            faults.append(wrong_type(path, entry, "a mapping"))
        elif "type" not in entry:
            faults.append(missing_field((*path, "type")))
        elif not isinstance(entry["type"], str):
            faults.append(wrong_type((*path, "type"), entry["type"], "a text"))
        else:
            faults.extend(null_faults(entry, path))
    return faults
