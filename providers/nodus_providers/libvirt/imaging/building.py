"""Makes an image: Debian unpacked by mmdebstrap, turned into kernel, initrd and file system, put on a disk that boots by UEFI.

Everything happens in a folder beside the output, which goes away whatever happens; the output appears whole or not at all. Nothing is
mounted and no loop device is used, so it runs in containers and without root.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodus_providers.libvirt.imaging import recipe
from nodus_providers.libvirt.imaging.computer import as_root, lacks, whole_path, with_own_mounts
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.redaction import clean
from nodusctl.provider.images import BuiltImage, ImageOrder, StepTold

_HERE = Path(__file__).parent
_MIB = 2**20
_DISK_MIB = 10 * 1024  # sparse; a machine with a larger disk grows it at its first boot
_ESP_START_MIB, _ESP_MIB = 1, 96
_ROOT_START_MIB = _ESP_START_MIB + _ESP_MIB
_BLOCK = 4096
_KERNEL_FILES = ("kernel", "initrd")
_TAIL_LINES = 6
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
# Discoverable Partitions Specification: the EFI system partition, the root of x86-64.
_LAYOUT = f"""label: gpt
start={_ESP_START_MIB}MiB, size={_ESP_MIB}MiB, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, name=nodus-esp
start={_ROOT_START_MIB}MiB, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, name=nodus-root
"""


def build(order: ImageOrder, step: StepTold, *, is_root: bool | None = None) -> BuiltImage:
    """Make the CPU image. UserError where something is missing or a step fails; nothing is left beside the output then."""
    acts_as_root = os.geteuid() == 0 if is_root is None else is_root
    path = whole_path(order.environment.get("PATH", ""))
    if faults := (*lacks(path, is_root=acts_as_root), *_taken(order)):
        raise UserError(*faults)
    output = Path(order.output)
    folder = output if output.is_dir() else output.parent
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".nodus-image-", ignore_cleanup_errors=True) as work:
            proxies = {name: order.environment[name] for name in _PROXIES if name in order.environment}
            making = _Making(folder=Path(work), environment={"PATH": path, "LC_ALL": "C", **proxies}, is_root=acts_as_root)
            with step("Downloading and unpacking Debian packages"):
                making.unpack((*recipe.PACKAGES, *order.packages), order.mirror)
            with step("Making kernel, initrd and file system"):
                making.finish()
            with step("Packing the disk into a qcow2"):
                image, digest = making.pack()
            return making.placed(order, image, digest)
    except OSError as fault:
        raise UserError(
            error("NotWritable", "The image can't be written.", clean(str(fault)), f"Look at the folder and its disk:\n  df -h {folder}")
        ) from fault


@dataclass(frozen=True, slots=True, kw_only=True)
class _Making:
    """One image being made in ``folder``."""

    folder: Path
    environment: Mapping[str, str]
    is_root: bool

    def unpack(self, packages: Sequence[str], mirror: str) -> None:
        """Debian as a tar file, with the owners of all files."""
        options = (
            f"--mode={'root' if self.is_root else 'unshare'}",
            "--variant=minbase",
            "--architectures=amd64",
            "--format=tar",
            f"--include={','.join(packages)}",
            '--aptopt=APT::Install-Recommends "false"',
            '--aptopt=Acquire::Languages "none"',
            "--aptopt=Acquire::Retries 3",
            "--dpkgopt=path-exclude=/usr/share/man/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        )
        # Without root its files are another user's, who may not look into a folder of ours.
        temporary = {"TMPDIR": str(self.folder)} if self.is_root else {}
        words = ("mmdebstrap", *options, recipe.SUITE, "root.tar", *recipe.sources(mirror))
        # INITRD: Debian's own initrd, which takes longest of all, isn't used.
        self._run(*with_own_mounts(is_root=self.is_root), *words, INITRD="No", **temporary)

    def finish(self) -> None:
        """Kernel, initrd, and the file system in its partition."""
        for name, text in recipe.FILES.items():
            target = self.folder / "files" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        for name, words in (
            ("enabled", recipe.ENABLED),
            ("disabled", recipe.DISABLED),
            ("masked", recipe.MASKED),
            ("modules", recipe.MODULES),
        ):
            (self.folder / name).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        for name in ("finish.sh", "stage1.sh", "kernel_image.py"):
            shutil.copy(_HERE / name, self.folder / name)
        with (self.folder / "disk.raw").open("wb") as disk:
            disk.truncate(_DISK_MIB * _MIB)
        self._run("sfdisk", "-q", "disk.raw", stdin=_LAYOUT)
        offset = _ROOT_START_MIB * _MIB
        # The last MiB is the partition table's copy.
        blocks = (_DISK_MIB - _ROOT_START_MIB - 1) * _MIB // _BLOCK
        self._run(*as_root(is_root=self.is_root), "sh", "finish.sh", "disk.raw", str(offset), str(blocks))

    def pack(self) -> tuple[Path, str]:
        """The EFI partition, then everything as a compressed qcow2; its SHA-256."""
        self._write("loader.conf", "timeout 0\neditor no\n")
        self._write("nodus.conf", recipe.boot_entry((self.folder / "version").read_text(encoding="utf-8").strip()))
        drive = f"disk.raw@@{_ESP_START_MIB}M"
        self._run("mformat", "-i", drive, "-F", "-c", "1", "-T", str(_ESP_MIB * _MIB // 512), "-h", "255", "-s", "63", "-v", "NODUS", "::")
        self._run("mmd", "-i", drive, "::EFI", "::EFI/BOOT", "::loader", "::loader/entries")
        for source, target in (
            ("boot.efi", "EFI/BOOT/BOOTX64.EFI"),
            ("linux", "linux"),
            ("initrd", "initrd"),
            ("loader.conf", "loader/loader.conf"),
            ("nodus.conf", "loader/entries/nodus.conf"),
        ):
            self._run("mcopy", "-i", drive, source, f"::{target}")
        packing = ("-c", "-o", "compression_type=zstd", "-m", "8", "-W")
        self._run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", *packing, "disk.raw", "disk.qcow2")
        image = self.folder / "disk.qcow2"
        with image.open("rb") as stream:
            return image, hashlib.file_digest(stream, "sha256").hexdigest()

    def placed(self, order: ImageOrder, image: Path, digest: str) -> BuiltImage:
        """The files under their names, each whole; never in the place of one that is there."""
        output = Path(order.output)
        target = output / f"{order.name.rpartition('/')[2]}-{digest[:12]}.qcow2" if output.is_dir() else output
        files = {
            "path": (image, target),
            **({key: (self.folder / key, _beside(target, key)) for key in _KERNEL_FILES} if order.with_kernel else {}),
        }
        _put_all(list(files.values()))
        settings = {key: str(place) for key, (_, place) in files.items()}
        if order.with_kernel:
            settings["cmdline"] = recipe.KERNEL_LINE
        lines = (self.folder / "versions").read_text(encoding="utf-8").splitlines()
        versions = dict(line.split("\t", 1) for line in lines)
        return BuiltImage(
            name=order.name,
            path=str(target),
            sha256=digest,
            size_bytes=target.stat().st_size,
            settings={**settings, "sha256": digest},
            versions=versions,
        )

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def _run(self, *words: str, stdin: str = "", **more: str) -> None:
        environment = {**self.environment, "HOME": str(self.folder), **more}
        ended = subprocess.run(words, cwd=self.folder, env=environment, input=stdin, capture_output=True, text=True, check=False)
        if ended.returncode:
            said = [line for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
            faults = [line for line in said if line.startswith("E:")] or said
            detail = "\n".join((f"{_named(words)} ended with status {ended.returncode}:", *faults[-_TAIL_LINES:]))
            raise UserError(error("ImageNotBuilt", "The image could not be made.", clean(detail), _FIX))


def _beside(target: Path, key: str) -> Path:
    return target.with_suffix(f".{key}")


def _taken(order: ImageOrder) -> Iterator[Diagnostic]:
    """Files of this name that are there already, beside an output that isn't."""
    output = Path(order.output)
    for key in _KERNEL_FILES if order.with_kernel and not output.is_dir() else ():
        if (place := _beside(output, key)).exists():
            yield error("AlreadyExists", "A file beside the image is there already.", str(place), "Choose another --output.")


def _put_all(files: Sequence[tuple[Path, Path]]) -> None:
    """Each under its name, all or none, and never in the place of one that is there. Readable for everyone: QEMU may be another user."""
    placed: list[Path] = []
    try:
        for source, target in files:
            source.chmod(0o644)
            with source.open("rb") as stream:
                os.fsync(stream.fileno())
            os.link(source, target)
            placed.append(target)
    except OSError:
        for target in placed:
            target.unlink()
        raise


def _named(words: Sequence[str]) -> str:
    """The program that did the work, without what it was run in."""
    return next((one for one in ("finish.sh", "mmdebstrap") if one in words), words[0])


_FIX = "Where a package could not be fetched, repeat it or take another mirror:\n  nodusctl image build NAME --output PATH --mirror URL"
