"""The one door to libvirt: every call under a time limit, on one connection a host that is opened again where it broke.

libvirt's own objects don't leave this module. A call that isn't back in time leaves its thread to its fate and the connection with it.
A slow answer is often a symptom: where QEMU's capabilities are probed again for each call, each takes seconds.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from nodus_providers.libvirt.shell import HostError

T = TypeVar("T")

NAMESPACE = "https://nodus.dev/ns/libvirt/1"
CALL_SECONDS = 30.0
START_SECONDS = 120.0
"""For what changes a domain, and for a look for which QEMU is probed: 100 s where its capabilities aren't kept."""
_AGENT_SECONDS = 5
_KEY = "nodus"


class TimeLimitError(HostError):
    """A call was not back in time; it may go on."""


class LibvirtError(Exception):
    """libvirt said no. ``code`` is its error number."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Fault:
    """Error numbers that mean something to us (virterror.h)."""

    NO_DOMAIN = 42
    OPERATION_INVALID = 55
    NO_DOMAIN_METADATA = 80


# What a connection says that is none any more: system error, no connection, invalid connection, RPC, internal RPC, keep-alive timeout.
_BROKEN = frozenset({5, 6, 38, 39, 68})


class Power(StrEnum):
    """A domain's state in few words."""

    RUNNING = "running"
    PAUSED = "paused"
    OFF = "off"
    CRASHED = "crashed"


