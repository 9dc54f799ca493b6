"""Reading a spec, and pins in it that exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from nodusctl.base.money import Money
from nodusctl.placement.offering_ids import parse_offering_id
from nodusctl.placement.request import Interruptible, Profile, contradictions, request_from_spec, unknown_types

GIB = 1024**3


def test_a_spec_is_read_field_by_field() -> None:
    request = request_from_spec(
        {
            "resources": {
                "cpu": "4000m",
                "memory": "16Gi",
                "disk": 100 * GIB,
                "gpu": {"type": ["H100-SXM"], "count": 8, "exact": True, "interconnect": "NVLink", "minMemory": "80Gi"},
            },
            "placement": {"profile": "Cost", "interruptible": "Prefer", "maxRateUSDPerHour": "30", "regions": ["eu"], "pool": "lab"},
            "network": {"egress": {"policy": "Deny"}},
        },
        providers=["lab-hosts"],
        locations=["here"],
        written_tools=["SSH"],
    )
    assert (request.vcpu_milli, request.memory_bytes, request.disk_bytes) == (4000, 16 * GIB, 100 * GIB)
    assert (request.gpu_types, request.gpu_count, request.is_exact, request.needs_nvlink) == (("H100-SXM",), 8, True, True)
    assert request.min_gpu_memory_bytes == 80 * GIB
    assert (request.profile, request.interruptible, request.max_rate) == (Profile.COST, Interruptible.PREFER, Money.parse("30"))
    assert (request.region_classes, request.pool, request.providers) == (("eu",), "lab", ("lab-hosts",))
    assert (request.locations, request.tools, request.egress_policy) == (("here",), ("SSH",), "Deny")


def test_an_empty_spec_is_cpu_work_without_floors() -> None:
    request = request_from_spec({})
    assert not request.is_gpu
    assert (request.interruptible, request.profile, request.max_rate) == (Interruptible.NEVER, Profile.BALANCED, None)


@pytest.mark.parametrize(
    ("gpu", "placement", "message"),
    [
        ({"type": ["L4"]}, {"offerings": ["h100-sxm-80g-x1-us"]}, "is h100-sxm, and resources.gpu.type asks for L4"),
        ({"type": ["H100"]}, {"offerings": ["cpu-4c-16g-us"]}, "has no GPU, and resources.gpu asks for one"),
        ({"type": ["H100"], "count": 8}, {"offerings": ["h100-sxm-80g-x1-us"]}, "has 1 GPUs, and resources.gpu.count asks for 8"),
        ({"type": ["H100-PCIe"], "exact": True}, {"offerings": ["h100-sxm-80g-x1-us"]}, "asks for H100-PCIe"),
        ({"type": ["L4"], "minMemory": "40Gi"}, {"offerings": ["l4-24g-x1-us"]}, "has 24Gi per GPU"),
        ({"type": ["L4"]}, {"offerings": ["l4-24g-x1-us"], "regions": ["eu"]}, "is in region class us"),
        (None, {"offerings": ["cpu-2c-4g-us-gov"], "regions": ["us"]}, "is in region class us-gov"),
    ],
)
def test_a_pinned_offering_that_the_rest_of_the_spec_excludes_is_found(gpu: Any, placement: dict[str, Any], message: str) -> None:
    (found,) = contradictions(request_from_spec({"resources": {"gpu": gpu}, "placement": placement}))
    assert message in found.message
    assert found.field == "placement.offerings[0]"


def test_pins_that_agree_are_no_contradiction() -> None:
    spec = {"resources": {"gpu": {"type": ["H100"], "count": 8}}, "placement": {"offerings": ["h100-sxm-80g-x8-eu", "made-by-hand"]}}
    assert contradictions(request_from_spec(spec)) == ()


def test_an_unknown_gpu_type_is_reported_with_the_nearest() -> None:
    (found,) = unknown_types(request_from_spec({"resources": {"gpu": {"type": ["L4", "H10O"]}}}))
    assert (found.index, found.word, found.nearest) == (1, "H10O", "h100")


def test_a_variant_that_does_not_exist_is_reported_with_those_that_do() -> None:
    (found,) = unknown_types(request_from_spec({"resources": {"gpu": {"type": ["H200-PCIe"]}}}))
    assert found.nearest == "h200-sxm, h200-nvl"


def test_pinning_a_family_with_several_variants_is_reported() -> None:
    (found,) = unknown_types(request_from_spec({"resources": {"gpu": {"type": ["H100"], "exact": True}}}))
    assert found.is_ambiguous_pin
    assert found.nearest == "h100-sxm, h100-pcie, h100-nvl"


@pytest.mark.parametrize("text", ["h100-sxm-80g-x8-us", "l4-24g-x1-us-gov", "cpu-4c-16g-us", "mi300x-oam-192g-x8-eu"])
def test_an_offering_id_read_and_written_is_the_same(text: str) -> None:
    assert str(parse_offering_id(text)) == text
