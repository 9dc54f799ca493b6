"""``prices show``: the newest row of each place, cheapest first, unknown last and never zero."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from support.commands import SIMULATED, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.engine.inspect_prices import PriceFilter, PriceList, list_prices
from nodusctl.pricing.book import PriceBook
from nodusctl.pricing.rows import parse_rows
from nodusctl.render.price_lists import prices_document, prices_text
from nodusctl.render.style import PLAIN

_NOW = datetime(2026, 3, 2, tzinfo=UTC)
_CSV = """\
provider,instance_type,region,region_class,offering_id,gpu_family,gpu_count,on_demand_usd_hour,spot_usd_hour,observed_at,ttl,source,licence
acme,big,us-1,us,h100-80g-x8-us,H100,8,20.00,,2026-03-01,720h,acme list,MIT
acme,big,us-1,us,h100-80g-x8-us,H100,8,25.00,,2026-01-01,720h,acme list,MIT
acme,small,us-1,us,l4-24g-x1-us,L4,1,,,2026-03-01,720h,acme list,MIT
zeta,one,eu-1,eu,h100-80g-x1-eu,H100,1,2.50,1.10,2026-01-01,720h,zeta export,CC-BY-4.0
"""


@dataclass(frozen=True, slots=True)
class _Book:
    def book(self) -> PriceBook:
        rows, faults = parse_rows(_CSV, "prices.csv")
        assert faults == ()
        return PriceBook.of("test", rows)


def _list(wanted: PriceFilter, limit: int | None = None) -> PriceList:
    return list_prices(wanted, prices=_Book(), now=_NOW, limit=limit)


def test_a_newer_row_of_the_same_place_replaces_an_older_one() -> None:
    assert [str(one.row.on_demand) for one in _list(PriceFilter()).prices if one.row.instance_type == "big"] == ["20.00"]


def test_cheapest_first_and_unknown_last() -> None:
    assert [one.row.instance_type for one in _list(PriceFilter()).prices] == ["one", "big", "small"]


def test_an_unknown_price_is_a_word_and_null_never_zero() -> None:
    found = _list(PriceFilter(gpu="l4"))
    assert "unknown" in prices_text(found, PLAIN)
    assert "$0.00" not in prices_text(found, PLAIN)
    assert prices_document(found)["prices"][0]["onDemandUSDPerHour"] is None


def test_filters_by_gpu_count_provider_and_place() -> None:
    assert [one.row.provider for one in _list(PriceFilter(gpu="h100")).prices] == ["zeta", "acme"]
    assert [one.row.provider for one in _list(PriceFilter(gpu="H100:8")).prices] == ["acme"]
    assert [one.row.provider for one in _list(PriceFilter(region="eu")).prices] == ["zeta"]
    assert _list(PriceFilter(providers=frozenset({"nobody"}))).total == 0


def test_age_source_and_licence_stand_beside_every_price() -> None:
    (zeta, *_) = _list(PriceFilter()).prices
    assert (zeta.age, zeta.is_old) == (timedelta(days=60), True)
    shown = prices_text(_list(PriceFilter()), PLAIN)
    assert "60d old" in shown
    assert "zeta export" in shown
    assert "CC-BY-4.0" in shown


def test_what_is_left_out_is_counted() -> None:
    assert "and 2 more rows" in prices_text(_list(PriceFilter(), limit=1), PLAIN)


def test_the_shipped_book_can_be_looked_through_by_gpu(cli: CommandLine) -> None:
    cli.write("nodusctl.yaml", SIMULATED)
    ran = cli("prices", "show", "--gpu", "H100:8", "--all-providers")
    assert ran.code is ExitCode.DONE
    assert "h100:8" in ran.out.lower()
