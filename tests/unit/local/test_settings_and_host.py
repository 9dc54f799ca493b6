"""Settings, the offer made from this computer, and what the doctor says."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodus_providers.local.provider import LocalProvider
from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.testing.conformance_hooks import a_context, done


def opened(tmp_path: Path, **settings: object) -> LocalProvider:
    return LocalProvider.open(a_context(tmp_path), settings)


def the_offer(provider: LocalProvider) -> Offer:
    (offer,) = done(provider.offers(OfferQuery()))
    return offer


def test_a_pinned_size_and_name_make_the_same_offer_on_every_computer(tmp_path: Path) -> None:
    offer = the_offer(opened(tmp_path, cpu="4", memory="16Gi", hostId="laptop"))
    assert (offer.id, offer.zone, offer.vcpu_milli, offer.memory_bytes) == ("cpu-4c-16g-local", "laptop", 4000, 16 * 2**30)


def test_without_a_price_there_is_no_quote(tmp_path: Path) -> None:
    offer = the_offer(opened(tmp_path))
    assert offer.is_own_hardware
    assert offer.quote is None


@pytest.mark.parametrize(
    ("settings", "rate"),
    [({"rateUSDPerHour": "0.05"}, "0.05"), ({"watts": "250", "usdPerKwh": "0.32"}, "0.08")],
    ids=["given", "from power"],
)
def test_a_configured_price_is_quoted_exactly(tmp_path: Path, settings: dict[str, str], rate: str) -> None:
    quote = the_offer(opened(tmp_path, **settings)).quote
    assert quote is not None
    assert quote.rate_usd_per_hour == Money.parse(rate)


def test_another_folder_is_another_account(tmp_path: Path) -> None:
    accounts = {opened(tmp_path, root=root).describe().account for root in ("one", "two")}
    assert len(accounts) == 2


def test_describing_and_offering_write_nothing(tmp_path: Path) -> None:
    provider = opened(tmp_path)
    provider.describe()
    the_offer(provider)
    done(provider.list())
    assert not (tmp_path / "user" / "local").exists()


@pytest.mark.parametrize("wrong", [{"rateUSDPerHour": 0.05}, {"rateUsdPerHour": "1"}, {"cpu": "0"}, {"memory": "16 GB"}, {"watts": "-1"}])
def test_a_wrong_setting_is_a_diagnostic_that_names_it(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(UserError) as caught:
        opened(tmp_path, **wrong)
    (name,) = wrong
    assert [diagnostic.field for diagnostic in caught.value.diagnostics] == [f"providers.under-test.{name}"]


def test_a_missing_sshd_is_a_finding_with_the_command_that_mends_it(tmp_path: Path) -> None:
    findings = opened(tmp_path, sshd="/no/such/sshd").check()
    assert ["apt-get install openssh-server" in finding.fix for finding in findings if "sshd" in finding.summary] == [True]


def test_an_unpacked_sshd_under_the_data_folder_is_found_and_gets_its_libraries(tmp_path: Path) -> None:
    provider = opened(tmp_path)
    usr = tmp_path / "user" / "programs" / "usr"
    for part in ("sbin/sshd", "lib/openssh/sftp-server", "lib/openssh/sshd-session", "lib/x86_64-linux-gnu/libwrap.so.0"):
        (usr / part).parent.mkdir(parents=True, exist_ok=True)
        (usr / part).touch(mode=0o755)
    programs = provider._programs
    found = programs.sshd()
    assert found == str(usr / "sbin" / "sshd")
    section = programs.sshd_section(found)
    assert section["options"] == {
        "SshdSessionPath": str(usr / "lib/openssh/sshd-session"),
        "Subsystem": f"sftp {usr / 'lib/openssh/sftp-server'}",
    }
    assert section["library_path"] == str(usr / "lib/x86_64-linux-gnu")
