"""The shipped price files and those of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.catalog.normalise import normalise
from nodusctl.catalog.prices import SHIPPED, CatalogPrices, content_digest, load_price_book, shipped_files
from nodusctl.placement.accelerators import is_known
from nodusctl.placement.offering_ids import parse_offering_id

HEADER = "provider,offering_id,on_demand_usd_hour,observed_at\n"


def test_the_index_names_every_shipped_file_as_it_is() -> None:
    listed = shipped_files()
    assert {one.name for one in listed} == {path.name for path in SHIPPED.glob("*.csv")} - {"index.csv"}
    for one in listed:
        assert one.digest == content_digest((SHIPPED / one.name).read_text(encoding="utf-8"))


def test_every_shipped_row_is_readable_and_has_source_licence_and_date() -> None:
    book = load_price_book()
    assert len(book.rows) == sum(one.rows for one in shipped_files())
    assert all(row.source and row.licence in {"Apache-2.0", "MIT"} and row.ttl and row.region_class for row in book.rows)


def test_every_shipped_offering_id_is_well_formed_and_names_a_known_card() -> None:
    for text in {row.offering_id for row in load_price_book().rows if row.offering_id}:
        shape = parse_offering_id(text)
        assert shape is not None, text
        assert not shape.family or (shape.count >= 1 and is_known(f"{shape.family}-{shape.form}-{shape.memory_gib}g")), text


def test_the_version_is_the_newest_price_and_the_content_whatever_is_in_use() -> None:
    whole, nothing = load_price_book(), load_price_book({"simulated", "local"})
    assert whole.version == nothing.version
    assert whole.version.startswith("2026-07-20.")
    assert nothing.rows == ()


def test_known_list_prices_are_found() -> None:
    by_type = {(row.provider, row.instance_type, row.region): row for row in load_price_book({"aws", "gcp", "lambda"}).rows if not row.zone}
    assert by_type["aws", "g6.xlarge", "us-east-1"].offering_id == "l4-24g-x1-us"
    assert by_type["gcp", "a2-ultragpu-1g", "us-central1"].spot == Money.parse("1.6")
    assert by_type["lambda", "gpu_8x_h100_sxm5", ""].on_demand == Money.parse("23.92")


def test_fractions_of_a_gpu_and_arm_hosts_have_no_offering_id() -> None:
    rows = {row.instance_type: row for row in load_price_book({"aws"}).rows}
    assert (rows["g6f.large"].offering_id, rows["a1.large"].offering_id, rows["m5.large"].offering_id) == ("", "", "cpu-2c-8g-us-gov")


def test_a_project_file_adds_to_the_book_and_to_its_version(tmp_path: Path) -> None:
    own = tmp_path / "prices.csv"
    own.write_text(HEADER + "sim,l4-24g-x1-us,1.10,2026-08-01\n", encoding="utf-8")
    source = CatalogPrices(provider_types=frozenset({"simulated"}), project_files=[own])
    assert [row.on_demand for row in source.book().rows] == [Money.parse("1.10")]
    assert source.book().version.startswith("2026-08-01.")
    assert source.book() is source.book()


def test_every_bad_cell_of_every_project_file_is_reported_with_its_line(tmp_path: Path) -> None:
    own = tmp_path / "prices.csv"
    prices = ["0", "NaN", "-1", "1e309", '"2,50"', ""]
    own.write_text(HEADER + "".join(f"sim,l4-24g-x1-us,{price},2026-08-01\n" for price in prices), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_price_book((), [own, tmp_path / "missing.csv"])
    places = [str(fault.span) for fault in caught.value.diagnostics]
    assert places == [f"{tmp_path / 'missing.csv'}:1:1", *(f"{own}:{line}:3" for line in range(2, 7))]


def test_normalising_the_originals_keeps_odd_shapes_unnamed_and_rounds_to_micro_usd(tmp_path: Path) -> None:
    originals, target = tmp_path / "from", tmp_path / "to"
    originals.mkdir()
    target.mkdir()
    contents = {
        "aws_ondemand.csv": "provider,instance_type,region,region_class,arch,vcpu,memory_gib,gpu_name,gpu_vendor,gpu_count,gpu_vram_mib,"
        "ondemand_usd_hour,spot_usd_hour,spot_supported,local_disk_gb,price_observed_at\n"
        "aws,g6.xlarge,us-east-1,us,x86_64,4,16.0,L4,nvidia,1,22888,0.80480005,,True,,2026-07-20\n"
        "aws,g6f.large,us-east-1,us,x86_64,2,8.0,L4,nvidia,0,2861,0.2,,True,,2026-07-20\n",
        "azure_gpu_ondemand.csv": "provider,instance_type,region,region_class,ondemand_usd_hour,price_observed_at\n"
        "azure,Standard_X,eu,eu,1.5,2026-06-18\n",
        "offers_sample.csv": "provider,instance_type,gpu_model,gpu_form,gpu_vram_gib,gpu_count,vcpu,memory_gib\n",
        "gcp_us_central1.csv": "provider,instance_type,region,region_class,vcpu,memory_gib,gpu,gpu_count,ondemand_usd_hour,spot_usd_hour,"
        "price_observed_at\ngcp,a2-ultragpu-1g,us-central1,us,12,170.00,a100-80gb,1,5.0688,1.6,2026-06-23\n",
        "gcp_gpu_machine_zones.csv": "provider,instance_type,vcpu,memory_gib,zone,region_class,observed_at\n"
        "gcp,a2-ultragpu-1g,12,170.00,europe-west4-a,eu,2026-08-20\n",
        "lambda_instance_types.csv": "provider,instance_type,gpu_description,gpu_count,vcpu,memory_gib,storage_gib,ondemand_usd_hour,"
        "regions_with_capacity,price_observed_at\nlambda,gpu_1x_h100_pcie,H100 (80 GB PCIe),1,26,200,1024,2.49,us-west-3,2025-12-11\n",
    }
    for name, text in contents.items():
        (originals / name).write_text(text, encoding="utf-8")
    normalise(originals, target)
    written = {name: (target / f"{name}.csv").read_text(encoding="utf-8").splitlines()[1:] for name in ("aws", "azure", "gcp", "lambda")}
    assert written["aws"][0].startswith("aws,g6.xlarge,us-east-1,,us,l4-24g-x1-us,l4,,24,1,4,16,,0.8048,")
    assert ",0.80480005,USD,1,2026-07-20,2026-07-20," in written["aws"][0]
    assert written["aws"][1].startswith("aws,g6f.large,us-east-1,,us,,l4,")
    assert written["azure"][0].startswith("azure,Standard_X,eu,,eu,,")
    assert written["gcp"][0].startswith("gcp,a2-ultragpu-1g,europe-west4,europe-west4-a,eu,a100-sxm-80g-x1-eu,a100,sxm,80,1,12,170,,,")
    assert written["lambda"][0].startswith("lambda,gpu_1x_h100_pcie,,,us,h100-pcie-80g-x1-us,h100,pcie,80,1,26,200,1024,2.49,")
    assert (target / "index.csv").read_text(encoding="utf-8").splitlines()[1].startswith("aws.csv,2,2026-07-20,")
