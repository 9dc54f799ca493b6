"""After a command that moved one Workspace: what the clock does next, on stderr, for people."""

from __future__ import annotations

from nodusctl.base.ids import Address
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.inspect_times import times_of
from nodusctl.render.times import next_words


def say_next(wiring: Wiring, output: Output, address: Address) -> None:
    """One sentence; nothing where no time matters to it."""
    journal = wiring.writing.journal
    standing = journal.snapshot().get(address)
    stored = journal.load(standing.record.uid) if standing is not None else None
    if stored is None:
        return
    words = next_words(address.name, times_of(stored, now=wiring.clock.now(), lead=wiring.project.file.settings.window_lead))
    if words:
        output.remark(words)
