"""Which provider makes an image, and what is refused before anything is made."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from nodusctl.base.exits import UserError
from nodusctl.engine.imaging import build_image, buildable_images
from nodusctl.ports.providers import PluginFacts
from nodusctl.provider.contract import Provider
from nodusctl.provider.images import BuiltImage, ImageOrder, ImageRecipe, StepTold
from nodusctl.render.images import built_text, settings_lines

NAME = "nodus/workspace-cpu"


class Maker:
    """A plugin class that can make one image."""

    orders: list[ImageOrder] = []

    @classmethod
    def image_recipes(cls) -> tuple[ImageRecipe, ...]:
        return (ImageRecipe(name=NAME, contents="Debian"),)

    @classmethod
    def build_image(cls, order: ImageOrder, step: StepTold) -> BuiltImage:
        with step("making it"):
            cls.orders.append(order)
        settings = {"path": order.output, "cmdline": 'a="b" c', "sha256": "0" * 64}
        return BuiltImage(
            name=order.name, path=order.output, sha256="0" * 64, size_bytes=2**20, settings=settings, versions={"systemd": "257"}
        )


class Other:
    """A plugin class that can't."""


class Plugins:
    """Two plugins and a broken one."""

    def plugins(self) -> tuple[PluginFacts, ...]:
        named = (("maker", True), ("other", True), ("broken", False))
        return tuple(PluginFacts(type=name, distribution="", version="1", is_loadable=is_good) for name, is_good in named)

    def plugin_class(self, type_name: str) -> type[Provider]:
        return {"maker": Maker, "other": Other}[type_name]  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def _no_orders() -> None:
    Maker.orders.clear()


def order(folder: Path, **changed: object) -> ImageOrder:
    return ImageOrder(**{"name": NAME, "output": str(folder / "base.qcow2"), **changed})  # type: ignore[arg-type]


def refused(made: ImageOrder) -> list[str]:
    """The codes."""
    with pytest.raises(UserError) as fault:
        build_image(made, plugins=Plugins(), step=lambda what: nullcontext())
    assert Maker.orders == [], "nothing was begun"
    assert all(one.fix for one in fault.value.diagnostics)
    return [one.code for one in fault.value.diagnostics]


def test_the_plugin_that_has_the_recipe_makes_it_and_tells_its_steps(tmp_path: Path) -> None:
    told: list[str] = []

    def step(what: str) -> nullcontext[None]:
        told.append(what)
        return nullcontext()

    built = build_image(order(tmp_path), plugins=Plugins(), step=step)
    assert (built.name, told, Maker.orders) == (NAME, ["making it"], [order(tmp_path)])
    assert [(one.provider_type, one.recipe.name) for one in buildable_images(Plugins())] == [("maker", NAME)]


@pytest.mark.parametrize(
    ("name", "code"),
    [("nodus/workspace-rocm", "Unsupported"), ("nodus/workspace-cpv", "ImageNotFound"), ("team/own", "ImageNotFound")],
)
def test_an_image_nobody_can_make_is_refused(tmp_path: Path, name: str, code: str) -> None:
    assert refused(order(tmp_path, name=name)) == [code]


def test_what_is_written_wrong_is_told_at_once(tmp_path: Path) -> None:
    assert refused(order(tmp_path, packages=("htop", "Not A Package", "-x"), mirror="ftp://x")) == ["Invalid"] * 3
    assert refused(order(tmp_path, output=str(tmp_path / "nowhere" / "base.qcow2"))) == ["NotFound"]
    assert refused(order(tmp_path, output=str(tmp_path / "base.img"))) == ["Invalid"]


def test_a_file_that_is_there_is_never_overwritten_and_a_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "base.qcow2").symlink_to(tmp_path / "nothing")
    assert refused(order(tmp_path)) == ["AlreadyExists"]
    assert build_image(order(tmp_path, output=str(tmp_path)), plugins=Plugins(), step=lambda what: nullcontext()).path == str(tmp_path)


def test_the_lines_for_the_project_file_are_yaml_that_says_the_same(tmp_path: Path) -> None:
    from ruamel.yaml import YAML

    built = build_image(order(tmp_path), plugins=Plugins(), step=lambda what: nullcontext())
    read = YAML(typ="safe").load("\n".join(settings_lines(built)))
    assert read == {"images": {NAME: dict(built.settings)}}
    assert all(line in built_text(built) for line in settings_lines(built))
