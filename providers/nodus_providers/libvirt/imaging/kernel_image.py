"""The ELF kernel inside a bzImage: booted by its PVH entry, it spares an emulated machine the unpacking.

As a program (``kernel_image.py BZIMAGE >vmlinux``) it is run inside the image, whose packages bring lz4 and zstd. Standard library alone.
"""

from __future__ import annotations

import lzma
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence

_ELF = b"\x7fELF"
_PROGRAMS = {b"\x02\x21\x4c\x18": "lz4", b"\x28\xb5\x2f\xfd": "zstd"}


def uncompressed_kernel(image: bytes, programs: Mapping[str, Sequence[str]], environment: Mapping[str, str] | None = None) -> bytes:
    """The kernel. ``programs`` says how lz4 and zstd are called. ValueError where it is packed in another way."""
    # Documentation/arch/x86/boot.rst of Linux: setup_sects, payload_offset, payload_length.
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[(sectors + 1) * 512 + offset :][:length]
    if payload.startswith(b"\xfd7zXZ\0"):
        kernel = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x1f\x8b"):
        kernel = zlib.decompressobj(31).decompress(payload)
    elif name := _PROGRAMS.get(payload[:4]):
        words = [*programs.get(name, (name,)), "-dc"]
        # The kernel's length is written behind it, which the program takes for a broken block; by then it has written everything.
        kernel = subprocess.run(words, input=payload, env=environment, capture_output=True, check=False).stdout
    else:
        raise ValueError(f"the kernel is packed in an unknown way ({payload[:6].hex()})")
    if not kernel.startswith(_ELF):
        raise ValueError("the kernel could not be unpacked")
    return kernel


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as _file:  # noqa: PTH123 - it runs on small guests too
        sys.stdout.buffer.write(uncompressed_kernel(_file.read(), {}))
