"""Rules of Volumes: a home is never lost, a half save never counts, and one disk hangs on one machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodusctl.provider.agent import AgentCommand, AgentRequest
from nodusctl.provider.contract import CanHoldVolumes, CanPruneRevisions, CanVerifyRevisions, Provider
from nodusctl.provider.machines import Disk, DiskState, Machine, MachineState, Revision, RevisionState
from nodusctl.provider.replies import Done, Refused, Scope, Unknown
from nodusctl.provider.requests import (
    AttachRequest,
    DeleteDiskRequest,
    DeleteRevisionRequest,
    DetachRequest,
    DiskAttachment,
    GrowRequest,
    RestoreRequest,
    SaveRequest,
)
from nodusctl.testing.conformance_hooks import ConformanceHooks, done

MOUNT_PATH = "/home/nodus"


class VolumeHooks(ConformanceHooks):
    """Steps that the rules of Volumes share."""

    def a_disk(self, provider: Provider, volumes: CanHoldVolumes, name: str = "home") -> Disk:
        """A disk that is ready."""
        disk = done(volumes.create_disk(self.a_disk_request(provider, name)))
        return self.eventually(provider, lambda: self._ready(volumes, disk.id), f"{disk.id} is ready")

    def a_session(self, provider: Provider, volumes: CanHoldVolumes, disk: Disk, name: str = "lab") -> Machine:
        """A running machine with the disk attached, which has written to it."""
        attachment = DiskAttachment(disk_id=disk.id, mount_path=MOUNT_PATH)
        if provider.describe().attaches_at_launch:
            machine = self.running(provider, name, disks=(attachment,))
        else:
            machine = self.running(provider, name)
            done(volumes.attach(AttachRequest(token=self.new_token("attach"), machine_id=machine.id, disk=attachment)))
        self.write_home(provider, machine, disk)
        return machine

    def after_session(self, provider: Provider, volumes: CanHoldVolumes, disk: Disk, number: int, name: str = "lab") -> Revision:
        """A whole session: write, end, and the revision saved from the quiet disk."""
        machine = self.a_session(provider, volumes, disk, name)
        if provider.describe().disk_outlives_machine:
            self.released(provider, machine.id)
            return self.saved(provider, volumes, disk, number)
        done(self.ask(provider, machine, AgentRequest(command=AgentCommand.QUIESCE, grace_seconds=1)))
        revision = self.saved(provider, volumes, disk, number)
        self.released(provider, machine.id)
        return revision

    def saved(self, provider: Provider, volumes: CanHoldVolumes, disk: Disk, number: int) -> Revision:
        """The revision once it is ready."""
        return self.finished(provider, volumes, SaveRequest(token=self.new_token("save"), disk_id=disk.id, number=number))

    def finished(self, provider: Provider, volumes: CanHoldVolumes, request: SaveRequest) -> Revision:
        """Ask with one token until the revision is ready."""

        def look() -> Revision | None:
            revision = done(volumes.save(request))
            return revision if revision.state is RevisionState.READY else None

        return self.eventually(provider, look, f"revision {request.number} is ready")

    def disk_now(self, volumes: CanHoldVolumes, disk_id: str) -> Disk:
        """The disk as observed now."""
        return done(volumes.observe_disks([disk_id]))[0]

    def _ready(self, volumes: CanHoldVolumes, disk_id: str) -> Disk | None:
        disk = self.disk_now(volumes, disk_id)
        return disk if disk.state is DiskState.READY else None


class DiskRules(VolumeHooks):
    """Make, grow, delete."""

    def test_a_disk_is_found_by_its_token_and_carries_its_tags(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """The disk has the size asked for, up to the platform's granularity, and stands in the list."""
        request = self.a_disk_request(provider)
        disk = done(volumes.create_disk(request))
        found = done(provider.find(request.token))
        assert isinstance(found, Disk)
        assert found.id == disk.id
        assert 0 <= disk.size_bytes - request.size_bytes < provider.describe().size_granularity_bytes
        assert disk.location == self.an_offer(provider).location
        listed = {disk.id: disk for disk in done(provider.list()).disks}
        assert dict(listed[disk.id].tags).items() >= dict(request.tags).items()

    def test_the_same_token_twice_is_one_disk(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Repeating finds the disk; another request with the token is refused or finds it too."""
        if not provider.describe().create_is_idempotent:
            pytest.skip("creates are not idempotent here")
        request = self.a_disk_request(provider)
        disk = done(volumes.create_disk(request))
        assert done(volumes.create_disk(request)).id == disk.id
        other = volumes.create_disk(replace(request, size_bytes=2 * request.size_bytes))
        assert isinstance(other, Refused) or done(other).id == disk.id
        assert [listed.id for listed in done(provider.list()).disks] == [disk.id]

    def test_a_disk_in_an_unknown_zone_is_refused(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """The refusal is Invalid, speaks of this request only, and makes nothing."""
        reply = volumes.create_disk(self.a_disk_request(provider, zone=self.unknown_zone))
        assert isinstance(reply, Refused), reply
        assert (reply.code, reply.scope) == ("Invalid", Scope.REQUEST)
        assert done(provider.list()).disks == ()

    def test_a_disk_grows_and_never_shrinks(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Growing twice to one size is one growth; a smaller size is refused and changes nothing."""
        disk = self.a_disk(provider, volumes)
        grown = GrowRequest(token=self.new_token("grow"), disk_id=disk.id, size_bytes=2 * self.disk_size_bytes)
        size_bytes = done(volumes.grow(grown)).size_bytes
        assert size_bytes >= grown.size_bytes
        assert done(volumes.grow(grown)).size_bytes == size_bytes
        shrunk = replace(grown, token=self.new_token("grow"), size_bytes=self.disk_size_bytes)
        assert isinstance(volumes.grow(shrunk), Refused)
        assert self.disk_now(volumes, disk.id).size_bytes == size_bytes

    def test_a_deleted_disk_is_gone_and_stays_gone(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Asking again confirms; it is neither listed nor observed nor found any more."""
        request = self.a_disk_request(provider)
        disk = done(volumes.create_disk(request))
        delete = DeleteDiskRequest(token=self.new_token("volume-delete"), disk_id=disk.id)

        def look() -> Disk | None:
            deleted = done(volumes.delete_disk(delete))
            return deleted if deleted.state is DiskState.GONE else None

        self.eventually(provider, look, f"{disk.id} is gone")
        assert done(volumes.delete_disk(delete)).state is DiskState.GONE
        assert self.disk_now(volumes, disk.id).state is DiskState.GONE
        assert done(provider.list()).disks == ()
        assert done(provider.find(request.token)) is None

    def test_calls_on_an_unknown_disk_are_refused(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Nothing is NotFound, and nothing raises."""
        token, disk_id = self.new_token(), "no-such-disk"
        replies = (
            volumes.save(SaveRequest(token=token, disk_id=disk_id, number=1)),
            volumes.restore(RestoreRequest(token=token, disk_id=disk_id, revision_id="no-such-revision")),
            volumes.grow(GrowRequest(token=token, disk_id=disk_id, size_bytes=self.disk_size_bytes)),
            volumes.delete_disk(DeleteDiskRequest(token=token, disk_id=disk_id)),
            volumes.detach(DetachRequest(token=token, machine_id="no-such-machine", disk_id=disk_id)),
        )
        for reply in replies:
            assert isinstance(reply, Refused), reply
            assert reply.code == "NotFound"
        assert self.disk_now(volumes, disk_id).state is DiskState.GONE


class AttachmentRules(VolumeHooks):
    """One disk, one machine."""

    def test_an_attached_disk_says_where_it_hangs(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Disk and machine name each other."""
        disk = self.a_disk(provider, volumes)
        machine = self.a_session(provider, volumes, disk)
        assert self.disk_now(volumes, disk.id).attached_to == machine.id
        assert disk.id in self.seen(provider, machine.id).disk_ids

    def test_a_second_machine_is_refused_the_disk(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """The refusal is VolumeBusy and the disk stays where it is."""
        disk = self.a_disk(provider, volumes)
        machine = self.a_session(provider, volumes, disk)
        attachment = DiskAttachment(disk_id=disk.id, mount_path=MOUNT_PATH)
        reply: object
        if provider.describe().attaches_at_launch:
            reply = provider.launch(self.a_launch(provider, "second", disks=(attachment,)))
        else:
            second = self.running(provider, "second")
            reply = volumes.attach(AttachRequest(token=self.new_token("attach"), machine_id=second.id, disk=attachment))
        assert isinstance(reply, Refused), reply
        assert reply.code == "VolumeBusy"
        assert self.disk_now(volumes, disk.id).attached_to == machine.id

    def test_attach_and_detach_can_be_repeated(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Each is confirmed by its reply, and repeating it changes nothing."""
        if provider.describe().attaches_at_launch:
            pytest.skip("disks attach at launch only here")
        disk = self.a_disk(provider, volumes)
        machine = self.a_session(provider, volumes, disk)
        attachment = DiskAttachment(disk_id=disk.id, mount_path=MOUNT_PATH)
        attach = AttachRequest(token=self.new_token("attach"), machine_id=machine.id, disk=attachment)
        assert done(volumes.attach(attach)).attached_to == machine.id
        self._quiesce(provider, machine)
        detach = DetachRequest(token=self.new_token("detach"), machine_id=machine.id, disk_id=disk.id)
        assert done(volumes.detach(detach)).attached_to == ""
        assert done(volumes.detach(detach)).attached_to == ""
        assert self.disk_now(volumes, disk.id).attached_to == ""

    def test_an_attached_disk_is_not_deleted(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """The refusal is VolumeBusy, and the disk is still there."""
        disk = self.a_disk(provider, volumes)
        self.a_session(provider, volumes, disk)
        reply = volumes.delete_disk(DeleteDiskRequest(token=self.new_token("volume-delete"), disk_id=disk.id))
        assert isinstance(reply, Refused), reply
        assert reply.code == "VolumeBusy"
        assert self.disk_now(volumes, disk.id).state is DiskState.READY

    def test_a_disk_survives_the_release_of_its_machine(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """After the release it hangs nowhere and can go to the next machine."""
        if not provider.describe().disk_outlives_machine:
            pytest.skip("a disk's live content ends with its machine here")
        disk = self.a_disk(provider, volumes)
        self.released(provider, self.a_session(provider, volumes, disk).id)
        kept = self.disk_now(volumes, disk.id)
        assert (kept.state, kept.attached_to) == (DiskState.READY, "")
        following = self.a_session(provider, volumes, disk, "next")
        assert self.disk_now(volumes, disk.id).attached_to == following.id

    def _quiesce(self, provider: Provider, machine: Machine) -> None:
        reply = self.ask(provider, machine, AgentRequest(command=AgentCommand.QUIESCE, grace_seconds=1))
        assert isinstance(reply, (Done, Unknown)), reply


class RevisionRules(VolumeHooks):
    """Saved means verified."""

    def test_a_save_is_found_by_its_token_and_made_once(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Repeating a save with its token finds the same revision, before and after it is ready."""
        disk = self.a_disk(provider, volumes)
        request = SaveRequest(token=self.new_token("save"), disk_id=disk.id, number=1)
        begun, ready = done(volumes.save(request)), self.finished(provider, volumes, request)
        assert begun.id == ready.id == done(volumes.save(request)).id
        found = done(provider.find(request.token))
        assert isinstance(found, Revision)
        assert found.id == ready.id
        assert ready.number == 1
        assert ready.committed_at is not None
        assert [revision.id for revision in self.disk_now(volumes, disk.id).revisions] == [ready.id]

    def test_revisions_add_up_in_order(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Each session's save is a revision of its own, and none of them replaces another."""
        disk = self.a_disk(provider, volumes)
        saved = [self.after_session(provider, volumes, disk, number) for number in (1, 2)]
        seen = self.disk_now(volumes, disk.id).revisions
        assert [(revision.number, revision.id, revision.digest) for revision in seen] == [
            (revision.number, revision.id, revision.digest) for revision in saved
        ]

    def test_a_restore_brings_a_revision_back(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """After a restore the live content equals the revision's, and no revision is lost."""
        if not provider.describe().disk_outlives_machine:
            pytest.skip("a disk's live content ends with its machine here")
        disk = self.a_disk(provider, volumes)
        first = self.after_session(provider, volumes, disk, 1)
        second = self.after_session(provider, volumes, disk, 2, "again")
        done(volumes.restore(RestoreRequest(token=self.new_token("restore"), disk_id=disk.id, revision_id=first.id)))
        third = self.saved(provider, volumes, disk, 3)
        if first.digest:
            assert first.digest != second.digest, "two sessions wrote, so the revisions must differ; does write_home() write?"
            assert third.digest == first.digest
        assert [revision.number for revision in self.disk_now(volumes, disk.id).revisions] == [1, 2, 3]

    def test_a_failed_save_never_becomes_ready_by_itself(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """A half save can't be restored; asked again with its token it is finished, and only then counts."""
        disk = self.a_disk(provider, volumes)
        self.break_next_save(provider, disk)
        request = SaveRequest(token=self.new_token("save"), disk_id=disk.id, number=1)
        broken = volumes.save(request)
        assert not (isinstance(broken, Done) and broken.value.state is RevisionState.READY)
        for _ in range(5):
            self.let_time_pass(provider)
            half = self.disk_now(volumes, disk.id).revisions
            assert all(revision.state is not RevisionState.READY for revision in half)
        for revision in half:
            reply = volumes.restore(RestoreRequest(token=self.new_token("restore"), disk_id=disk.id, revision_id=revision.id))
            assert isinstance(reply, Refused), reply
        ready = self.finished(provider, volumes, request)
        assert [revision.id for revision in self.disk_now(volumes, disk.id).revisions if revision.state is RevisionState.READY] == [
            ready.id
        ]

    def test_a_disk_in_use_is_not_restored(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Nobody's files change under a running session."""
        if not provider.describe().disk_outlives_machine:
            pytest.skip("a disk is restored on its machine here")
        disk = self.a_disk(provider, volumes)
        revision = self.after_session(provider, volumes, disk, 1)
        machine = self.a_session(provider, volumes, disk, "again")
        reply = volumes.restore(RestoreRequest(token=self.new_token("restore"), disk_id=disk.id, revision_id=revision.id))
        assert isinstance(reply, Refused), reply
        assert reply.code == "VolumeBusy"
        assert self.seen(provider, machine.id).state is MachineState.RUNNING


class PruningRules(VolumeHooks):
    """A revision goes alone. Skipped where single revisions can't be dropped, or not be read again."""

    def test_a_dropped_revision_takes_nothing_with_it(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """The others keep number, id and content, the live disk stays, asking again is done, and what is gone can't be restored."""
        pruning = self._pruning(provider)
        disk = self.a_disk(provider, volumes)
        first, second, third = (self.after_session(provider, volumes, disk, number) for number in (1, 2, 3))
        request = DeleteRevisionRequest(token=self.new_token("revision-delete"), disk_id=disk.id, revision_id=second.id)
        for _ in range(2):
            pruning.delete_revision(request)
            left = [(one.number, one.id, one.digest) for one in self.disk_now(volumes, disk.id).revisions]
            assert left == [(one.number, one.id, one.digest) for one in (first, third)]
        gone = volumes.restore(RestoreRequest(token=self.new_token("restore"), disk_id=disk.id, revision_id=second.id))
        assert isinstance(gone, Refused)
        if provider.describe().disk_outlives_machine:
            done(volumes.restore(RestoreRequest(token=self.new_token("restore"), disk_id=disk.id, revision_id=first.id)))
            assert self.saved(provider, volumes, disk, 4).digest == first.digest

    def test_dropping_what_is_not_there_is_not_found(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """An unknown revision and an unknown disk are refused, and nothing raises."""
        pruning = self._pruning(provider)
        disk = self.a_disk(provider, volumes)
        for disk_id in (disk.id, "no-such-disk"):
            reply = pruning.delete_revision(DeleteRevisionRequest(token=self.new_token(), disk_id=disk_id, revision_id="no-such-revision"))
            assert isinstance(reply, Refused), reply
            assert reply.code == "NotFound"

    def test_a_saved_revision_is_found_whole(self, provider: Provider, volumes: CanHoldVolumes) -> None:
        """Read again right after the save, it is ready with the digest it was saved with."""
        if not isinstance(provider, CanVerifyRevisions):
            pytest.skip("revisions can't be read again here (CanVerifyRevisions)")
        disk = self.a_disk(provider, volumes)
        saved = self.after_session(provider, volumes, disk, 1)
        found = done(provider.verify_revision(disk.id, saved.id))
        assert (found.state, found.digest) == (RevisionState.READY, saved.digest)

    def _pruning(self, provider: Provider) -> CanPruneRevisions:
        if not isinstance(provider, CanPruneRevisions):
            pytest.skip("single revisions can't be dropped here (CanPruneRevisions)")
        return provider


class VolumeRules(DiskRules, AttachmentRules, RevisionRules, PruningRules):
    """All rules of Volumes."""
