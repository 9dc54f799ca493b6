"""``init``: the files of a new project, as text with comments. Nothing that is there is ever touched.

The Workspace asks for what any computer has, so that ``plan`` right after works with the embedded provider and costs nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.engine.ci_workflow import WorkflowForge, workflow_for

SCHEMAS = "https://nodus.dev/schemas/nodusctl"
IGNORED = (".nodus/", "*.nodusplan")
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 63

_PROJECT = """\
# yaml-language-server: $schema={schemas}/project.json
# Everything below this folder belongs to one project. `nodusctl schema project` has every key.
project: {name}

# Where the state is kept: what exists, what it has cost. It stays out of version control (see .gitignore).
state: sqlite:///.nodus/state.db

providers:
  # The embedded provider: machines on this computer. With rateUSDPerHour: "0.12" your own hardware has a price in plans and receipts.
  here: {{type: local}}
  # A simulated cloud to learn on; see `nodusctl sim --help`.
  # sim: {{type: simulated}}

# Limits that every plan must keep.
policy:
  maxDeletes: 3
  # maxMonthlyUSD: "200.00"
"""

_LAB = """\
# yaml-language-server: $schema={schemas}/workspace.json
# A machine to work on. `nodusctl explain workspace.spec` documents every field.
apiVersion: nodus.dev/v1
kind: Workspace
metadata:
  name: lab
spec:
  image: nodus/workspace-cpu
  # Floors: an offer has at least this much. A GPU is asked for with resources: {{gpu: L4}}
  resources: {{cpu: 1, memory: 512Mi}}
  # Its home: a disk that outlives the machine.
  volume: lab-home
  tools: [SSH]
  # The machine stops itself after this long without use: no terminal or tool in use, no process, no work on CPU or GPU.
  idleTimeout: 1h
  # Stops when it has cost this much; can be raised later, not lowered.
  maxCostUSD: "5.00"
"""

_HOME = """\
# yaml-language-server: $schema={schemas}/volume.json
# The home of lab. Removing this file keeps the data; only `nodusctl delete volume/lab-home` deletes it.
apiVersion: nodus.dev/v1
kind: Volume
metadata:
  name: lab-home
spec:
  size: 1Gi
  revisionHistoryLimit: 5
"""


class Fate(StrEnum):
    """What became of one file."""

    WRITTEN = "written"
    EXTENDED = "extended"
    THERE = "already there"
    LEFT_OUT = "left out: a workflow can't hold this folder's name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldedFile:
    """One file of the scaffold; ``name`` is relative to the project, and may lie above it where it is the repository's."""

    name: str
    fate: Fate


def project_name(folder: Path) -> str:
    """A DNS-1123 label from the folder's name; ``lab`` where nothing is left of it."""
    return _NOT_A_NAME.sub("-", folder.name.lower()).strip("-")[:_LONGEST_NAME].strip("-") or "lab"


def scaffold(folder: Path, forge: WorkflowForge | None = None) -> tuple[ScaffoldedFile, ...]:
    """Write what is missing, with the workflow of ``forge``. UserError where that can't be; files that exist stay byte for byte."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (*_write(folder), _write_workflow(folder, forge))
    except OSError as fault:
        detail = f"{fault.filename or folder}: {fault.strerror}."
        raise UserError(error("Invalid", "The project can't be written there", detail, "Name a folder you may write to.")) from None


def _write(folder: Path) -> Iterator[ScaffoldedFile]:
    name = project_name(folder.resolve())
    for path, text in (("nodusctl.yaml", _PROJECT), ("lab.yaml", _LAB), ("lab-home.yaml", _HOME)):
        yield ScaffoldedFile(name=path, fate=_write_new(folder / path, text.format(schemas=SCHEMAS, name=name)))
    yield ScaffoldedFile(name=".gitignore", fate=_ignore(folder / ".gitignore"))


def _write_workflow(folder: Path, forge: WorkflowForge | None) -> ScaffoldedFile:
    workflow = workflow_for(folder, forge)
    if workflow is None:
        return ScaffoldedFile(name="CI workflow", fate=Fate.LEFT_OUT)
    workflow.path.parent.mkdir(parents=True, exist_ok=True)
    name = os.path.relpath(workflow.path, folder.resolve())
    return ScaffoldedFile(name=name, fate=_write_new(workflow.path, workflow.text))


def _write_new(path: Path, text: str) -> Fate:
    """Mode x refuses a file that came into being a moment ago, too."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return Fate.THERE
    return Fate.WRITTEN


def _ignore(path: Path) -> Fate:
    """Only lines that are missing are added, at the end."""
    before = path.read_text(encoding="utf-8") if path.exists() else None
    missing = [line for line in IGNORED if line not in (before or "").splitlines()]
    if not missing:
        return Fate.THERE
    lead = "" if not before or before.endswith("\n") else "\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(lead + "# nodusctl: the state of this folder, and saved plans\n" + "\n".join(missing) + "\n")
    return Fate.WRITTEN if before is None else Fate.EXTENDED
