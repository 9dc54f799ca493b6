"""Writes the shipped price files from the public data sets named in ``data/SOURCES.md``.

    python -m nodusctl.catalog.normalise FOLDER_OF_ORIGINALS

Run by a maintainer when a data set is refreshed; nothing else imports it. Output is one CSV file a provider, sorted, in the format of
``pricing.rows.COLUMNS``, with source, licence and date in each row, and ``index.csv``.

The surprise: shapes we can't name keep their row without an offering id (fractions of a GPU, ARM hosts, odd memory), so their price is
found by instance type and by nothing else.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from nodusctl.catalog.prices import INDEX, SHIPPED, content_digest
from nodusctl.placement.accelerators import read_name
from nodusctl.placement.offering_ids import OfferingId
from nodusctl.pricing.rows import COLUMNS

Cells = Mapping[str, str]

_NOMINAL_GIB = {"L4": 24, "T4": 16, "L40S": 48, "A10G": 24, "T4g": 16, "B200": 180, "H200": 141, "B300": 270}
_SXM = frozenset({"h100", "h200", "a100", "v100", "b200", "b300"})
_AZURE_SHAPES = "offers_sample.csv"
_GCP_GPUS = {"a100": ("a100", "sxm", 40), "a100-80gb": ("a100", "sxm", 80), "l4": ("l4", "", 24)}


def aws_rows(originals: Path) -> Iterator[Cells]:
    """On-demand prices of us-east-1 and the government regions, with shapes."""
    for line in _read(originals / "aws_ondemand.csv"):
        shape = _aws_gpu(line)
        yield _row(
            line,
            gpu=shape,
            increment=1,
            minimum=60,
            source="karpenter-provider-aws",
            licence="Apache-2.0",
            spot=line["spot_usd_hour"],
            disk=line["local_disk_gb"],
            can_name=line["arch"] == "x86_64" and (line["gpu_name"] == "" or shape[3] > 0),
        )


def azure_rows(originals: Path) -> Iterator[Cells]:
    """On-demand prices of the N series; shapes where the normalized sample gives them."""
    shapes = {line["instance_type"]: line for line in _read(originals / _AZURE_SHAPES) if line["provider"] == "azure"}
    for line in _read(originals / "azure_gpu_ondemand.csv"):
        shape = shapes.get(line["instance_type"])
        yield _row(
            {**line, "vcpu": shape["vcpu"], "memory_gib": shape["memory_gib"]} if shape else line,
            gpu=_sample_gpu(shape) if shape else ("", "", 0, 0),
            increment=1,
            minimum=0,
            source="karpenter-provider-azure",
            licence="Apache-2.0",
            can_name=shape is not None,
        )


def gcp_rows(originals: Path) -> Iterator[Cells]:
    """us-central1 with spot, and the zones of the GPU machines elsewhere, whose price is unknown."""
    for line in _read(originals / "gcp_us_central1.csv"):
        family, form, memory = _GCP_GPUS.get(line["gpu"], ("", "", 0))
        yield _row(
            line,
            gpu=(family, form, memory, int(line["gpu_count"] or 0)),
            increment=1,
            minimum=60,
            source="kubernetes-autoscaler",
            licence="Apache-2.0",
            spot=line["spot_usd_hour"],
        )
    known = {line["instance_type"]: line for line in _read(originals / "gcp_us_central1.csv")}
    for line in _read(originals / "gcp_gpu_machine_zones.csv"):
        region = line["zone"].rpartition("-")[0]
        model = known.get(line["instance_type"])
        if region == "us-central1" or model is None:
            continue
        family, form, memory = _GCP_GPUS[model["gpu"]]
        yield _row(
            {**line, "region": region, "ondemand_usd_hour": "", "price_observed_at": line["observed_at"]},
            gpu=(family, form, memory, int(model["gpu_count"])),
            increment=1,
            minimum=60,
            source="google-cloud-pricing-cost-calculator",
            licence="Apache-2.0",
        )


def lambda_rows(originals: Path) -> Iterator[Cells]:
    """One price for all regions; the regions that had capacity when it was recorded are a hint."""
    for line in _read(originals / "lambda_instance_types.csv"):
        yield _row(
            {**line, "region": "", "region_class": "us"},
            gpu=_lambda_gpu(line),
            increment=60,
            minimum=0,
            source="lambda-ai-cloud-api-client",
            licence="MIT",
            disk=line["storage_gib"],
            hint=line["regions_with_capacity"],
        )


PROVIDERS: Mapping[str, Callable[[Path], Iterator[Cells]]] = {
    "aws": aws_rows,
    "azure": azure_rows,
    "gcp": gcp_rows,
    "lambda": lambda_rows,
}


def normalise(originals: Path, target: Path) -> None:
    """Write every provider's file and the index."""
    index: list[tuple[str, int, str, str]] = []
    for name, read in PROVIDERS.items():
        rows = sorted(read(originals), key=lambda row: tuple(row.get(column, "") for column in COLUMNS))
        text = _csv_text(COLUMNS, ([row.get(column, "") for column in COLUMNS] for row in rows))
        (target / f"{name}.csv").write_text(text, encoding="utf-8")
        newest = max(row["observed_at"] for row in rows if row["on_demand_usd_hour"])
        index.append((f"{name}.csv", len(rows), newest, content_digest(text)))
    text = _csv_text(("file", "rows", "newest_price", "sha256"), index)
    (target / INDEX).write_text(text, encoding="utf-8")


