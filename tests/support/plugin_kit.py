"""A provider plugin of a stranger's: its wheel, and what installing that leaves behind, made here without any index."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

CODE = '''
import pathlib
from nodus_providers.simulated.provider import SimulatedProvider

pathlib.Path({trace!r}).touch()


class Strange(SimulatedProvider):
    """A simulated cloud by another name."""
{more}
'''


@dataclass
class Plugin:
    """Distribution ``nodus-strange`` with the provider type ``strange``; ``trace`` is made when it is imported."""

    folder: Path
    version: str = "1.2.0"
    more: str = ""

    @property
    def trace(self) -> Path:
        return self.folder / "imported"

    @property
    def site(self) -> Path:
        """Where it is installed."""
        return self.folder / "site"

    @property
    def info(self) -> str:
        return f"nodus_strange-{self.version}.dist-info"

    @property
    def module(self) -> Path:
        return self.site / "nodus_strange" / "cloud.py"

    def files(self) -> dict[str, bytes]:
        """What is in its wheel, its RECORD aside."""
        code = CODE.format(trace=str(self.trace), more=self.more)
        return {
            "nodus_strange/__init__.py": b'"""A cloud."""\n',
            "nodus_strange/cloud.py": code.encode(),
            f"{self.info}/METADATA": f"Metadata-Version: 2.1\nName: nodus-strange\nVersion: {self.version}\n".encode(),
            f"{self.info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{self.info}/entry_points.txt": b"[nodusctl.providers]\nstrange = nodus_strange.cloud:Strange\n",
        }

    def record(self) -> str:
        rows = [f"{name},sha256={_hash(content)},{len(content)}" for name, content in self.files().items()]
        return "\n".join([*rows, f"{self.info}/RECORD,,"]) + "\n"

    def wheel(self, folder: Path, tag: str = "py3-none-any") -> Path:
        """Write its wheel into ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"nodus_strange-{self.version}-{tag}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in {**self.files(), f"{self.info}/RECORD": self.record().encode()}.items():
                archive.writestr(name, content)
        return path

    def install(self) -> None:
        """Unpack it as pip does: with an INSTALLER of its own in RECORD and compiled files without a hash."""
        self.remove()
        for name, content in self.files().items():
            (self.site / name).parent.mkdir(parents=True, exist_ok=True)
            (self.site / name).write_bytes(content)
        (self.site / self.info / "INSTALLER").write_text("pip\n")
        more = f"{self.info}/INSTALLER,sha256={_hash(b'pip' + bytes([10]))},4\nnodus_strange/__pycache__/cloud.cpython-311.pyc,,\n"
        (self.site / self.info / "RECORD").write_text(self.record() + more)

    def remove(self) -> None:
        """Uninstall it; the process forgets that it was imported."""
        import shutil

        shutil.rmtree(self.site, ignore_errors=True)
        self.trace.unlink(missing_ok=True)
        for name in [one for one in sys.modules if one.partition(".")[0] == "nodus_strange"]:
            del sys.modules[name]

    def is_imported(self) -> bool:
        return self.trace.exists()

    def forget(self) -> None:
        """As the next process finds it."""
        self.trace.unlink(missing_ok=True)
        for name in [one for one in sys.modules if one.partition(".")[0] == "nodus_strange"]:
            del sys.modules[name]


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    """The plugin, installed where this process finds it."""
    made = Plugin(tmp_path / "plugin")
    made.folder.mkdir()
    made.install()
    monkeypatch.syspath_prepend(str(made.site))
    yield made
    made.remove()
