"""Which price holds for an offer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nodusctl.base.money import ZERO, Money
from nodusctl.pricing.book import EMPTY_BOOK, PriceBook
from nodusctl.pricing.ceiling import is_within, shown_change
from nodusctl.pricing.holds import Origin, holds_price, nearest_priced, priced_candidate, shown_age
from nodusctl.pricing.rows import parse_rows
from nodusctl.provider.offers import Quote
from tests.unit.placement.offer_makers import offer

NOW = datetime(2026, 7, 25, tzinfo=UTC)


def book(*lines: str) -> PriceBook:
    header = "provider,offering_id,instance_type,region,zone,on_demand_usd_hour,spot_usd_hour,storage_usd_gib_month,observed_at,source\n"
    rows, faults = parse_rows(header + "\n".join(lines), "book.csv")
    assert faults == ()
    return PriceBook.of("v", rows)


def quote(rate: str, age: timedelta = timedelta(0)) -> Quote:
    return Quote(rate_usd_per_hour=Money.parse(rate), observed_at=NOW - age, source="the platform")


BOOK = book("sim,l4-24g-x1-us,,,,1.10,0.44,0.10,2026-07-20,list")


def test_a_quote_holds_before_the_book() -> None:
    found = holds_price(offer("l4-24g-x1-us", quote=quote("1.20")), BOOK, NOW)
    assert (found.rate, found.origin, found.source) == (Money.parse("1.20"), Origin.QUOTED, "the platform")


def test_the_book_holds_where_nothing_was_quoted_and_says_its_age() -> None:
    found = holds_price(offer("l4-24g-x1-us"), BOOK, NOW)
    assert (found.rate, found.origin, found.source, found.shown_age, found.is_old) == (
        Money.parse("1.10"),
        Origin.BOOK,
        "list",
        "5d",
        False,
    )
    assert found.storage_usd_per_gib_month == Money.parse("0.10")
    assert found.valid_until == datetime(2026, 8, 19, tzinfo=UTC)


def test_an_interruptible_offer_gets_the_spot_price() -> None:
    assert holds_price(offer("l4-24g-x1-us", is_interruptible=True), BOOK, NOW).rate == Money.parse("0.44")


def test_what_neither_quotes_nor_lists_a_price_is_unknown_and_never_zero() -> None:
    for priceless in (offer("h100-sxm-80g-x8-eu"), offer("l4-24g-x1-eu", quote=quote("0"))):
        found = holds_price(priceless, BOOK, NOW)
        assert (found.rate, found.origin) == (None, Origin.UNKNOWN)


def test_own_hardware_costs_what_is_configured_else_nothing() -> None:
    mine = offer("l4-24g-x1-us", is_own_hardware=True)
    configured = holds_price(mine, EMPTY_BOOK, NOW, Money.parse("0.12"))
    assert (configured.rate, configured.origin, configured.age) == (Money.parse("0.12"), Origin.CONFIGURED, None)
    for rate in (None, ZERO):
        free = holds_price(mine, EMPTY_BOOK, NOW, rate)
        assert (free.rate, free.origin, free.storage_usd_per_gib_month) == (ZERO, Origin.FREE, ZERO)


def test_a_configured_rate_is_no_price_of_rented_capacity() -> None:
    assert holds_price(offer("l4-24g-x1-us"), EMPTY_BOOK, NOW, Money.parse("0.12")).origin is Origin.UNKNOWN


def test_a_price_past_its_ttl_is_old() -> None:
    assert holds_price(offer("l4-24g-x1-us"), BOOK, NOW + timedelta(days=26)).is_old
    assert holds_price(offer("l4-24g-x1-us", quote=quote("1", timedelta(hours=25))), BOOK, NOW).is_old


def test_the_nearest_place_wins_and_the_newest_row_of_it() -> None:
    several = book(
        "sim,l4-24g-x1-us,,us-1,us-1a,3,,,2026-07-01,zone",
        "sim,l4-24g-x1-us,,us-1,,2,,,2026-07-20,region",
        "sim,l4-24g-x1-us,,us-1,us-1a,4,,,2026-07-02,newer zone",
        "sim,l4-24g-x1-us,,eu-1,,9,,,2026-07-24,elsewhere",
    )
    assert holds_price(offer("l4-24g-x1-us"), several, NOW).source == "newer zone"
    assert holds_price(offer("l4-24g-x1-us", zone="us-1b"), several, NOW).source == "region"


def test_a_zone_whose_price_is_unknown_takes_the_regions() -> None:
    several = book("sim,l4-24g-x1-us,,us-1,us-1a,,,,2026-07-24,zone", "sim,l4-24g-x1-us,,us-1,,2,,,2026-07-20,region")
    assert holds_price(offer("l4-24g-x1-us"), several, NOW).source == "region"


def test_rows_are_found_by_instance_type_and_by_provider_type() -> None:
    listed = book("aws,,g6.xlarge,us-1,,0.80,,,2026-07-20,list")
    machine = offer("l4-24g-x1-us", provider="my-aws", instance_type="g6.xlarge")
    assert holds_price(machine, listed, NOW, provider_type="aws").rate == Money.parse("0.80")
    assert holds_price(machine, listed, NOW).rate is None


def test_a_row_of_one_instance_type_prices_no_other_of_the_same_shape() -> None:
    listed = book("sim,l4-24g-x1-us,g6.16xlarge,us-1,,3.40,,,2026-07-20,list")
    assert holds_price(offer("l4-24g-x1-us", instance_type="g6.xlarge"), listed, NOW).rate is None


def test_the_nearest_priced_offers_are_the_same_card_first() -> None:
    prices = {"h100-sxm-80g-x8-us": "35.20", "h100-sxm-80g-x1-us": "4.40", "l4-24g-x1-eu": "1.10", "cpu-4c-16g-eu": "0.20"}
    others = [priced_candidate(o, holds_price(o, EMPTY_BOOK, NOW)) for o in (offer(n, quote=quote(p)) for n, p in prices.items())]
    wanted = offer("h100-sxm-80g-x8-eu")
    found = nearest_priced(wanted, [*others, priced_candidate(wanted, holds_price(wanted, EMPTY_BOOK, NOW))], limit=2)
    assert [one.candidate.offer.id for one in found] == ["h100-sxm-80g-x8-us", "h100-sxm-80g-x1-us"]
    assert "cpu-4c-16g-eu" not in [one.candidate.offer.id for one in nearest_priced(wanted, others, limit=9)]
    assert [one.candidate.offer.id for one in nearest_priced(offer("cpu-8c-32g-eu"), others)] == ["cpu-4c-16g-eu"]


def test_ages_are_shown_in_their_largest_unit() -> None:
    ages = [timedelta(0), timedelta(minutes=5, seconds=9), timedelta(hours=3, minutes=2), timedelta(days=131, hours=2)]
    assert [shown_age(age) for age in ages] == ["now", "5m", "3h", "131d"]


def test_a_rate_is_within_the_reviewed_one_up_to_ten_percent_inclusive() -> None:
    planned = Money.parse("4.40")
    assert is_within(Money.parse("4.84"), planned)
    assert not is_within(Money.parse("4.840001"), planned)
    assert (shown_change(planned, Money.parse("5.00")), shown_change(planned, Money.parse("2.20"))) == ("+13.6 %", "-50.0 %")
    assert shown_change(ZERO, planned) == "from $0.00"
