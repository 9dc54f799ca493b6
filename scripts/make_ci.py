"""Writes ``examples/ci/``: the workflows that ``nodusctl init`` writes, for reading before one has a project.

With ``--check`` nothing is written; the exit code says whether they are current.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nodusctl.engine.ci_workflow import WorkflowForge, workflow_text

FOLDER = Path(__file__).parent.parent / "examples" / "ci"
NAMES = {WorkflowForge.GITHUB: "github-actions.yml", WorkflowForge.GITLAB: "gitlab-ci.yml"}


def wanted() -> dict[Path, str]:
    """Every generated file."""
    return {FOLDER / name: workflow_text(forge) for forge, name in NAMES.items()}


def main() -> int:
    """0 when all is current or written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    files = wanted()
    if parser.parse_args().check:
        stale = sorted(path.name for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text)
        if stale:
            print(f"examples/ci/ is not current ({', '.join(stale)}); run: make docs", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
