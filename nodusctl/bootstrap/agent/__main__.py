"""The agent's commands.

keep            become the machine: arm the edge, open the door, watch until the end; returns once that has begun
serve-command   JSON requests on stdin, an answer to each on stdout: the service key's forced command
end             end the machine from outside, also where its keeper is dead; returns when nothing of it runs or time is up
survivors       print how many of the machine's processes run
"""

from __future__ import annotations

import argparse
import os
import sys

from . import answers, ending, keeper, processes
from .layout import Layout


def main(arguments: list[str]) -> int:
    """Run one command; the exit status is 0, or 1 where the machine could not begin or did not end in time."""
    parser = argparse.ArgumentParser(prog="agent")
    parser.add_argument("command", choices=("keep", "serve-command", "end", "survivors"))
    parser.add_argument("--folder", default=os.getcwd())
    parser.add_argument("--reason", default="released")
    parser.add_argument("--grace-seconds", type=float, default=10.0)
    parser.add_argument("--wait-seconds", type=float, default=30.0)
    given = parser.parse_args(arguments)
    layout = Layout(given.folder)
    if given.command == "keep":
        return keeper.begin(layout)
    if given.command == "serve-command":
        return answers.serve(layout, sys.stdin, sys.stdout, sys.stdin.fileno())
    # Whoever asks from outside asks again after a crash; nothing of the question outlives it.
    processes.die_with_parent()
    if given.command == "end":
        return ending.end_from_outside(layout, given.reason, given.grace_seconds, given.wait_seconds)
    sys.stdout.write(f"{len(processes.of_machine(layout))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
