"""``offers`` as text and as JSON: shape, place, rate, and how old the price is."""

from __future__ import annotations

from typing import Any

from nodusctl.base.durations import format_duration
from nodusctl.engine.inspect_offers import OfferList
from nodusctl.pricing.holds import PricedCandidate
from nodusctl.provider.offers import Offer
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_GIB = 2**30
_HEADS = ("OFFERING", "PROVIDER", "ZONE", "GPU", "CPU", "MEMORY", "RATE/H", "PRICE", "AGE", "STARTS IN", "NOW")
_NUMBERS = ("CPU", "MEMORY", "RATE/H")


def offers_text(found: OfferList, style: Style) -> str:
    """The table, then what didn't answer, then the funnel where nothing fits."""
    parts = []
    if found.offers:
        parts.append(table(_HEADS, [_row(one) for one in found.offers], style, right=_NUMBERS))
        parts.append(f"Rates are before tax. Price book {found.book_version}.")
    elif found.funnel is not None:
        parts.append(f"Nothing fits: {found.funnel.shown}." + (f"\n{found.funnel.hint}" if found.funnel.hint else ""))
    else:
        parts.append("No provider offers anything.")
    parts += [f"No answer from {instance}: {why}" for instance, why in found.silent]
    return "\n".join(parts)


def offers_document(found: OfferList) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "offers": [offer_document(one) for one in found.offers],
        "funnel": found.funnel.as_json() if found.funnel is not None else None,
        "pricebookVersion": found.book_version,
        "silent": [{"provider": instance, "reason": why} for instance, why in found.silent],
    }


def offer_document(one: PricedCandidate) -> dict[str, Any]:
    """One offer with its price."""
    offer, priced = one.candidate.offer, one.priced
    return {
        "key": offer.key,
        "offering": offer.id,
        "provider": offer.provider,
        "instanceType": offer.instance_type,
        "zone": offer.zone,
        "regionClass": offer.region_class,
        "gpu": _gpu(offer),
        "cpu": offer.vcpu_milli // 1000 if offer.vcpu_milli % 1000 == 0 else f"{offer.vcpu_milli}m",
        "memoryBytes": offer.memory_bytes,
        "interruptible": offer.is_interruptible,
        "availability": offer.availability.value,
        "rateUSDPerHour": str(priced.rate) if priced.rate is not None else None,
        "priceOrigin": priced.origin.value,
        "priceSource": priced.source,
        "priceObservedTime": moment_text(priced.observed_at),
        "priceAge": priced.shown_age,
        "startup": {"p50": format_duration(offer.startup_p50), "p90": format_duration(offer.startup_p90)},
    }


def _row(one: PricedCandidate) -> list[str]:
    offer, priced = one.candidate.offer, one.priced
    rate = f"{priced.rate.shown}{' spot' if offer.is_interruptible else ''}" if priced.rate is not None else "unknown"
    price = f"{priced.origin.value}: {priced.source}" if priced.source else priced.origin.value
    return [
        offer.id,
        offer.provider,
        offer.zone,
        _gpu(offer),
        f"{offer.vcpu_milli / 1000:g}",
        f"{round(offer.memory_bytes / _GIB, 1):g}Gi",
        rate,
        price + (" (old)" if priced.is_old else ""),
        priced.shown_age if priced.age is not None else "",
        format_duration(offer.startup_p50),
        offer.availability.value,
    ]


def _gpu(offer: Offer) -> str:
    return f"{offer.accelerator.id}:{offer.gpu_count}" if offer.accelerator is not None else ""
