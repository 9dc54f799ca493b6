"""The state, its locks, its key and its members."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "KeyStillKnown": (
        "A member was taken out, and the state's key is still the one they could read. Whoever has kept it opens "
        "every copy of the state made before the next rotation.",
        "Make a new key for those who are members now:\n  nodusctl state keys rotate",
    ),
    "LockBroken": (
        "A lock belonged to a process of this computer that no longer runs, so the next command took it over. The journal keeps that.",
        "Nothing needs to be done.",
    ),
    "LockRemoved": (
        "Somebody removed a lock by hand. The journal keeps who and when.",
        "Nothing needs to be done.",
    ),
    "Locked": (
        "Another command compares or starts a plan at this moment (exit code 13). Locks are held for milliseconds; one "
        "that stays belongs to a process that hangs or to another computer.",
        "Wait for it, or if its holder is really gone, remove it by the id in the message:\n"
        "  nodusctl apply --lock-timeout 30s\n"
        "  nodusctl unlock ID",
    ),
    "MemberUnknown": (
        "The list of members holds somebody whom nobody with the state's key has let in: the row was written past "
        "nodusctl, or for an older key. No key is ever wrapped for them.",
        "Ask who that is, then take them out:\n  nodusctl state keys remove NAME",
    ),
    "StateBehind": (
        "A pulled state lacks what the state here has: a later serial, events or ledger entries. Pushing it would "
        "lose that from the record, though not from the bill.",
        "Pull the state as it is and go on from that, or go back on purpose:\n"
        "  nodusctl state pull -o FILE\n"
        "  nodusctl state restore BACKUP",
    ),
    "StateBusy": (
        "The state is being written by another process and did not become free in time.",
        "Run the command again; if it stays so, see who works on it:\n  nodusctl state show",
    ),
    "StateKeyMissing": (
        "The state holds sealed values, and no key that opens them is in your data folder, your keyring or "
        "NODUSCTL_STATE_KEY. A state of a team is opened by the pair of any member.",
        "Bring the key file back from the computer on which the Secrets were applied, or give its text; in a team "
        "have a member let you in:\n"
        "  export NODUSCTL_STATE_KEY=…\n"
        "  nodusctl config view --origin\n"
        "  nodusctl state keys new",
    ),
    "StateKeyOpen": (
        "The key file can be read by other users, so it is not used.",
        "Close it:\n  chmod 600 FILE",
    ),
    "StateKeyWeak": (
        "The key is too short to protect anything.",
        "Use at least 16 characters, better the 64 hex digits of a key file.",
    ),
    "StateKeyWrong": (
        "The key that was found is not the one this state was sealed with; or the state is a team's, and no copy of "
        "its key is for the pair on this computer.",
        "Find the right one, config says which source won; or have a member let you in:\n"
        "  nodusctl config view --origin\n"
        "  nodusctl state keys new",
    ),
    "StateNewer": (
        "The state was written by a newer nodusctl. An older one would lose what it does not know.",
        "Upgrade this installation:\n  pip install --upgrade nodusctl",
    ),
    "StateNotShared": (
        "The state file lies where nobody else would find it, while machines run elsewhere: in a CI job's checkout they "
        "would be forgotten.",
        "Keep the state where all runs see it, or say with --local-state that this is meant.",
    ),
    "StateNotUsable": (
        "The state's file or folder can't be opened: missing rights, a full disk, a folder in place of a file.",
        "See which, and what mends it:\n  nodusctl doctor",
    ),
    "StateOlder": (
        "The state was written by an older nodusctl and this command only reads, so it does not bring it up to date.",
        "Any command that changes something does it, in one transaction:\n  nodusctl apply",
    ),
    "StateUnreachable": (
        "The PostgreSQL server the state lies on can't be reached, refused the connection, or was lost in the middle "
        "of a commit. What was under way is settled by the next command: it reads what stands, and asks the providers"
        " about whatever is open.",
        "Check state: in nodusctl.yaml, the network, and the password in ~/.pgpass:\n  nodusctl doctor",
    ),
    "StateUnreadable": (
        "The file or database is no state: another program's, or damaged; or a pulled state was edited or cut short. "
        "Nothing was written to it.",
        "Check state: in nodusctl.yaml, or bring the state back from a backup:\n"
        "  nodusctl config view --origin\n"
        "  nodusctl state backup --list",
    ),
}
