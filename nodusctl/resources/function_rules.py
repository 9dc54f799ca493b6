"""Rules between the fields of a Function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodusctl.documents.document import FieldPath
from nodusctl.resources.defaults import PYTHON_IMAGES
from nodusctl.resources.faulting import Fault
from nodusctl.resources.shared_rules import Spec, catalog_image, env_rules, machine_rules, mapping_at, twice, unique


def function_rules(spec: Spec, annotations: Mapping[str, str]) -> Iterator[Fault]:
    """All of them."""
    yield from machine_rules(spec, annotations, "Use cluster.size for several machines.")
    yield from _function_image(spec)
    yield from _scaling(spec)
    yield from _mounts(spec)
    yield from _sidecars(spec, annotations)


def _function_image(spec: Spec) -> Iterator[Fault]:
    image, python = spec.get("image"), spec.get("python")
    if image is not None and spec.get("imageRef") is not None:
        yield Fault(
            reason="Invalid",
            summary="A Function has two images.",
            detail="At most one of image and imageRef is written.",
            fix="Remove one of the two.",
            paths=(("spec", "image"), ("spec", "imageRef")),
        )
    yield from catalog_image(spec, PYTHON_IMAGES)
    if image in PYTHON_IMAGES and f"nodus/python:{python}" in PYTHON_IMAGES and image != f"nodus/python:{python}":
        yield Fault(
            reason="Invalid",
            summary="Image and Python version differ.",
            detail=f"The image is {image}, python is {python}.",
            fix="Make them equal, or leave the image out.",
            paths=(("spec", "image"), ("spec", "python")),
        )


def _scaling(spec: Spec) -> Iterator[Fault]:
    scaling = mapping_at(spec, "scaling")
    low, high = scaling.get("minWorkers", 0), scaling.get("maxWorkers", 10)
    if isinstance(low, int) and isinstance(high, int) and low > high >= 1:
        default = "" if "maxWorkers" in scaling else " (the default)"
        yield Fault(
            reason="Invalid",
            summary="More workers are kept warm than are allowed.",
            detail=f"minWorkers is {low}, maxWorkers is {high}{default}; minWorkers is at most maxWorkers.",
            fix=f"Write minWorkers of at most {high}, or raise maxWorkers.",
            paths=(("spec", "scaling", "minWorkers"), ("spec", "scaling", "maxWorkers")),
        )


def _mounts(spec: Spec) -> Iterator[Fault]:
    first: dict[str, int] = {}
    mounts = spec.get("volumes")
    for index, mount in enumerate(mounts if isinstance(mounts, list) else []):
        if not isinstance(mount, dict):
            continue
        path: FieldPath = ("spec", "volumes", index)
        if "revision" in mount and mount.get("readOnly") is not True:
            yield Fault(
                reason="Invalid",
                summary="A revision is mounted for writing.",
                detail="revision is only for readOnly: true.",
                fix="Add readOnly: true.",
                paths=((*path, "readOnly"), (*path, "revision")),
            )
        where = str(mount.get("mountPath")).rstrip("/")
        if where in first:
            yield twice((*path, "mountPath"), ("spec", "volumes", first[where], "mountPath"))
        first.setdefault(where, index)


def _sidecars(spec: Spec, annotations: Mapping[str, str]) -> Iterator[Fault]:
    yield from unique(spec, "sidecars", by="name")
    sidecars = spec.get("sidecars")
    for index, sidecar in enumerate(sidecars if isinstance(sidecars, list) else []):
        if isinstance(sidecar, dict):
            yield from env_rules(sidecar.get("env"), ("spec", "sidecars", index, "env"), annotations)
