"""Asking every provider what it offers, all at once, each within a limit of its own.

A provider that hangs costs the plan its limit and no more: it is asked on a thread nobody waits for at exit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.planner.world import Market
from nodusctl.ports.providers import LoadedProvider, ProviderSet
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Done, Refused, Unknown
from nodusctl.resources.project import ProjectFile

LIMIT_SECONDS = 10.0


def ask_markets(providers: ProviderSet, rates: Mapping[str, Money], *, limit_seconds: float = LIMIT_SECONDS) -> tuple[Market, ...]:
    """One Market an instance, in the project file's order. ``rates`` are configured hourly rates of own hardware."""
    answers: dict[str, Market] = {}
    threads = [
        threading.Thread(target=_ask_into, args=(answers, providers, name, rates.get(name)), name=f"offers of {name}", daemon=True)
        for name in providers.names()
    ]
    for thread in threads:
        thread.start()
    deadline = threading.Event()
    for thread in threads:
        thread.join(0.0 if deadline.is_set() else limit_seconds)
        if thread.is_alive():
            deadline.set()
    late = f"no answer within {limit_seconds:g} s"
    return tuple(answers.get(name) or Market(instance=name, why_not=late) for name in providers.names())


def configured_rates(project: ProjectFile) -> dict[str, Money]:
    """``rateUSDPerHour`` of each provider instance that has a usable one; a faulty one is the plugin's to complain about."""
    found = {}
    for provider in project.providers:
        rate = provider.settings.get("rateUSDPerHour")
        try:
            found[provider.name] = Money.parse(rate) if isinstance(rate, str) else None
        except ValueError:
            continue
    return {name: rate for name, rate in found.items() if rate is not None}


def _ask_into(answers: dict[str, Market], providers: ProviderSet, name: str, rate: Money | None) -> None:
    answers[name] = _ask(providers, name, rate)


def _ask(providers: ProviderSet, name: str, rate: Money | None) -> Market:
    try:
        loaded = providers.get(name)
    except UserError as fault:
        why = "; ".join(f"{one.summary.rstrip('.')}: {one.detail}".rstrip(": ") for one in fault.diagnostics)
        return Market(instance=name, why_not=why or "it can't be loaded")
    return replace(_answer(loaded, name, rate), digest=loaded.digest)


def _answer(loaded: LoadedProvider, name: str, rate: Money | None) -> Market:
    match loaded.calls.offers(OfferQuery()):
        case Done(value=offers):
            held = loaded.calls.list()
            return Market(
                instance=name,
                description=loaded.description,
                offers=offers,
                configured_rate=rate,
                holdings=held.value if isinstance(held, Done) else None,
                lacks=_lacks(loaded),
            )
        case Refused(code=code, message=message):
            return Market(instance=name, description=loaded.description, why_not=f"{code}: {message}" if message else code)
        case Unknown(detail=detail):
            return Market(instance=name, description=loaded.description, why_not=detail or "it didn't say why")


def _lacks(loaded: LoadedProvider) -> tuple[Diagnostic, ...]:
    """What its check calls an error, where that costs no look at another computer: there a failed call says it soon enough."""
    if loaded.check is None or not loaded.description.is_this_computer:
        return ()
    return tuple(one for one in loaded.check.check() if one.is_error)