_POWERS = {1: Power.RUNNING, 2: Power.RUNNING, 3: Power.PAUSED, 4: Power.RUNNING, 5: Power.OFF, 6: Power.CRASHED, 7: Power.PAUSED}
_OFF_REASONS = {1: "poweroff", 2: "killed", 3: "failed", 4: "failed", 5: "failed", 6: "failed", 7: "failed", 8: "failed"}
_PAUSED_REASONS = {1: "by somebody", 5: "a disk of it can't be written or read", 8: "crashed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One domain as it is now. ``mark`` is our metadata element, "" where there is none; ``reason`` a word for how it came to its state."""

    uuid: str
    name: str
    power: Power
    reason: str
    mark: str
    is_persistent: bool = True


class Connection:
    """One host's libvirt. Safe between threads. ``before_opening`` is called before a connection is made."""

    def __init__(self, uri: str, limit_seconds: float = CALL_SECONDS, before_opening: Callable[[], None] | None = None) -> None:
        self.uri, self._limit_seconds, self._before_opening = uri, limit_seconds, before_opening
        self._lock = threading.Lock()
        self._open: Any = None
        # Held while a connection is made. One that hangs keeps its own, and whoever comes next gets another.
        self._opening = threading.Lock()

    def domains(self) -> tuple[Domain, ...]:
        """All domains of the host, ours or not."""
        return self._read("list domains", lambda lv, conn: tuple(found for one in conn.listAllDomains(0) if (found := _seen(lv, one))))

    def domain(self, uuid: str) -> Domain | None:
        """The domain with this UUID."""

        def look(lv: Any, conn: Any) -> Domain | None:
            one = _by_uuid(lv, conn, uuid)
            return None if one is None else _seen(lv, one)

        return self._read("look at a domain", look)

    def uuid_of(self, name: str) -> str:
        """The UUID of the domain with this name, or ""."""

        def look(lv: Any, conn: Any) -> str:
            try:
                return str(conn.lookupByName(name).UUIDString())
            except lv.libvirtError as fault:
                if fault.get_error_code() == Fault.NO_DOMAIN:
                    return ""
                raise

        return self._read("look for a name", look)

    def xml(self, uuid: str, *, is_live: bool = False) -> str:
        """A domain's definition as stored, or as it runs."""
        flags = 0 if is_live else 2  # VIR_DOMAIN_XML_INACTIVE
        return self._read("read a definition", lambda lv, conn: str(conn.lookupByUUIDString(uuid).XMLDesc(flags)))

    def define(self, xml: str) -> None:
        """Store a definition; the same UUID replaces what was there, another UUID with the name is refused."""
        self._write("define a domain", lambda lv, conn: conn.defineXML(xml), START_SECONDS)

    def start(self, uuid: str, limit_seconds: float = START_SECONDS) -> None:
        """Start a defined domain; back once QEMU runs. The claim on its devices is this call."""

        def work(lv: Any, conn: Any) -> None:
            one = conn.lookupByUUIDString(uuid)
            if not one.isActive():
                one.create()

        self._write("start a domain", work, limit_seconds)

    def shut_down(self, uuid: str, *, by_agent: bool) -> None:
        """Ask the guest to end: through its agent, or by the power button."""
        flag = 2 if by_agent else 1  # VIR_DOMAIN_SHUTDOWN_GUEST_AGENT, _ACPI_POWER_BTN
        self._write("shut a domain down", lambda lv, conn: conn.lookupByUUIDString(uuid).shutdownFlags(flag))

    def destroy(self, uuid: str) -> None:
        """Pull the plug; one that is off is done."""

        def work(lv: Any, conn: Any) -> None:
            one = _by_uuid(lv, conn, uuid)
            if one is not None and one.isActive():
                try:
                    one.destroy()
                except lv.libvirtError as fault:
                    if fault.get_error_code() not in (Fault.OPERATION_INVALID, Fault.NO_DOMAIN):
                        raise

        self._write("end a domain", work, START_SECONDS)

    def undefine(self, uuid: str) -> None:
        """Remove a definition with its NVRAM and snapshot records; one that isn't there is done."""

        def work(lv: Any, conn: Any) -> None:
            one = _by_uuid(lv, conn, uuid)
            if one is not None:
                # MANAGED_SAVE | SNAPSHOTS_METADATA | NVRAM | CHECKPOINTS_METADATA
                one.undefineFlags(1 | 2 | 4 | 16)

        self._write("undefine a domain", work)

    def set_mark(self, uuid: str, xml: str) -> None:
        """Replace our metadata element, stored and live."""

        def work(lv: Any, conn: Any) -> None:
            one = conn.lookupByUUIDString(uuid)
            flags = 2 | (1 if one.isActive() else 0)  # AFFECT_CONFIG, AFFECT_LIVE
            one.setMetadata(2, xml, _KEY, NAMESPACE, flags)

        self._write("write a domain's metadata", work)

    def take_disk(self, uuid: str, device_xml: str) -> None:
        """Remove a disk from a stored definition."""
        self._write("detach a disk", lambda lv, conn: conn.lookupByUUIDString(uuid).detachDeviceFlags(device_xml, 2))

    def resize(self, uuid: str, target: str, size_bytes: int) -> None:
        """Grow a disk of a running domain."""
        self._write("grow a disk", lambda lv, conn: conn.lookupByUUIDString(uuid).blockResize(target, size_bytes, 1))

    def addresses(self, uuid: str, *, by_agent: bool = False) -> Mapping[str, tuple[str, ...]]:
        """Hardware address to IP addresses: from the network's leases, or as the guest's agent says."""

        def look(lv: Any, conn: Any) -> Mapping[str, tuple[str, ...]]:
            try:
                one = conn.lookupByUUIDString(uuid)
                if by_agent and one.isActive():
                    one.agentSetResponseTimeout(_AGENT_SECONDS, 0)  # else an agent that never answers is waited for without end
                found = one.interfaceAddresses(1 if by_agent else 0, 0)
            except lv.libvirtError:
                return {}  # off, or nobody answers: no address yet
            rows = [one for one in (found or {}).values() if one.get("hwaddr")]
            return {str(one["hwaddr"]): tuple(str(address["addr"]) for address in one.get("addrs") or ()) for one in rows}

        return self._read("look for an address", look)

    def ask_agent(self, uuid: str, command: str, **arguments: Any) -> Any:
        """One command of the QEMU guest agent; LibvirtError where it doesn't answer."""

        def work(lv: Any, conn: Any) -> Any:
            import libvirt_qemu  # type: ignore[import-untyped,import-not-found,unused-ignore]

            text = json.dumps({"execute": command, **({"arguments": arguments} if arguments else {})})
            return json.loads(libvirt_qemu.qemuAgentCommand(conn.lookupByUUIDString(uuid), text, _AGENT_SECONDS, 0))["return"]

        return self._write("ask the guest's agent", work)

    def is_network_active(self, name: str) -> bool | None:
        """Whether a network runs; None where there is none of this name."""

        def look(lv: Any, conn: Any) -> bool | None:
            return next((bool(one.isActive()) for one in conn.listAllNetworks(0) if one.name() == name), None)

        return self._read("look at a network", look)

    def capabilities(self) -> str:
        """The host's capabilities as XML."""
        return self._read("read the host's capabilities", lambda lv, conn: str(conn.getCapabilities()))

    def look_at_itself(self) -> tuple[str, float]:
        """The host's capabilities, and how many seconds a look at the hypervisor's own took."""

        def look(lv: Any, conn: Any) -> tuple[str, float]:
            began = time.monotonic()
            conn.getDomainCapabilities(None, None, "q35", "qemu", 0)
            return str(conn.getCapabilities()), time.monotonic() - began

        return self._read("look at the hypervisor", look, START_SECONDS)

    def version(self) -> int:
        """libvirt's version on the host, as 9000000."""
        return self._read("ask for the version", lambda lv, conn: int(conn.getLibVersion()))

    def memory_bytes(self) -> int:
        """The host's memory."""

        def look(lv: Any, conn: Any) -> int:
            return int(conn.getMemoryStats(-1, 0)["total"]) * 1024  # getInfo() knows only what was brought online so far

        return self._read("ask for the host's memory", look)

    def cpus(self) -> int:
        """The host's processors."""
        return self._read("ask for the host's processors", lambda lv, conn: int(conn.getInfo()[2]))

    def pci_devices(self) -> tuple[str, ...]:
        """XML of every PCI device."""
        return self._read("list devices", lambda lv, conn: tuple(str(one.XMLDesc(0)) for one in conn.listAllDevices(2)))

    def definitions(self) -> tuple[tuple[str, bool], ...]:
        """Each domain's XML, live where it runs, and whether it does."""

        def look(lv: Any, conn: Any) -> tuple[tuple[str, bool], ...]:
            found = []
            for one in conn.listAllDomains(0):
                try:
                    is_active = bool(one.isActive())
                    found.append((str(one.XMLDesc(0 if is_active else 2)), is_active))
                except lv.libvirtError as fault:
                    if fault.get_error_code() != Fault.NO_DOMAIN:
                        raise
            return tuple(found)

        return self._read("read definitions", look)

    def free_memory(self, cells: int) -> Mapping[int, int]:
        """Bytes free a NUMA cell."""
        return self._read(
            "ask for free memory", lambda lv, conn: dict(enumerate(map(int, conn.getCellsFreeMemory(0, cells)))) if cells else {}
        )

    def free_pages(self, sizes_kib: tuple[int, ...], cells: int) -> Mapping[int, Mapping[int, int]]:
        """Free pages by cell and page size in bytes."""

        def look(lv: Any, conn: Any) -> Mapping[int, Mapping[int, int]]:
            if not sizes_kib or not cells:
                return {}
            found = conn.getFreePages(list(sizes_kib), 0, cells, 0)
            return {int(cell): {int(size) * 1024: int(count) for size, count in pages.items()} for cell, pages in found.items()}

        return self._read("ask for free pages", look)

    def _read(self, what: str, work: Callable[[Any, Any], T], limit_seconds: float | None = None) -> T:
        """A call that changes nothing; made once more on a fresh connection where the old one had broken."""
        limit = limit_seconds or self._limit_seconds
        try:
            return self._within(what, work, limit)
        except LibvirtError as fault:
            if fault.code not in _BROKEN:
                raise
        try:
            return self._within(what, work, limit)
        except LibvirtError as fault:
            if fault.code in _BROKEN:
                raise HostError(f"{self.uri}: {fault}") from fault
            raise

    def _write(self, what: str, work: Callable[[Any, Any], T], limit_seconds: float | None = None) -> T:
        """A call that changes something; where its connection broke nobody can say whether it happened."""
        self._read("connect", lambda lv, conn: conn.isAlive())
        try:
            return self._within(what, work, limit_seconds or self._limit_seconds)
        except LibvirtError as fault:
            if fault.code in _BROKEN and self._open is None:
                raise HostError(f"{self.uri}: could not {what}: {fault}") from fault
            raise

    def _within(self, what: str, work: Callable[[Any, Any], T], limit_seconds: float) -> T:
        answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        given_up = threading.Event()

        def run() -> None:
            try:
                lv, conn = self._connected()
                if not given_up.is_set():  # a connection that came too late is used for nothing: its caller has said so
                    answers.put((True, work(lv, conn)))
            except BaseException as fault:
                answers.put((False, fault))

        threading.Thread(target=run, name=f"libvirt: {what}", daemon=True).start()
        try:
            is_done, answer = answers.get(timeout=limit_seconds)
        except queue.Empty:
            given_up.set()
            with self._lock:
                self._open, self._opening = None, threading.Lock()
            raise TimeLimitError(f"{self.uri}: could not {what} within {limit_seconds:g} s") from None
        if is_done:
            return answer  # type: ignore[no-any-return]
        raise self._translated(answer)

    def _connected(self) -> tuple[Any, Any]:
        import libvirt  # type: ignore[import-untyped,import-not-found,unused-ignore]

        with self._lock:
            opening = self._opening
        with opening:
            if (known := self._alive()) is not None:
                return libvirt, known
            libvirt.registerErrorHandler(lambda context, fault: None, None)  # else each error is printed too
            if self._before_opening is not None:
                self._before_opening()
            made = libvirt.open(self.uri)
            with self._lock:
                if self._opening is opening:  # else nobody waits for it any more
                    self._open = made
            return libvirt, made

    def _alive(self) -> Any:
        """The connection, None where there is none or it has broken."""
        with self._lock:
            if self._open is not None and not self._open.isAlive():
                self._open = None
            return self._open

    def _translated(self, fault: BaseException) -> BaseException:
        code = getattr(fault, "get_error_code", None)
        if code is None:
            return fault
        number = int(code())
        if number in _BROKEN:
            self._alive()  # a system error on a live connection is an answer of the host
        return LibvirtError(number, str(fault))


def _by_uuid(lv: Any, conn: Any, uuid: str) -> Any:
    try:
        return conn.lookupByUUIDString(uuid)
    except lv.libvirtError as fault:
        if fault.get_error_code() == Fault.NO_DOMAIN:
            return None
        raise


def _seen(lv: Any, one: Any) -> Domain | None:
    try:
        state, reason = one.state()
        power = _POWERS.get(state, Power.OFF)
        words = _OFF_REASONS if power is Power.OFF else _PAUSED_REASONS if power is Power.PAUSED else {}
        return Domain(
            uuid=one.UUIDString(),
            name=one.name(),
            power=power,
            reason=words.get(reason, ""),
            mark=_mark(lv, one),
            is_persistent=bool(one.isPersistent()),
        )
    except lv.libvirtError as fault:
        if fault.get_error_code() == Fault.NO_DOMAIN:
            return None  # it went while we looked
        raise


def _mark(lv: Any, one: Any) -> str:
    try:
        return str(one.metadata(2, NAMESPACE, 0))
    except lv.libvirtError as fault:
        if fault.get_error_code() == Fault.NO_DOMAIN_METADATA:
            return ""
        raise
