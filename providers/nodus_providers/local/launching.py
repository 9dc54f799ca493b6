"""Making a machine so that a crash at any line leaves either nothing, or one machine that its token finds.

The folder is built beside its place and renamed into it; then its keeper is started, which is the one child and starts everything else.
The launch is committed when the keeper is on record. A folder without a keeper is finished by the next launch with that token, or taken
away by ``find``, which takes the keeper's lock first, so that a keeper started late finds nothing to keep.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

from nodus_providers.local import programs as tools
from nodus_providers.local.building import Equipment, Parts, build_folder, bundle_of, request_digest
from nodus_providers.local.disks import DiskShelf
from nodus_providers.local.folders import Root, read_json
from nodus_providers.local.gpus import device_files, visible_devices
from nodus_providers.local.guest import Guest
from nodus_providers.local.host import Host
from nodus_providers.local.limits import remove_limits
from nodus_providers.local.machines import holder_of, observed
from nodus_providers.local.trees import remove_tree
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Done, Refused, Reply, Scope, Unknown
from nodusctl.provider.requests import LaunchRequest

_OPEN_LIMIT_SECONDS = 15.0
_POLL_SECONDS = 0.02


class Launcher:
    """Launches machines of one provider instance and settles half launches."""

    def __init__(self, root: Root, host: Host, shelf: DiskShelf, equipment: Equipment) -> None:
        self._root, self._host, self._shelf, self._equipment = root, host, shelf, equipment

    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        """Make the machine of this token, finish it, or answer with what it has become."""
        machine_id = self._root.id_for("m", request.token)
        with self._root.locked(machine_id):
            known = read_json(self._root.machine(machine_id) / "machine.json") or self._root.gone(machine_id)
            if known and known["request_digest"] != request_digest(request):
                return Refused("IdempotencyKeyReused", message="this client token has launched a machine from another request")
            refusal = None if known else self._made(machine_id, request)
            return refusal or self._started(machine_id)

    def settled(self, machine_id: str) -> Machine | None:
        """The machine of a token, or None: then nothing of it runs, or ever will. Waits for a launch that is under way."""
        with self._root.locked(machine_id):
            folder = self._root.machine(machine_id)
            while folder.exists() and not Guest(folder).has_begun and not self._take_away(folder):
                # A keeper holds the lock and is about to record itself.
                self._root.wall.sleep(_POLL_SECONDS)
            machine = observed(self._root, self._host, machine_id)
            return None if machine.state is MachineState.GONE else machine

    def _made(self, machine_id: str, request: LaunchRequest) -> Refused | None:
        """Build the folder, with the disks held, so that no other machine takes one meanwhile."""
        self._root.sweep()
        with ExitStack() as held:
            for attachment in request.disks:
                if self._shelf.exists(attachment.disk_id):
                    held.enter_context(self._root.locked(attachment.disk_id))
                    self._shelf.mended(attachment.disk_id)
            if refusal := self._refusal(request):
                return refusal
            cards = held.enter_context(self._equipment.cards.taken(request, self._root.machine(machine_id)))
            if isinstance(cards, Refused):
                return cards
            home = self._shelf.live(request.disks[0].disk_id) if request.disks else None
            files, variables = device_files(cards), visible_devices(cards)
            parts = Parts(equipment=self._equipment, home=home, devices=files, variables=variables)
            build_folder(self._root, machine_id, request, parts)
            return None

    def _refusal(self, request: LaunchRequest) -> Refused | None:
        is_offered = request.offer_id == self._host.offer_id or (request.offer_id.endswith("-local") and "-x" in request.offer_id)
        if not is_offered or request.zone != self._host.zone:
            return Refused("Invalid", message=f"this computer offers {self._host.offer_id} and its cards in {self._host.zone} only")
        if self._equipment.programs.sshd() is None:
            return Refused("ProviderNotReady", Scope.ACCOUNT, f"sshd is not installed on this computer; as root: {tools.SSHD_INSTALL}")
        if bundle_of(request) is None:
            return Refused("Invalid", message="the boot document is not a bundle this provider can read")
        if request.edge_seconds <= 0:
            return Refused("Invalid", message="a machine needs an edge above zero seconds")
        return self._equipment.isolation.refusal(request) or self._disk_refusal(request)

    def _disk_refusal(self, request: LaunchRequest) -> Refused | None:
        home_mount = (bundle_of(request) or {}).get("home_mount")
        for attachment in request.disks:
            if attachment.mount_path != home_mount:
                return Refused("Unsupported", message="a local machine holds one disk, as its home")
            if not self._shelf.exists(attachment.disk_id):
                return Refused("NotFound", message="there is no disk of this id")
            if holder := holder_of(self._root, attachment.disk_id):
                return Refused("VolumeBusy", message=f"the disk is attached to {holder}")
        return Refused("Unsupported", message="a local machine holds one disk, as its home") if len(request.disks) > 1 else None

    def _started(self, machine_id: str) -> Reply[Machine]:
        """Start the keeper where none has ever been, and wait until its door is open."""
        folder = self._root.machine(machine_id)
        guest = Guest(folder)
        if folder.exists() and not guest.has_begun:
            tools.prepare_privilege_folder()
            Path(read_json(folder / "boot.json")["home"]).mkdir(mode=0o700, exist_ok=True)
            guest.run("keep")
        self._wait(guest)
        machine = observed(self._root, self._host, machine_id)
        if machine.state is MachineState.PENDING and not guest.has_begun:
            return Unknown("the machine's keeper did not start: " + guest.log_tail())
        return self._failed(machine_id, guest) if guest.ended().get("has_never_opened") else Done(machine)

    def _failed(self, machine_id: str, guest: Guest) -> Refused:
        """The keeper has ended the machine before its door was ever open: nothing is left, so the launch is refused."""
        reason = str(guest.ended()["detail"] or guest.ended()["reason"])
        remove_limits(self._root.machine(machine_id))
        remove_tree(self._root.machine(machine_id))
        return Refused("ProviderNotReady", Scope.ACCOUNT, reason)

    def _wait(self, guest: Guest) -> None:
        deadline = self._root.wall.monotonic() + _OPEN_LIMIT_SECONDS
        while guest.has_keeper() and not guest.door() and self._root.wall.monotonic() < deadline:
            self._root.wall.sleep(_POLL_SECONDS)

    def _take_away(self, folder: Path) -> bool:
        """Remove a folder that has no keeper and keep any keeper from starting in it; False where one holds the lock."""
        handle = os.open(folder / "run" / "keeper.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not Guest(folder).has_begun:
                away = folder.with_name(f".away-{folder.name}-{os.getpid()}")
                folder.rename(away)
                remove_limits(away)
                remove_tree(away)
        except BlockingIOError:
            return False
        finally:
            os.close(handle)
        return True
