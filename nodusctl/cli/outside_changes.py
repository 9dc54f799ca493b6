"""What orphans, adopt and forget share: the survey with its prices, and asking before anything is done."""

from __future__ import annotations

from nodusctl.cli.output.protocol import Document, Output, Text
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.prompt import agrees
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.market import configured_rates
from nodusctl.engine.offer_rates import OfferRates
from nodusctl.engine.orphans import OrphanReport, find_orphans
from nodusctl.render.drifts import unasked


def rates_of(wiring: Wiring) -> OfferRates:
    """Prices of what nobody planned."""
    return OfferRates(wiring.providers, wiring.prices, configured_rates(wiring.project.file))


def surveyed(wiring: Wiring, output: Output) -> OrphanReport:
    """What providers hold without a record; those that could not be asked are said at once."""
    with told_when_slow(output, wiring.wall, "asking providers"):
        report = find_orphans(journal=wiring.journal, providers=wiring.providers, rates=rates_of(wiring), now=wiring.clock.now())
    output.diagnose(unasked(dict(report.failures)))
    return report


def agreed(wiring: Wiring, output: Output, text: Text, document: Document, question: str, *, is_agreed: bool) -> bool:
    """Show the plan; True where it may be carried out."""
    output.result("plan", text, document)
    if is_agreed or agrees(wiring.surroundings, question):
        return True
    output.remark("Nothing was changed.")
    return False