def _row(
    line: Cells,
    *,
    gpu: tuple[str, str, int, int],
    increment: int,
    minimum: int,
    source: str,
    licence: str,
    spot: str = "",
    disk: str = "",
    hint: str = "",
    can_name: bool = True,
) -> Cells:
    family, form, memory, count = gpu
    price = _money(line["ondemand_usd_hour"])
    return {
        "provider": line["provider"],
        "instance_type": line["instance_type"].strip(),
        "region": line.get("region", ""),
        "zone": line.get("zone", ""),
        "region_class": line["region_class"],
        "offering_id": _offering(line, gpu) if can_name else "",
        "gpu_family": family,
        "gpu_form": form,
        "gpu_memory_gib": str(memory) if memory else "",
        "gpu_count": str(count) if count else "",
        "vcpu": line.get("vcpu", ""),
        "memory_gib": _trimmed(line.get("memory_gib", "")),
        "disk_gib": disk,
        "on_demand_usd_hour": price,
        "spot_usd_hour": _money(spot),
        "increment_seconds": str(increment),
        "minimum_seconds": str(minimum),
        "capacity_hint": hint,
        "native_amount": line["ondemand_usd_hour"],
        "native_currency": "USD" if price else "",
        "rate_to_usd": "1" if price else "",
        "rate_date": line["price_observed_at"] if price else "",
        "observed_at": line["price_observed_at"],
        "ttl": "720h",
        "source": source,
        "licence": licence,
    }


def _offering(line: Cells, gpu: tuple[str, str, int, int]) -> str:
    family, form, memory, count = gpu
    if family:
        named = OfferingId(family=family, form=form, memory_gib=memory, count=count, region_class=line["region_class"])
        return str(named) if count else ""
    vcpu, host_memory = line.get("vcpu", ""), _trimmed(line.get("memory_gib", ""))
    if not (vcpu.isdigit() and host_memory.isdigit()):
        return ""
    return str(OfferingId(vcpu=int(vcpu), memory_gib=int(host_memory), region_class=line["region_class"]))


def _aws_gpu(line: Cells) -> tuple[str, str, int, int]:
    name = line["gpu_name"]
    if not name:
        return "", "", 0, 0
    family = read_name(name).family
    memory = _NOMINAL_GIB.get(name) or round(int(line["gpu_vram_mib"]) / 1024)
    return family, "sxm" if family in _SXM else "", memory, int(line["gpu_count"])


def _sample_gpu(line: Cells) -> tuple[str, str, int, int]:
    return line["gpu_model"], line["gpu_form"], int(line["gpu_vram_gib"]), int(line["gpu_count"])


def _lambda_gpu(line: Cells) -> tuple[str, str, int, int]:
    """``H100 (80 GB SXM5)``."""
    model, _, rest = line["gpu_description"].partition(" (")
    if not rest:
        return "", "", 0, 0
    named = read_name(f"{model} {rest.rstrip(')').replace(' GB', 'GB')}")
    form = "" if named.family == "a10" else named.form
    return named.family, form, named.memory_gib, int(line["gpu_count"])


def _money(amount: str) -> str:
    """At most 6 decimals, rounded half-up; the native amount keeps the rest."""
    if not amount:
        return ""
    return _trimmed(str(Decimal(amount).quantize(Decimal("0.000001"), ROUND_HALF_UP)))


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _read(path: Path) -> Iterator[Cells]:
    yield from csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))


def _csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(list(header))
    writer.writerows(rows)
    return out.getvalue()


if __name__ == "__main__":
    normalise(Path(sys.argv[1]), SHIPPED)
