"""Options and arguments that several commands share, so that they are spelt and explained once."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.cli.wiring import Wiring

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line: version first, the exit code last.")]
JUnitOption = Annotated[
    str, typer.Option("--junit", metavar="FILE", help="Also write what was found to FILE as a JUnit report.", show_default=False)
]
SarifOption = Annotated[
    str, typer.Option("--sarif", metavar="FILE", help="Also write what was found to FILE as SARIF 2.1.0.", show_default=False)
]
PathsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="PATH", help="Files or folders; default: the project's specs.", show_default=False)
]
FilesOption = Annotated[
    list[str] | None, typer.Option("-f", "--filename", metavar="PATH", help="The same as PATH; '-' reads stdin.", show_default=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask; needed where there is no terminal.")]
AllowDeletesOption = Annotated[
    int | None,
    typer.Option(
        "--allow-deletes", metavar="N", min=0, help="Allow N removals by absence that destroy data or end a session.", show_default=False
    ),
]
PruneOption = Annotated[
    bool, typer.Option("--prune", help="With PATH or --target: also plan removals of objects whose file lies under PATH.")
]
ParallelismOption = Annotated[
    int | None, typer.Option("--parallelism", metavar="N", min=1, max=100, help="Provider calls at once. [default: 10]", show_default=False)
]
SkipBlockedOption = Annotated[bool, typer.Option("--skip-blocked", help="Leave objects out that are blocked, and apply the rest.")]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="K/N", help="Only this object, such as workspace/lab; repeatable.", show_default=False),
]
AcceptNoEdgeOption = Annotated[
    bool,
    typer.Option(
        "--accept-no-edge",
        help="Start also where a machine that shuts itself down goes on billing, so that a cap or Budget has no hard edge.",
    ),
]
BaseOption = Annotated[
    str,
    typer.Option(
        "--base",
        metavar="REF",
        help="The branch this one is merged into, such as origin/main: what was merged there meanwhile is left alone, not removed.",
        show_default=False,
    ),
]
AcceptBaseMovedOption = Annotated[
    bool, typer.Option("--accept-base-moved", help="Undo what was merged to the base branch meanwhile, as the files here say.")
]
CiOption = Annotated[
    bool,
    typer.Option("--ci", help="Run as CI does: apply takes only a plan or a plan hash, and a plan that removes by absence needs a word."),
]
RestartOption = Annotated[
    list[str] | None,
    typer.Option(
        "--restart",
        metavar="K/N",
        help="Restart this Workspace's session, so that what waits for a start takes effect.",
        show_default=False,
    ),
]
LockTimeoutOption = Annotated[
    str,
    typer.Option(
        "--lock-timeout", metavar="D", help="How long to wait for the state lock, such as 30s. [default: 10s]", show_default=False
    ),
]
TimeoutOption = Annotated[
    str, typer.Option("--timeout", metavar="D", help="How long to wait for machines, such as 30m. [default: 30m]", show_default=False)
]


def wiring_of(context: typer.Context) -> Wiring:
    """What the process was wired with."""
    wiring = context.obj
    if not isinstance(wiring, Wiring):
        raise TypeError("the context carries no wiring")
    return wiring
