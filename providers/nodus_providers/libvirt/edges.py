"""The second line behind the edge: a process on the host that ends the machine ten minutes after its edge, where the guest didn't.

It asks the guest's agent where the edge is now, because renewals go to the machine and not to us; a guest that doesn't answer four times
in three minutes after its last known edge is ended. It goes away with the machine's record on the host, and outlives us and our connection.
"""

from __future__ import annotations

from dataclasses import dataclass

from nodus_providers.libvirt.hosts import Host

# $1 folder, $2 uuid, $3 seconds until it is due, $4 margin, $5 pause. Prints nothing; the loop runs in a session of its own.
_WATCH = r"""
command -v virsh >/dev/null || { echo "virsh is not installed on the host; install libvirt-clients" >&2; exit 1; }
watch='
folder=$1 uuid=$2 left=$3 margin=$4 pause=$5
v() { timeout 20 virsh -q -c qemu:///system "$@" 2>/dev/null; }
ask() { v qemu-agent-command --timeout 10 "$uuid" "$1"; }
edge_left() {
    script="read -r n _ </proc/uptime; read -r d _ </run/nodus/state/edge; echo \$((d - \${n%%.*}))"
    quoted=$(printf %s "$script" | sed "s/\"/\\\\\"/g")
    pid=$(ask "{\"execute\":\"guest-exec\",\"arguments\":{\"path\":\"/bin/sh\",\"arg\":[\"-c\",\"$quoted\"],\"capture-output\":true}}" |
        sed -n "s/.*\"pid\": *\([0-9]*\).*/\1/p")
    [ -n "$pid" ] || return 1
    sleep 2
    ask "{\"execute\":\"guest-exec-status\",\"arguments\":{\"pid\":$pid}}" |
        sed -n "s/.*\"out-data\": *\"\([A-Za-z0-9+\/=]*\)\".*/\1/p" | base64 -d 2>/dev/null | grep -E "^-?[0-9]+$"
}
tries=0
while [ -e "$folder/machine.json" ]; do
    if [ "$left" -gt 0 ]; then
        step=60; [ "$left" -ge 60 ] || step=$left
        sleep "$step"; left=$((left - step)); continue
    fi
    case $(v domstate "$uuid") in running | paused | idle | "in shutdown") ;; *) exit 0 ;; esac
    more=$(edge_left) || more=""
    if [ -n "$more" ] && [ $((more + margin)) -gt 0 ]; then left=$((more + margin)); tries=0; continue; fi
    tries=$((tries + 1))
    if [ -n "$more" ] || [ "$tries" -ge 4 ]; then
        why="\"reason\": \"edge\", \"detail\": \"the host ended it ten minutes after its edge\""
        printf "\nNODUS-END {%s, \"decided_at\": \"%s\"}\n" "$why" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >>"$folder/console.log"
        v destroy "$uuid"; exit 0
    fi
    sleep "$pause"
done'
if command -v setsid >/dev/null; then setsid sh -c "$watch" "nodus-edge-$2" "$@" </dev/null >/dev/null 2>&1 &
else nohup sh -c "$watch" "nodus-edge-$2" "$@" </dev/null >/dev/null 2>&1 & fi
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long after the edge a machine is ended, and the pause between two questions to a guest that doesn't answer, in seconds."""

    margin_seconds: int = 600
    pause_seconds: int = 60


def watch_edge(host: Host, machine_id: str, uuid: str, edge_seconds: int, patience: Patience | None = None) -> None:
    """Start the watch. ScriptError where the host can't keep one: a machine without it isn't started."""
    has = patience or Patience()
    numbers = (edge_seconds + has.margin_seconds, has.margin_seconds, has.pause_seconds)
    host.shell.run(_WATCH, host.machine_folder(machine_id), uuid, *map(str, numbers))
