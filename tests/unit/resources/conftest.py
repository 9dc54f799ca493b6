"""Reads texts as the program does: documents first, then meaning, all diagnostics together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from nodusctl.base.diagnostics import in_order
from nodusctl.documents.reading import load_documents
from nodusctl.resources.decode import Decoded, Specs, decode

Read = Callable[..., Decoded]


@pytest.fixture
def read() -> Read:
    """``read(text, …)`` decodes files a.yaml, b.yaml … of project ``default``."""

    def reading(*texts: str | bytes, now: datetime | None = None, known: Specs | None = None) -> Decoded:
        files = [(f"{'abcdef'[index]}.yaml", text.encode() if isinstance(text, str) else text) for index, text in enumerate(texts)]
        loaded = load_documents(files, named=frozenset(path for path, _ in files))
        decoded = decode(loaded.documents, clock_now=now, project="default", known=known or {})
        return Decoded(decoded.resources, in_order((*loaded.diagnostics, *decoded.diagnostics)))

    return reading


@pytest.fixture
def workspace() -> Callable[..., str]:
    """A Workspace's YAML; a line of the spec per argument, and ``metadata`` beside the name."""

    def text(*lines: str, metadata: str = "") -> str:
        head = f"apiVersion: nodus.dev/v1\nkind: Workspace\nmetadata: {{name: lab{metadata}}}\nspec:\n"
        return head + "".join(f"  {line}\n" for line in (lines or ("ephemeral: true",)))

    return text


@pytest.fixture
def function() -> Callable[..., str]:
    """A Function's YAML; a line of the spec per argument."""

    def text(*lines: str) -> str:
        head = "apiVersion: nodus.dev/v1\nkind: Function\nmetadata: {name: embed}\nspec:\n"
        head += '  code: {module: app, qualname: Emb}\n  python: "3.12"\n'
        return head + "".join(f"  {line}\n" for line in lines)

    return text
