"""Defaults that depend on other fields; all others stand in the declarations of the kinds."""

from __future__ import annotations

from typing import Any

from nodusctl.resources.fields import SpecModel

WORKSPACE_IMAGES = ("nodus/workspace-pytorch-cuda", "nodus/workspace-cpu", "nodus/workspace-rocm")
PYTHON_IMAGES = ("nodus/python:3.10", "nodus/python:3.11", "nodus/python:3.12", "nodus/python:3.13")


def default_image(kind: str, *, has_gpu: bool, python: str = "") -> str | None:
    """The image of a Workspace or Function that names none."""
    if kind == "Workspace":
        return "nodus/workspace-pytorch-cuda" if has_gpu else "nodus/workspace-cpu"
    return f"nodus/python:{python}" if kind == "Function" else None


def with_defaults(kind: str, model: SpecModel) -> SpecModel:
    """``model`` with the defaults that depend on other fields."""
    if kind not in ("Workspace", "Function"):
        return model
    fields: Any = model
    if fields.image is not None or getattr(fields, "image_ref", None) is not None:
        return model
    image = default_image(kind, has_gpu=fields.resources.gpu is not None, python=getattr(fields, "python", ""))
    return model.model_copy(update={"image": image})
