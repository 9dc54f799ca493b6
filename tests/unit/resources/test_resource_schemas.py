"""The schemas hold every field of the seed pages by name, agree with decoding, and are the same bytes every time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from nodusctl.resources.decode import Decoded
from nodusctl.resources.kinds import KINDS
from nodusctl.resources.schema import all_schemas, project_schema, schema_for, schema_text

SCHEMAS = Path(__file__).parents[3] / "schemas"

METADATA = """
annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels
managedFields.apiVersion managedFields.fieldsType managedFields.fieldsV1 managedFields.manager managedFields.operation
managedFields.subresource managedFields.time name namespace ownerReferences.apiVersion ownerReferences.blockOwnerDeletion
ownerReferences.controller ownerReferences.kind ownerReferences.name ownerReferences.uid resourceVersion selfLink uid
"""
SHARED_SPEC = """
connections env.name env.value env.valueFrom.secretKeyRef.key env.valueFrom.secretKeyRef.name image imagePullSecrets maxCostUSD
network.egress.allow network.egress.policy network.egress.presets placement.dedicated placement.interruptible
placement.maxRateUSDPerHour placement.offerings placement.pool placement.profile placement.queueTimeout placement.regions
resources.cpu resources.disk resources.gpu.count resources.gpu.exact resources.gpu.interconnect resources.gpu.minMemory
resources.gpu.type resources.memory resources.nodes secrets.name secrets.version serviceAccountName state
"""
WORKSPACE_SPEC = "ephemeral idleTimeout schedule.readyBy schedule.stopAt sshKeys tools volume"
FUNCTION_SPEC = """
args cluster.launcher cluster.network cluster.size cluster.transport code.blob code.cls.methods code.cls.name code.module
code.qualname command imageRef initCommand.command initCommand.timeout python recovery.checkpoint.format
recovery.checkpoint.integration recovery.checkpoint.interval recovery.checkpoint.maxSize recovery.checkpoint.paths
recovery.checkpoint.retainAfterFinish recovery.continuity recovery.maxAttempts recovery.minProgressDuration
recovery.onInterruption retries.backoffCoefficient retries.initialDelay retries.maxDelay retries.maxRetries scaling.maxWorkers
scaling.minWorkers scaling.scaledownWindow scaling.targetConcurrency sidecars.command sidecars.env.name sidecars.env.value
sidecars.env.valueFrom.secretKeyRef.key sidecars.env.valueFrom.secretKeyRef.name sidecars.image sidecars.name
sidecars.startupTimeout timeout volumes.mountPath volumes.readOnly volumes.revision volumes.volume workingDir
"""
SHARED_STATUS = """
conditions.lastTransitionTime conditions.message conditions.observedGeneration conditions.reason conditions.status
conditions.type cost.bySegment.bootUSD cost.bySegment.coveredByNodus cost.bySegment.restoreUSD cost.bySegment.runningUSD
cost.bySegment.teardownUSD cost.final cost.fundedUntilTime cost.heldUSD cost.limitUSD cost.rateUSDPerHour cost.totalUSD
estimate.assemblyBoundUSD estimate.blockingReasons.code estimate.blockingReasons.fix estimate.blockingReasons.message
estimate.concurrentHoldUSD estimate.costUSD.p50 estimate.costUSD.p90 estimate.gangHoldUSD estimate.holdUSD
estimate.minimumChargeUSD estimate.overheadUSD.p50 estimate.overheadUSD.p90 estimate.placementPreview.explain
estimate.placementPreview.interruptible estimate.placementPreview.offering estimate.placementPreview.regionClass
estimate.placementPreview.warmReuse estimate.pricebookVersion estimate.rateUSDPerHour estimate.startup.cold.p50
estimate.startup.cold.p90 estimate.startup.warm.p50 estimate.startup.warm.p90 estimate.topology estimate.validUntil
estimate.warnings.code estimate.warnings.message handledRequests message observedGeneration phase reason
"""
WORKSPACE_STATUS = """
connect.jupyter.url connect.ssh.command connect.ssh.host connect.ssh.hostKey connect.vscode.url endpoints.name endpoints.port
endpoints.url home.revision home.savedTime home.volume lastActivityTime lastSession.attempt lastSession.billedSeconds
lastSession.chargeUSD lastSession.endTime lastSession.startTime lastSession.stopReason nextScheduledStartTime session.attempt
session.offering session.rateUSDPerHour session.regionClass session.startTime startEstimate.p50 startEstimate.p90 stopByTime
stopReason
"""
FUNCTION_STATUS = """
appVersion image.digest image.reference image.user queue.queued queue.running workers.busy workers.draining workers.idle
workers.ready workers.starting
"""
PATHS = [
    (kind, f"{part}.{path}")
    for kind, parts in {
        "Workspace": {"metadata": METADATA, "spec": SHARED_SPEC + WORKSPACE_SPEC, "status": SHARED_STATUS + WORKSPACE_STATUS},
        "Function": {"metadata": METADATA, "spec": SHARED_SPEC + FUNCTION_SPEC, "status": SHARED_STATUS + FUNCTION_STATUS},
    }.items()
    for part, paths in parts.items()
    for path in paths.split()
]


def named(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """All property paths of a schema; entries of lists count for the list."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{prefix}{name}"
        yield from named(inner, f"{prefix}{name}.")
        yield from named(inner.get("items", {}), f"{prefix}{name}.")


