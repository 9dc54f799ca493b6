"""``prices show`` as text and as JSON. An unknown price is the word unknown, never a zero."""

from __future__ import annotations

from typing import Any

from nodusctl.base.money import Money
from nodusctl.engine.inspect_prices import PriceList, SeenPrice
from nodusctl.render.counting import counted
from nodusctl.render.spans import age_text, moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_HEADS = ("PROVIDER", "TYPE", "REGION", "GPU", "CPU", "MEMORY", "ON DEMAND/H", "SPOT/H", "AGE", "SOURCE", "LICENCE")
_NUMBERS = ("CPU", "MEMORY", "ON DEMAND/H", "SPOT/H")


def prices_text(found: PriceList, style: Style) -> str:
    """The table, how many more there are, and which licences the prices come under."""
    if not found.total:
        return "No price fits. Without options, the rows of this project's provider types are looked at; --all-providers looks at all."
    parts = [table(_HEADS, [_row(one) for one in found.prices], style, right=_NUMBERS)]
    left = found.total - len(found.prices)
    if left:
        parts.append(f"and {counted(left, 'more row')}; narrow it with --gpu, --provider or --region, or see all with --all")
    parts.append(f"Price book {found.book_version}. Prices are before tax; 'old' is past its time to live.")
    return "\n".join(parts)


def prices_document(found: PriceList) -> dict[str, Any]:
    """The same as JSON; an unknown price is null."""
    return {
        "prices": [price_document(one) for one in found.prices],
        "total": found.total,
        "pricebookVersion": found.book_version,
        "licences": {licence: list(sources) for licence, sources in found.licences.items()},
    }


def price_document(one: SeenPrice) -> dict[str, Any]:
    """One row."""
    row = one.row
    return {
        "provider": row.provider,
        "instanceType": row.instance_type,
        "offering": row.offering_id,
        "region": row.region,
        "zone": row.zone,
        "regionClass": row.region_class,
        "gpu": f"{row.gpu_family}:{row.gpu_count}" if row.gpu_count else "",
        "onDemandUSDPerHour": _amount(row.on_demand),
        "spotUSDPerHour": _amount(row.spot),
        "stoppedUSDPerHour": _amount(row.stopped),
        "storageUSDPerGiBMonth": _amount(row.storage),
        "incrementSeconds": row.increment_seconds,
        "minimumSeconds": row.minimum_seconds,
        "observedTime": moment_text(row.observed_at),
        "age": age_text(one.age),
        "old": one.is_old,
        "source": row.source,
        "licence": row.licence,
    }


def _amount(price: Money | None) -> str | None:
    return str(price) if price is not None else None


def _row(one: SeenPrice) -> list[str]:
    row = one.row
    return [
        row.provider,
        row.instance_type or row.offering_id,
        row.zone or row.region or row.region_class,
        f"{row.gpu_family}:{row.gpu_count}" if row.gpu_count else "",
        row.vcpu,
        f"{row.memory_gib}Gi" if row.memory_gib else "",
        row.on_demand.shown if row.on_demand is not None else "unknown",
        row.spot.shown if row.spot is not None else "",
        age_text(one.age) + (" old" if one.is_old else ""),
        row.source,
        row.licence,
    ]
