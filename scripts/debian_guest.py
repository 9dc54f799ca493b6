"""Build the Debian guest that tests boot under emulation: what ``nodusctl image build`` makes of the CPU image, with its kernel beside it.

    scripts/debian_guest.py [--cache FOLDER]     prints the folder with kernel, initrd, base.qcow2 and built.json (what the command printed)

It is kept under a name made of the recipe and everything that carries it out, and made again when anything of that changes or is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from guest_cache import kept

ROOT = Path(__file__).resolve().parent.parent
IMAGING = ROOT / "providers" / "nodus_providers" / "libvirt" / "imaging"
PARTS = ("recipe.py", "building.py", "finish.sh", "stage1.sh", "kernel_image.py")
IMAGE = "nodus/workspace-cpu"


def main(arguments: list[str]) -> int:
    """Build it unless it is there; the folder goes to stdout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--cache", type=Path, default=cache / "nodusctl" / "guests")
    print(kept(parser.parse_args(arguments).cache, "debian", _content(), _build))
    return 0


def _content() -> str:
    """A digest of the recipe and of what carries it out."""
    sources = [Path(__file__), *(IMAGING / name for name in PARTS)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _build(work: Path) -> Path:
    made = work / "made"
    made.mkdir()
    words = [sys.executable, "-P", "-m", "nodusctl", "--chdir", str(work), "image", "build", IMAGE, "--with-kernel", "--json"]
    ended = subprocess.run([*words, "--output", str(made / "base.qcow2")], stdout=subprocess.PIPE, text=True, check=False)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    if ended.returncode:
        raise SystemExit("\n".join(f"{line.get('summary')} {line.get('detail')}" for line in lines if line.get("type") == "diagnostic"))
    (found,) = (line for line in lines if line["type"] == "result")
    (made / "built.json").write_text(json.dumps(found), encoding="utf-8")
    for key in ("kernel", "initrd"):
        (made / f"base.{key}").rename(made / key)
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
