"""Members and their copies of the state's key: who opens what, before and after a rotation, and that nothing sealed is lost by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nodusctl.attempts.events import Remarked
from nodusctl.base.exits import UserError
from nodusctl.ports.keys import RECOVERY, KeyChange
from nodusctl.state.status import ObjectStatus, SecretStanding
from nodusctl.state.vault_names import secret_value
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import NOON, STATE_KEY, SeenState, StoreHooks, StoreUnderTest, a_consumption

CHANGE = KeyChange(by="ada@lab1", at=NOON)
SECRET_TEXT = "c2VjcmV0IHZhbHVl"
_VALUE_NAME = secret_value("uid-lab", 1, "token")


def refusal(act: Callable[[], object]) -> str:
    """The code of what ``act`` is refused with."""
    with pytest.raises(UserError) as refused:
        act()
    return refused.value.diagnostics[0].code


class KeyRules(StoreHooks):
    """See the module. Ada founds the team, with the key the state had; Ben joins."""

    @pytest.fixture
    def ada(self, store: StoreUnderTest, tmp_path: Path) -> SeenState:
        """A state with a sealed value, its Secret's fingerprint and a service key, as Ada sees it, who made it."""
        ada = store.seen_with(KeyMaterial(path=tmp_path / "ada/state.key", member_path=tmp_path / "ada/member.key"))
        hmacs = {"token": ada.journal.fingerprint_secret(SECRET_TEXT), "gone": "an old fingerprint"}
        status = ObjectStatus(secret=SecretStanding(version=1, hmacs=hmacs))
        sealed = {_VALUE_NAME: SECRET_TEXT, "service-key/attempt-1": "a private key"}
        ada.journal.consume(replace(a_consumption(), sealed=sealed, statuses={"uid-lab": status}))
        return ada

    @pytest.fixture
    def ben(self, store: StoreUnderTest, tmp_path: Path) -> SeenState:
        """The same state as Ben sees it, who has a key to another state of his own."""
        (tmp_path / "ben").mkdir()
        (tmp_path / "ben/state.key").write_text("0" * 64)
        (tmp_path / "ben/state.key").chmod(0o600)
        return store.seen_with(KeyMaterial(path=tmp_path / "ben/state.key", member_path=tmp_path / "ben/member.key"))

    def again(self, store: StoreUnderTest, tmp_path: Path, who: str) -> SeenState:
        """The next process of that person."""
        return store.seen_with(KeyMaterial(path=tmp_path / f"{who}/state.key", member_path=tmp_path / f"{who}/member.key"))

    def test_a_state_of_one_person_has_no_members(self, ada: SeenState, ben: SeenState) -> None:
        """Its key lies with that person; nobody can be let in or taken out, and there is nothing to rotate."""
        assert (ada.keys.members(), ben.keys.members()) == ((), ())
        public = ben.keys.make_own().public_key
        for act in (
            lambda: ada.keys.add("ben", public, CHANGE),
            lambda: ada.keys.remove("ben", CHANGE),
            lambda: ada.keys.rotate(CHANGE),
            lambda: ada.keys.renew_recovery(CHANGE),
        ):
            assert refusal(act) == "NotFound"
        assert refusal(lambda: ben.journal.secret(_VALUE_NAME)) == "StateKeyWrong"

    def test_there_is_no_team_without_a_state(self, store: StoreUnderTest, tmp_path: Path) -> None:
        """What is first needed is something to have a key to."""
        early = store.seen_with(KeyMaterial(path=tmp_path / "state.key", member_path=tmp_path / "member.key"))
        assert refusal(lambda: early.keys.found("ada", CHANGE)) == "NotFound"
        assert early.keys.members() == ()

    def test_a_pair_is_made_once(self, ada: SeenState, tmp_path: Path) -> None:
        """Asked again, the same public half; the file is private and holds the secret one."""
        assert ada.keys.own() is None
        made = ada.keys.make_own()
        assert (made.is_new, ada.keys.make_own().is_new, ada.keys.make_own().public_key) == (True, False, made.public_key)
        path = tmp_path / "ada/member.key"
        assert (path.stat().st_mode & 0o777, made.public_key in path.read_text()) == (0o600, False)

    def test_founding_a_team_keeps_all_that_was_sealed(self, store: StoreUnderTest, ada: SeenState, tmp_path: Path) -> None:
        """Under a new key, which Ada has by her pair and no longer by the file the state began with."""
        assert ada.keys.found("ada", CHANGE).values == 2
        for seen in (ada, self.again(store, tmp_path, "ada")):
            assert (seen.journal.secret(_VALUE_NAME), seen.journal.secret("service-key/attempt-1")) == (SECRET_TEXT, "a private key")
        (tmp_path / "ada/member.key").rename(tmp_path / "elsewhere")
        assert refusal(lambda: self.again(store, tmp_path, "ada").journal.secret(_VALUE_NAME)) == "StateKeyMissing"
        assert refusal(lambda: ada.keys.found("eve", CHANGE)) == "AlreadyExists"

    def test_only_who_has_the_key_founds_a_team(self, ada: SeenState, ben: SeenState) -> None:
        """Anybody else changes nothing."""
        assert refusal(lambda: ben.keys.found("ben", CHANGE)) == "StateKeyWrong"
        assert ada.journal.secret(_VALUE_NAME) == SECRET_TEXT
        assert ada.keys.members() == ()

    def test_a_state_that_never_needed_a_key_becomes_a_team(self, store: StoreUnderTest, tmp_path: Path) -> None:
        """There is nothing to open, and what is sealed later is sealed for all."""
        store.found()
        ada = self.again(store, tmp_path, "ada")
        ada.keys.found("ada", CHANGE)
        ada.journal.consume(replace(a_consumption(number=2, serial=1), sealed={"t": "value"}))
        assert self.again(store, tmp_path, "ada").journal.secret("t") == "value"

    def test_who_is_let_in_opens_everything(self, store: StoreUnderTest, ada: SeenState, ben: SeenState, tmp_path: Path) -> None:
        """Before, they are told what to do; afterwards, both see and seal."""
        ben.keys.require_member()
        ada.keys.found("ada", CHANGE)
        assert refusal(lambda: ben.journal.secret(_VALUE_NAME)) == "StateKeyMissing"
        assert refusal(ben.keys.require_member) == "StateKeyMissing"
        public = ben.keys.make_own().public_key
        assert refusal(lambda: ben.journal.secret(_VALUE_NAME)) == "StateKeyWrong"
        assert refusal(lambda: ben.keys.add("ben", public, CHANGE)) == "StateKeyWrong"
        ada.keys.add("ben", public, CHANGE)
        ben.keys.require_member()
        assert ben.journal.secret(_VALUE_NAME) == SECRET_TEXT
        ben.journal.consume(replace(a_consumption(number=2, serial=1), sealed={"t": "from ben"}))
        assert ada.journal.secret("t") == "from ben"
        assert ben.journal.fingerprint_secret("x") == ada.journal.fingerprint_secret("x")

    def test_members_are_listed_and_vouched_for(self, ada: SeenState, ben: SeenState) -> None:
        """By name; each sees which of them they are, and who isn't one can't vouch for anybody."""
        ada.keys.found("ada", CHANGE)
        mine, theirs = ada.keys.make_own().public_key, ben.keys.make_own().public_key
        ada.keys.add("ben", theirs, replace(CHANGE, by="ada@home"))
        seen = {one.name: one for one in ada.keys.members()}
        assert list(seen) == ["ada", "ben", RECOVERY]
        assert [(one.is_you, one.is_vouched_for, one.is_recovery) for one in seen.values()] == [
            (True, True, False),
            (False, True, False),
            (False, True, True),
        ]
        assert (seen["ada"].public_key, seen["ben"].public_key, seen["ben"].added_by) == (mine, theirs, "ada@home")
        ada.keys.remove("ben", CHANGE)
        assert [(one.name, one.is_vouched_for) for one in ben.keys.members()] == [("ada", None), (RECOVERY, None)]

    def test_a_rotation_keeps_all_that_was_sealed(self, store: StoreUnderTest, ada: SeenState, ben: SeenState, tmp_path: Path) -> None:
        """For processes that are at work with the former key too, and for all members; who let them in, and when, stays."""
        ada.keys.found("ada", CHANGE)
        ada.keys.add("ben", ben.keys.make_own().public_key, CHANGE)
        assert ben.journal.secret(_VALUE_NAME) == SECRET_TEXT
        before = ada.journal.fingerprint_secret("x")
        rotated = ada.keys.rotate(replace(CHANGE, by="ada@home"))
        assert (rotated.values, rotated.members) == (2, ("ada", "ben", RECOVERY))
        for seen in (ada, ben, self.again(store, tmp_path, "ben")):
            assert (seen.journal.secret(_VALUE_NAME), seen.journal.secret("service-key/attempt-1")) == (SECRET_TEXT, "a private key")
        assert ada.journal.fingerprint_secret("x") != before
        assert {one.added_by for one in ada.keys.members()} == {CHANGE.by}
        ben.journal.consume(replace(a_consumption(number=2, serial=1), sealed={"t": "from ben"}))
        assert ada.journal.secret("t") == "from ben"

    def test_a_rotation_makes_fingerprints_anew(self, ada: SeenState) -> None:
        """Equal bytes are no change after it either; a value that is stored no more has no fingerprint, so that it is written again."""
        ada.keys.found("ada", CHANGE)
        for _ in range(2):
            stored = ada.journal.load("uid-lab")
            assert stored is not None
            assert stored.status.secret is not None
            assert dict(stored.status.secret.hmacs) == {"token": ada.journal.fingerprint_secret(SECRET_TEXT), "gone": ""}
            ada.keys.rotate(CHANGE)

    def test_a_removed_member_is_out(self, store: StoreUnderTest, ada: SeenState, ben: SeenState, tmp_path: Path) -> None:
        """A new process of theirs at once; one that is at work when the key is rotated."""
        ada.keys.found("ada", CHANGE)
        ada.keys.add("ben", ben.keys.make_own().public_key, CHANGE)
        assert ben.journal.secret(_VALUE_NAME) == SECRET_TEXT
        ada.keys.remove("ben", CHANGE)
        assert refusal(lambda: self.again(store, tmp_path, "ben").journal.secret(_VALUE_NAME)) == "StateKeyWrong"
        ada.keys.rotate(CHANGE)
        assert refusal(lambda: ben.journal.secret(_VALUE_NAME)) == "StateKeyWrong"
        assert refusal(lambda: ben.keys.rotate(CHANGE)) == "StateKeyWrong"
        assert ada.journal.secret(_VALUE_NAME) == SECRET_TEXT

    def test_the_recovery_copy_opens_what_members_lost(self, store: StoreUnderTest, ada: SeenState, tmp_path: Path) -> None:
        """Its secret half given as the key lets a new member in; a renewed one takes its place."""
        secret = ada.keys.found("ada", CHANGE).recovery_secret
        ada.keys.rotate(CHANGE)
        anybody = store.seen_with(KeyMaterial(text=secret))
        assert anybody.journal.secret(_VALUE_NAME) == SECRET_TEXT
        eve = self.again(store, tmp_path, "eve")
        anybody.keys.add("eve", eve.keys.make_own().public_key, CHANGE)
        assert eve.journal.secret(_VALUE_NAME) == SECRET_TEXT
        renewed = eve.keys.renew_recovery(CHANGE)
        assert store.seen_with(KeyMaterial(text=renewed)).journal.secret(_VALUE_NAME) == SECRET_TEXT
        assert refusal(lambda: store.seen_with(KeyMaterial(text=secret)).journal.secret(_VALUE_NAME)) == "StateKeyWrong"

    def test_what_is_no_member_is_refused(self, ada: SeenState, ben: SeenState) -> None:
        """A name or key that is taken, a name that can't be one, a secret half in place of the public one (and it isn't repeated)."""
        secret = ada.keys.found("ada", CHANGE).recovery_secret
        public = ben.keys.make_own().public_key
        ada.keys.add("ben", public, CHANGE)
        assert refusal(lambda: ada.keys.add("ben", _with_another_letter(public), CHANGE)) == "Invalid"
        assert refusal(lambda: ada.keys.add("bob", public, CHANGE)) == "AlreadyExists"
        for name in ("", "Ada L", RECOVERY, "a" * 64):
            assert refusal(lambda name=name: ada.keys.add(name, public, CHANGE)) == "Invalid"  # type: ignore[misc]
        with pytest.raises(UserError) as refused:
            ada.keys.add("eve", secret, CHANGE)
        assert secret not in str(refused.value.diagnostics)
        assert refusal(lambda: ada.keys.remove("bne", CHANGE)) == "NotFound"
        assert refusal(lambda: ada.keys.remove(RECOVERY, CHANGE)) == "NotFound"
        ada.keys.remove("ben", CHANGE)
        assert refusal(lambda: ada.keys.remove("ada", CHANGE)) == "Conflict"

    def test_whoever_lacks_the_key_learns_it_before_anything_is_begun(self, store: StoreUnderTest, ada: SeenState, ben: SeenState) -> None:
        """Asked for, a key that isn't the state's is told; the state's own is not, nor is any where nothing is sealed yet."""
        ada.journal.require_key()
        assert refusal(ben.journal.require_key) == "StateKeyWrong"
        assert refusal(store.seen_with(KeyMaterial()).journal.require_key) == "StateKeyMissing"

    def test_a_state_that_has_sealed_nothing_requires_no_key(self, store: StoreUnderTest) -> None:
        store.seen_with(KeyMaterial()).journal.require_key()
        store.journal.consume(a_consumption())
        store.seen_with(KeyMaterial()).journal.require_key()

    def test_a_members_key_opens_no_state_of_one_person(self, store: StoreUnderTest, ada: SeenState) -> None:
        """Nor is it taken for a phrase."""
        pair = store.seen_with(KeyMaterial(text=_pair()))
        assert refusal(lambda: pair.journal.secret(_VALUE_NAME)) == "StateKeyMissing"

    def test_the_phrase_a_state_began_with_may_found_a_team(self, store: StoreUnderTest, tmp_path: Path) -> None:
        """Whoever gave it as the key has a pair of their own from then on; the phrase opens nothing any more."""
        store.journal.consume(replace(a_consumption(), sealed={"t": "value"}))
        phrase = KeyMaterial(text=STATE_KEY, member_path=tmp_path / "member.key")
        store.seen_with(phrase).keys.found("ada", CHANGE)
        assert store.seen_with(phrase).journal.secret("t") == "value"
        assert refusal(lambda: store.journal.secret("t")) == "StateKeyMissing"

    def test_the_journal_tells_who_came_and_went(self, ada: SeenState, ben: SeenState) -> None:
        """Each change by whom it was made; no secret half is in it."""
        secret = ada.keys.found("ada", CHANGE).recovery_secret
        ada.keys.add("ben", ben.keys.make_own().public_key, CHANGE)
        ada.keys.remove("ben", CHANGE)
        ada.keys.rotate(CHANGE)
        ada.keys.renew_recovery(CHANGE)
        remarks = [row.event for row in ada.journal.events() if isinstance(row.event, Remarked)]
        assert [one.code for one in remarks] == ["TeamFounded", "MemberAdded", "MemberRemoved", "KeyRotated", "RecoveryRenewed"]
        assert all(one.message.startswith("ada@lab1: ") for one in remarks)
        assert secret not in str(remarks)


def _pair() -> str:
    from nodusctl.store.member_keys import new_secret

    return new_secret()


def _with_another_letter(key: str) -> str:
    """Another key for certain: a letter of its check is changed (the last letter has bits that say nothing)."""
    return f"{key[:-3]}{'b' if key[-3] == 'a' else 'a'}{key[-2:]}"
