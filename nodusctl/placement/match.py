"""The constraints of a request, in the order they are tried; each knows which offers it keeps and its smallest useful change.

A constraint the spec states always shows in the funnel. One that merely follows from defaults (no spot, no GPU for CPU work)
shows only where it removed something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from nodusctl.base.money import Money
from nodusctl.base.nearest import nearest
from nodusctl.base.quantities import shown_bytes
from nodusctl.placement.accelerators import GIB, matches, read_name, variants_of
from nodusctl.placement.candidates import Candidate, count_offers
from nodusctl.placement.request import CapacityRequest, Interruptible


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The smallest change of one constraint.

    ``shown`` is how a person would write it, ``request`` has it made, ``nearest_offered`` names the value that offers have.
    """

    shown: str
    request: CapacityRequest
    nearest_offered: str


Keeps = Callable[[CapacityRequest, Candidate], bool]
Relax = Callable[[CapacityRequest, Sequence[Candidate]], Change | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One filter. ``is_stated`` tells a constraint the spec writes from one that follows from a default."""

    name: str
    is_stated: Callable[[CapacityRequest], bool]
    keeps: Keeps
    relax: Relax


def _keeps_family(request: CapacityRequest, one: Candidate) -> bool:
    card = one.offer.accelerator
    if card is None:
        return False
    return not request.gpu_types or any(matches(word, card, is_exact=request.is_exact) for word in request.gpu_types)


def _keeps_without_gpu(request: CapacityRequest, one: Candidate) -> bool:
    return request.is_gpu or bool(request.offerings) or one.offer.accelerator is None


def _keeps_gpu_memory(request: CapacityRequest, one: Candidate) -> bool:
    card = one.offer.accelerator
    return not request.min_gpu_memory_bytes or (card is not None and card.memory_bytes >= request.min_gpu_memory_bytes)


def _keeps_rate(request: CapacityRequest, one: Candidate) -> bool:
    # An unknown rate isn't above the limit; it stays, ranks last, and the plan blocks with the truer reason PriceUnknown.
    return request.max_rate is None or one.rate is None or one.rate <= request.max_rate


def _keeps_disk(request: CapacityRequest, one: Candidate) -> bool:
    return one.offer.disk_bytes is None or one.offer.disk_bytes >= request.disk_bytes


def _relax_offerings(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    ids = sorted({c.offer.id for c in left})
    near = nearest(request.offerings[0], ids) if ids else None
    return _change("offerings", near, lambda: replace(request, offerings=(near or "",)))


def _relax_providers(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    name = next(iter(sorted({c.offer.provider for c in left})), None)
    return _change("a pool with provider", name, lambda: replace(request, providers=(name or "",)))


def _relax_family(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    cards = [c.offer.accelerator for c in left if c.offer.accelerator is not None]
    if request.is_exact and any(_keeps_family(replace(request, is_exact=False), c) for c in left):
        return Change(shown="gpu.exact false", request=replace(request, is_exact=False), nearest_offered="another variant of the family")
    if not cards:
        return None
    wanted = [v.memory_bytes for word in request.gpu_types for v in variants_of(read_name(word).family)] or [0]
    card = min(cards, key=lambda c: (abs(c.memory_bytes - max(wanted)), c.family))
    return _change("gpu.type", card.family.upper(), lambda: replace(request, gpu_types=(card.family,), is_exact=False))


def _relax_count(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    counts = sorted({c.offer.gpu_count for c in left if c.offer.gpu_count}, key=lambda n: (abs(n - request.gpu_count), n))
    return _change("gpu.count", str(counts[0]) if counts else None, lambda: replace(request, gpu_count=counts[0]))


def _relax_gpu_memory(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    most = max((c.offer.accelerator.memory_bytes for c in left if c.offer.accelerator is not None), default=0)
    return _change("minMemory", shown_bytes(most) if most else None, lambda: replace(request, min_gpu_memory_bytes=most))


def _relax_nvlink(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    return Change(shown="interconnect Any", request=replace(request, needs_nvlink=False), nearest_offered="no NVLink") if left else None


def _relax_cpu(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    most = max((c.offer.vcpu_milli for c in left), default=0)
    shown = str(most // 1000) if most % 1000 == 0 else f"{most}m"
    return _change("cpu", shown if most else None, lambda: replace(request, vcpu_milli=most))


def _relax_memory(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    most = max((c.offer.memory_bytes for c in left), default=0)
    return _change("memory", shown_bytes(_whole_gib(most)) if most else None, lambda: replace(request, memory_bytes=_whole_gib(most)))


def _relax_disk(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    most = max((c.offer.disk_bytes for c in left if c.offer.disk_bytes is not None), default=0)
    return _change("disk", shown_bytes(_whole_gib(most)) if most else None, lambda: replace(request, disk_bytes=_whole_gib(most)))


def _relax_interruptible(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    return _change("interruptible", "Allow" if left else None, lambda: replace(request, interruptible=Interruptible.ALLOW))


def _relax_location(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    places = sorted({c.offer.location for c in left})
    return _change("a Volume at", places[0] if places else None, lambda: replace(request, locations=(places[0],)))


def _relax_tools(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    served = max((frozenset(request.tools) & (c.tools or frozenset()) for c in left), key=len, default=frozenset())
    kept = tuple(tool for tool in request.tools if tool in served)
    return _change("tools", f"[{', '.join(kept)}]" if kept else None, lambda: replace(request, tools=kept))


def _relax_egress(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    policies = sorted({policy for c in left for policy in c.egress_policies or ()}, reverse=True)
    return _change("egress.policy", policies[0] if policies else None, lambda: replace(request, egress_policy=policies[0]))


def _relax_region(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    classes = sorted({c.offer.region_class for c in left})
    best = max(classes, key=lambda name: count_offers(c for c in left if c.offer.region_class == name), default=None)
    return _change("regions", best, lambda: replace(request, region_classes=(best or "",)))


def _relax_rate(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    rates = [c.rate for c in left if c.rate is not None]
    cheapest: Money | None = min(rates, default=None)
    if cheapest is None:
        return None
    return Change(
        shown=f"maxRateUSDPerHour {cheapest}",
        request=replace(request, max_rate=cheapest),
        nearest_offered=f"cheapest {cheapest.shown}",
    )


def _change(field: str, value: str | None, relaxed: Callable[[], CapacityRequest]) -> Change | None:
    if value is None:
        return None
    return Change(shown=f"{field} {value}", request=relaxed(), nearest_offered=f"{field} {value}")


def _whole_gib(count: int) -> int:
    return count // GIB * GIB or count


def _unchangeable(request: CapacityRequest, left: Sequence[Candidate]) -> Change | None:
    return None


CONSTRAINTS: tuple[Constraint, ...] = (
    Constraint(
        name="offerings",
        is_stated=lambda r: bool(r.offerings),
        keeps=lambda r, c: not r.offerings or c.offer.id in r.offerings,
        relax=_relax_offerings,
    ),
    Constraint(
        name="pool",
        is_stated=lambda r: bool(r.pool or r.providers),
        keeps=lambda r, c: not r.providers or c.offer.provider in r.providers,
        relax=_relax_providers,
    ),
    Constraint(name="without GPU", is_stated=lambda r: False, keeps=_keeps_without_gpu, relax=_unchangeable),
    Constraint(
        name="family",
        is_stated=lambda r: r.is_gpu,
        keeps=lambda r, c: not r.is_gpu or _keeps_family(r, c),
        relax=_relax_family,
    ),
    Constraint(
        name="count",
        is_stated=lambda r: r.is_gpu,
        keeps=lambda r, c: not r.is_gpu or c.offer.gpu_count == r.gpu_count,
        relax=_relax_count,
    ),
    Constraint(
        name="memory",
        is_stated=lambda r: r.min_gpu_memory_bytes > 0,
        keeps=_keeps_gpu_memory,
        relax=_relax_gpu_memory,
    ),
    Constraint(
        name="interconnect",
        is_stated=lambda r: r.needs_nvlink,
        keeps=lambda r, c: not r.needs_nvlink or c.offer.has_nvlink,
        relax=_relax_nvlink,
    ),
    Constraint(
        name="cpu",
        is_stated=lambda r: r.vcpu_milli > 0,
        keeps=lambda r, c: c.offer.vcpu_milli >= r.vcpu_milli,
        relax=_relax_cpu,
    ),
    Constraint(
        name="host memory",
        is_stated=lambda r: r.memory_bytes > 0,
        keeps=lambda r, c: c.offer.memory_bytes >= r.memory_bytes,
        relax=_relax_memory,
    ),
    Constraint(name="disk", is_stated=lambda r: r.disk_bytes > 0, keeps=_keeps_disk, relax=_relax_disk),
    Constraint(
        name="interruptible",
        is_stated=lambda r: False,
        keeps=lambda r, c: r.interruptible is not Interruptible.NEVER or not c.offer.is_interruptible,
        relax=_relax_interruptible,
    ),
    Constraint(
        name="location",
        is_stated=lambda r: bool(r.locations),
        keeps=lambda r, c: not r.locations or c.offer.location in r.locations,
        relax=_relax_location,
    ),
    Constraint(
        name="tools",
        is_stated=lambda r: False,
        keeps=lambda r, c: c.tools is None or c.tools.issuperset(r.tools),
        relax=_relax_tools,
    ),
    Constraint(
        name="egress",
        is_stated=lambda r: False,
        keeps=lambda r, c: not r.egress_policy or c.egress_policies is None or r.egress_policy in c.egress_policies,
        relax=_relax_egress,
    ),
    Constraint(
        name="region",
        is_stated=lambda r: bool(r.region_classes),
        keeps=lambda r, c: not r.region_classes or c.offer.region_class in r.region_classes,
        relax=_relax_region,
    ),
    Constraint(name="rate", is_stated=lambda r: r.max_rate is not None, keeps=_keeps_rate, relax=_relax_rate),
)


def fitting(request: CapacityRequest, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The candidates that meet every constraint, in the order given."""
    return tuple(c for c in candidates if all(rule.keeps(request, c) for rule in CONSTRAINTS))
