"""Base images on a host: fetched once by a real HTTP server's address, gone on with after a break, and never used under a wrong digest."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nodus_providers.libvirt.hosts import Host, open_hosts
from nodus_providers.libvirt.images import Base, base_of
from nodus_providers.libvirt.settings import HostSettings, ImageSettings
from nodusctl.provider.replies import Refused
from nodusctl.testing.conformance_hooks import a_context

pytestmark = pytest.mark.skipif(shutil.which("qemu-img") is None or shutil.which("curl") is None, reason="no qemu-img or no curl here")
NAME = "nodus/workspace-cpu"


@dataclass
class Served:
    """An HTTP server on loopback with one file. ``asked`` holds the Range of each request, "" for a whole one."""

    content: bytes
    knows_ranges: bool = True
    asked: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def settings(self, **changed: str) -> ImageSettings:
        return ImageSettings.model_validate({"url": f"{self.url}/base.qcow2", "sha256": self.sha256, **changed})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    image = tmp_path / "made.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "1M"], check=True)
    here = Served(image.read_bytes())

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/base.qcow2":
                self.send_error(404)
                return
            wanted = self.headers.get("Range", "")
            here.asked.append(wanted)
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and here.knows_ranges else 0
            if start >= len(here.content):
                self.send_error(416)
                return
            self.send_response(206 if wanted and here.knows_ranges else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(here.content) - 1}/{len(here.content)}")
            self.send_header("Content-Length", str(len(here.content) - start))
            self.end_headers()
            self.wfile.write(here.content[start:])

        def log_message(self, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    here.url = f"http://127.0.0.1:{server.server_port}"
    yield here
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (found,) = open_hosts(a_context(tmp_path), (HostSettings.model_validate({"folder": str(tmp_path / "host")}),))
    return found


def images(host: Host) -> Path:
    return Path(host.folder) / "images"


def part(host: Host, served: Served, content: bytes) -> None:
    images(host).mkdir(parents=True)
    (images(host) / f"{served.sha256}.qcow2.part").write_bytes(content)


def names(host: Host) -> list[str]:
    return sorted(path.name for path in images(host).iterdir())


def refused(host: Host, settings: ImageSettings) -> str:
    """Why it was, in one line."""
    reply = base_of(host, {NAME: settings}, NAME)
    assert isinstance(reply, Refused), reply
    assert reply.code == "ImageNotFound"
    return reply.message


def test_an_image_is_fetched_once_under_the_name_of_its_digest(host: Host, served: Served) -> None:
    for _ in range(2):
        base = base_of(host, {NAME: served.settings()}, NAME)
        assert isinstance(base, Base), base
    assert (base.path, base.format) == (str(images(host) / f"{served.sha256}.qcow2"), "qcow2")
    assert Path(base.path).read_bytes() == served.content
    assert (served.asked, names(host)) == ([""], [f"{served.sha256}.qcow2"])


def test_a_wrong_digest_is_refused_with_both_and_nothing_is_kept(host: Host, served: Served) -> None:
    said = refused(host, served.settings(sha256="0" * 64))
    assert ("0" * 64 in said, served.sha256 in said) == (True, True)
    assert not [name for name in names(host) if not name.endswith(".lock")]


def test_what_a_broken_download_left_is_gone_on_with(host: Host, served: Served) -> None:
    part(host, served, served.content[:1000])
    assert isinstance(base_of(host, {NAME: served.settings()}, NAME), Base)
    assert served.asked == ["bytes=1000-"]
    assert names(host) == [f"{served.sha256}.qcow2"]


def test_what_was_left_whole_is_not_fetched_again(host: Host, served: Served) -> None:
    part(host, served, served.content)
    assert isinstance(base_of(host, {NAME: served.settings()}, NAME), Base)
    assert served.asked == []


@pytest.mark.parametrize("left", [b"of another image", b"x" * 2**21], ids=["shorter", "longer"])
def test_what_was_left_of_another_file_is_thrown_away(host: Host, served: Served, left: bytes) -> None:
    part(host, served, left)
    base = base_of(host, {NAME: served.settings()}, NAME)
    assert isinstance(base, Base), base
    assert Path(base.path).read_bytes() == served.content
    assert served.asked[-1] == ""


def test_a_server_that_knows_no_ranges_is_asked_for_the_whole_file(host: Host, served: Served) -> None:
    served.knows_ranges = False
    part(host, served, served.content[:1000])
    base = base_of(host, {NAME: served.settings()}, NAME)
    assert isinstance(base, Base), base
    assert Path(base.path).read_bytes() == served.content


def test_an_address_that_gives_nothing_is_refused_without_its_password(host: Host, served: Served) -> None:
    address = served.url.replace("http://", "http://ada:hunter2@")
    gone = refused(host, served.settings(url=f"{address}/gone.qcow2"))
    assert (f"{served.url}/gone.qcow2" in gone, "404" in gone) == (True, True)
    said = refused(host, served.settings(url=f"{address}/base.qcow2?token=swordfish", sha256="0" * 64))
    assert not {word for word in ("hunter2", "swordfish") if word in said}
    assert f"{served.url}/base.qcow2" in said


def test_a_file_on_the_host_is_read_once_and_again_when_it_changed(host: Host, served: Served, tmp_path: Path) -> None:
    path = tmp_path / "made.qcow2"
    settings = ImageSettings.model_validate({"path": str(path), "sha256": served.sha256})
    for _ in range(2):
        base = base_of(host, {NAME: settings}, NAME)
        assert isinstance(base, Base), base
    assert base.path == str(path)
    path.write_bytes(served.content + b"changed")
    said = refused(host, settings)
    assert (served.sha256 in said, hashlib.sha256(path.read_bytes()).hexdigest() in said) == (True, True)
    path.unlink()
    assert f"there is no {path}" in refused(host, settings)


def test_an_image_of_ones_own_is_refused_with_the_reason(host: Host) -> None:
    reply = base_of(host, {}, "registry.example/team/image:tag")
    assert isinstance(reply, Refused)
    assert reply.code == "Unsupported"
    assert ("disk image" in reply.message, "podman" in reply.message) == (True, True)
