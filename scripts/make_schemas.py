"""Writes ``schemas/``: one JSON Schema for each kind, for the project file, for each provider's settings, and for a line of ``--json``.

With ``--check`` nothing is written; the exit code says whether the folder is current.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import entry_points
from pathlib import Path

from nodusctl.render.stream_schema import stream_schema
from nodusctl.resources.schema import all_schemas

FOLDER = Path(__file__).parent.parent / "schemas"


def wanted() -> dict[Path, str]:
    """Every file of the folder, by its path in it."""
    files = {Path(name): text for name, text in all_schemas().items()}
    files[Path("stream.json")] = json.dumps(stream_schema(), indent=2, ensure_ascii=False) + "\n"
    for entry in entry_points(group="nodusctl.providers"):
        if entry.dist is not None and entry.dist.name == "nodusctl":
            schema = entry.load().settings_schema()
            files[Path("providers", f"{entry.name}.json")] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return files


def main() -> int:
    """0 when all is current or written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    files = wanted()
    there = {path.relative_to(FOLDER): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.json")}
    if parser.parse_args().check:
        stale = sorted(str(path) for path in files.keys() | there.keys() if files.get(path) != there.get(path))
        if stale:
            print(f"schemas/ is not current ({', '.join(stale)}); run: make schemas", file=sys.stderr)
        return 1 if stale else 0
    for path in there.keys() - files.keys():
        (FOLDER / path).unlink()
    for path, text in files.items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
