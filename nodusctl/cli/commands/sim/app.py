"""The ``sim`` family put together."""

from __future__ import annotations

from nodusctl.cli.app import family
from nodusctl.cli.commands.sim import clock, faults, world

app = family("The simulated provider: a cloud to learn, test and break things on.")


@app.callback()
def _sim() -> None:
    """The simulated provider: a cloud to learn, test and break things on."""


app.command("init")(clock.init)
app.command("advance")(clock.advance)
app.command("set-time")(clock.set_time)
app.command("calls")(world.calls)
app.command("machines")(world.machines)
app.command("kill")(world.kill)
app.command("resize")(world.resize)
app.command("activity")(world.activity)
app.add_typer(faults.app, name="fault")
