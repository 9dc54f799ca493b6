"""``nodusctl image build`` and ``image list``: base images for virtual machines, made on this computer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import family
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.engine.imaging import build_image, buildable_images
from nodusctl.provider.images import ImageOrder
from nodusctl.render.images import built_document, built_text, recipes_document, recipes_text

app = family("Base images for virtual machines: build one, list what can be built.")


@app.callback()
def _image() -> None:
    """Base images for virtual machines: build one, list what can be built."""


@app.command("build")
def build(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A catalog image, such as nodus/workspace-cpu.")],
    output_path: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PATH", help="A file that doesn't exist yet, or a folder (then it is named by its content)."
        ),
    ],
    packages: Annotated[
        list[str] | None, typer.Option("--package", metavar="PACKAGE", help="One more Debian package; repeatable.", show_default=False)
    ] = None,
    mirror: Annotated[
        str, typer.Option("--mirror", metavar="URL", help="A Debian archive; default http://deb.debian.org/debian.", show_default=False)
    ] = "",
    with_kernel: Annotated[
        bool,
        typer.Option(
            "--with-kernel", help="Also write kernel and initrd beside it: booted without firmware, emulated machines start sooner."
        ),
    ] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """Build a base image from Debian packages alone, and print the lines for nodusctl.yaml.

    It takes minutes, 2 GB beside the output, and root or user namespaces. Nothing that exists is overwritten.
    """
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    order = ImageOrder(
        name=name,
        output=str((wiring.start / Path(output_path).expanduser()).resolve()),
        packages=tuple(dict.fromkeys(packages or ())),
        mirror=mirror,
        with_kernel=with_kernel,
        environment=wiring.surroundings.environment,
    )

    @contextmanager
    def step(what: str) -> Iterator[None]:
        output.remark(what)
        with told_when_slow(output, wiring.wall, what, first_seconds=9.0):
            yield

    built = build_image(order, plugins=wiring.plugins, step=step)
    output.result("result", lambda style: built_text(built), lambda: built_document(built))
    return ExitCode.DONE


@app.command("list")
def list_images(context: typer.Context, *, is_json: JsonOption = False) -> ExitCode:
    """Images that can be built here."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    found = buildable_images(wiring.plugins)
    output.result("result", lambda style: recipes_text(found, style), lambda: recipes_document(found))
    return ExitCode.DONE