@pytest.mark.parametrize("kind", ["Workspace", "Function"])
def test_every_field_of_the_seed_page_is_a_named_property(kind: str) -> None:
    wanted = {path for of, path in PATHS if of == kind}
    assert wanted - set(named(schema_for(kind))) == set()
    assert len(wanted) > 140


@pytest.mark.parametrize("kind", ["Workspace", "Function"])
def test_the_spec_has_no_field_beyond_the_seed_page(kind: str) -> None:
    wanted = {path for of, path in PATHS if of == kind and path.startswith("spec.")}
    leaves = {path for path in named(schema_for(kind)) if path.startswith("spec.")}
    assert {path for path in leaves if not any(other.startswith(f"{path}.") for other in leaves)} == wanted


def closed(schema: dict[str, Any]) -> bool:
    here = "properties" not in schema or schema.get("additionalProperties") is False
    return here and all(closed(inner) and closed(inner.get("items", {})) for inner in schema.get("properties", {}).values())


@pytest.mark.parametrize("kind", list(KINDS))
def test_specs_are_closed_at_every_level_and_every_property_is_described(kind: str) -> None:
    schema = schema_for(kind)
    Draft202012Validator.check_schema(schema)
    assert closed(schema["properties"]["spec"])
    assert all(inner.get("description") for part in ("spec", "status") for inner in schema["properties"][part]["properties"].values())


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_schema_is_the_same_bytes_every_time(kind: str) -> None:
    assert schema_text(kind) == schema_text(kind)
    assert json.loads(schema_text(kind)) == schema_for(kind)


def test_the_files_in_the_repository_are_current() -> None:
    assert {path.name: path.read_text() for path in SCHEMAS.glob("*.json") if path.name != "stream.json"} == dict(all_schemas())


ACCEPTED = [
    {"ephemeral": True},
    {"volume": "home", "resources": {"gpu": "H100:8", "cpu": 4, "memory": "16Gi"}, "secrets": ["a", {"name": "b", "version": 2}]},
    {"volume": "home", "maxCostUSD": "5", "idleTimeout": "0s", "schedule": {"readyBy": "2026-10-26T09:00:00+02:00"}, "tools": ["SSH"]},
]
REFUSED = [
    {},
    {"ephemeral": True, "idleTimout": "1h"},
    {"ephemeral": True, "maxCostUSD": 5.1},
    {"ephemeral": True, "idleTimeout": 90},
    {"ephemeral": True, "resources": {"cpu": "010"}},
    {"ephemeral": True, "resources": {"gpu": "H100:3"}},
    {"ephemeral": True, "state": "running"},
    {"ephemeral": True, "tools": "SSH"},
]


@pytest.mark.parametrize(("spec", "is_valid"), [*((spec, True) for spec in ACCEPTED), *((spec, False) for spec in REFUSED)])
def test_schema_and_decoding_agree(read: Callable[..., Decoded], spec: dict[str, Any], is_valid: bool) -> None:
    document = {"apiVersion": "nodus.dev/v1", "kind": "Workspace", "metadata": {"name": "lab"}, "spec": spec}
    assert Draft202012Validator(schema_for("Workspace")).is_valid(document) is is_valid
    assert bool(read(json.dumps(document)).resources) is is_valid


def test_annotations_under_our_prefix_are_a_closed_list_in_the_schema() -> None:
    validator = Draft202012Validator(schema_for("Workspace")["properties"]["metadata"])
    assert validator.is_valid({"name": "a", "annotations": {"nodus.dev/protected": "true", "example.com/x": "y"}})
    assert not validator.is_valid({"name": "a", "annotations": {"nodus.dev/protcted": "true"}})


def test_the_project_schema_leaves_settings_of_a_provider_to_its_plugin() -> None:
    validator = Draft202012Validator(project_schema())
    assert validator.is_valid({"project": "lab", "providers": {"sim": {"type": "simulated", "world": "world.yaml"}}})
    assert not validator.is_valid({"providers": {"sim": {"world": "world.yaml"}}})
    assert not validator.is_valid({"specs": "*.yaml"})
