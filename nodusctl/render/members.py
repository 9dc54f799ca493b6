"""``state keys``: who can open the state."""

from __future__ import annotations

from typing import Any

from nodusctl.engine.state_keys import Membership
from nodusctl.ports.keys import Member, OwnKey
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table


def members_text(found: Membership, style: Style) -> str:
    """One line a member."""
    if not found.members:
        return "No members: the state has a single key, which lies with whoever made it."
    rows = [[one.name, one.public_key, moment_text(one.added_at), one.added_by, _remark(one)] for one in found.members]
    return table(("MEMBER", "PUBLIC KEY", "SINCE", "BY", "REMARK"), rows, style)


def members_document(found: Membership) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "members": [
            {
                "name": one.name,
                "publicKey": one.public_key,
                "addedTime": moment_text(one.added_at),
                "addedBy": one.added_by,
                "isYou": one.is_you,
                "isRecovery": one.is_recovery,
                **({"isVouchedFor": one.is_vouched_for} if one.is_vouched_for is not None else {}),
            }
            for one in found.members
        ],
        "own": own_document(found.own) if found.own is not None else None,
    }


def own_document(own: OwnKey) -> dict[str, Any]:
    """A person's own pair, but for its secret half."""
    return {"publicKey": own.public_key, "place": own.place, "isNew": own.is_new}


def _remark(member: Member) -> str:
    if member.is_vouched_for is False:
        return "let in by nobody"
    if member.is_recovery:
        return "for the day all else is lost"
    return "you" if member.is_you else ""
