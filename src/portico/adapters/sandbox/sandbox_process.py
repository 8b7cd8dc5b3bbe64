"""One sandbox around one process, from its first descriptor to its end."""

import asyncio
import ipaddress
import itertools
import os
import re
import select
import signal
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from portico.adapters.egress.proxy import Egress
from portico.adapters.sandbox.cgroup import Group
from portico.adapters.sandbox.inside.process_reaper import descendants
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.profile import Network, NetworkEndpoint, Profile


class Descriptors:
    """All that one box needs; closed once, whatever happens."""

    def __init__(self) -> None:
        self._open: list[int] = []

    @property
    def numbers(self) -> Sequence[int]:
        return tuple(self._open)

    def keep(self, descriptor: int) -> int:
        self._open.append(descriptor)
        return descriptor

    def file(self, name: str, content: bytes) -> int:
        """A file without a path, to be read from its beginning."""
        descriptor = self.keep(os.memfd_create(name))
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def close(self) -> None:
        while self._open:
            with suppress(OSError):
                os.close(self._open.pop())


# The short conversation with a launcher: what it made, the word to go on, how it went.

_MOST: Final = 4096
MOST_LISTENERS: Final = 64
_CREDENTIALS: Final = struct.Struct("3i")
_HERE: Final = b"here"
_GO: Final = b"go"


class NotReady(Exception):
    """It ended, saying why if it could."""


@dataclass(frozen=True, slots=True)
class Hello:
    process: int
    """Of the keeper, as it is numbered out here."""
    listeners: Sequence[socket.socket]


class LauncherChannel:
    """Our end of the socket."""

    def __init__(self) -> None:
        self._socket, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(0)

    def theirs(self) -> int:
        """The descriptor of the other end, which is not ours any more."""
        return self._theirs.detach()

    async def hello(self) -> Hello:
        """Raises `NotReady`."""
        await self._readable()
        room = socket.CMSG_SPACE(4 * MOST_LISTENERS) + socket.CMSG_SPACE(_CREDENTIALS.size)
        said, extras, _, _ = self._socket.recvmsg(_MOST, room, socket.MSG_CMSG_CLOEXEC)
        process, listeners = 0, []
        for level, kind, content in extras:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers = struct.unpack(f"{len(content) // 4}i", content)
                listeners = [socket.socket(fileno=number) for number in numbers]
            elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                process = _CREDENTIALS.unpack(content)[0]
        if said != _HERE or not process:
            raise NotReady(said.decode(errors="replace") or "the box could not be set up")
        return Hello(process, listeners)

    async def go(self) -> str | None:
        """Tells it to; gives back why it could not."""
        try:
            self._socket.send(_GO)
        except OSError:
            return "it ended before it was told to go on"
        await self._readable()
        return self._socket.recv(_MOST).decode(errors="replace") or None

    def hang_up(self) -> None:
        """Whoever waits for a word from us gets none, and ends."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()
        self._theirs.close()

    async def _readable(self) -> None:
        await readable(self._socket.fileno())


async def readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


class Lifeline:
    """As long as it is open somebody outside wants the box; by it the keeper says how it ended."""

    def __init__(self) -> None:
        self._socket, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(0)
        self._name = f"socket:[{os.fstat(self._theirs.fileno()).st_ino}]"

    def theirs(self) -> int:
        return self._theirs.detach()

    @property
    def is_held(self) -> bool:
        """Whether somebody still has the other end."""
        poll = select.poll()
        poll.register(self._socket, 0)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))

    def end_holders(self) -> None:
        """Whoever has the other end. A bubblewrap that is killed at its very beginning leaves one
        of its own behind, who waits for it for ever."""
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid() and self._by(process):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(process.name), signal.SIGKILL)

    def _by(self, process: Path) -> bool:
        with suppress(OSError):
            return any(os.readlink(each) == self._name for each in (process / "fd").iterdir())  # noqa: PTH115 # what it is a link to is no path
        return False

    def status(self) -> int | None:
        """The exit code of what was run, or the negative number of the signal that ended it."""
        with suppress(OSError, ValueError):
            return os.waitstatus_to_exitcode(int(self._socket.recv(64)))
        return None

    def let_go(self) -> None:
        """The keeper ends everything."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()
        self._theirs.close()


# The lines between Portico and a launcher, strung before it is started.


class Rig:
    """`undo` is what takes it down again if nothing comes of it."""

    def __init__(self, task: bytes, undo: ExitStack) -> None:
        self.descriptors = Descriptors()
        undo.callback(self.close)
        self.talk = LauncherChannel()
        self.lifeline = Lifeline()
        self.numbers = (
            self.descriptors.keep(self.talk.theirs()),
            self.descriptors.keep(self.lifeline.theirs()),
            self.descriptors.file("task", task),
        )
        """What the launcher is told to look at."""

    def close(self) -> None:
        self.descriptors.close()
        self.talk.close()
        self.lifeline.close()


_LOOK: Final = 0.25
_LOOK_SELDOM: Final = 0.5
"""While it has less than a quarter of what it may have. Not more seldom: a program can fill
gigabytes in a second."""
_FAR: Final = 4
_SHORT: Final = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
_EXACT: Final = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


async def watch(keeper: int, most: int, exceeded: Callable[[], None]) -> None:
    """Until it is more than it may be, or we are cancelled."""
    while (has := await asyncio.to_thread(held, keeper, most)) <= most:  # noqa: ASYNC110 # memory is not announced, it is looked at
        await asyncio.sleep(_LOOK if has * _FAR > most else _LOOK_SELDOM)
    exceeded()


def held(keeper: int, most: int) -> int:
    """Bytes. What is shared by several is counted for each of them at first, because that is
    cheap; exactly only if it would be more than `most`."""
    processes = family(keeper)
    has = _sum(processes, "status", _SHORT)
    return has if has <= most else _sum(processes, "smaps_rollup", _EXACT)


def family(keeper: int) -> set[int]:
    """All that came of it: asked from parent to child, since the whole of /proc is long, and read
    for each box. A kernel that does not name children has it read all the same."""
    if not Path(f"/proc/{keeper}/task/{keeper}/children").exists():
        return descendants(keeper)
    found: set[int] = set()
    waiting = [keeper]
    while waiting:
        new = _children(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def _children(process: int) -> set[int]:
    """Of each of its threads; none if it has ended meanwhile."""
    found: set[int] = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            found.update(map(int, (thread / "children").read_bytes().split()))
    return found


def _sum(processes: Iterable[int], file: str, line: re.Pattern[bytes]) -> int:
    total = 0
    for process in processes:
        with suppress(OSError):
            text = Path(f"/proc/{process}/{file}").read_bytes()
            total += sum(map(int, line.findall(text))) * 1024
    return total


_LOOPBACK: Final = "127.0.0.1"
_USUAL: Final = 3128
_FIRST_FREE: Final = 1024
"""Ports below are for root."""
_OF_THIS_MACHINE: Final = "localhost"


@dataclass(frozen=True, slots=True)
class Opening:
    host: str
    port: int
    to: NetworkEndpoint | None
    """None for the proxy."""


def is_online(profile: Profile) -> bool:
    return profile.network is not Network.NONE or bool(profile.reach)


def openings(profile: Profile, *, low_ports: bool = True) -> tuple[Opening, ...]:
    """The proxy first. Where nothing can listen in there, a place is reached by the proxy alone:
    on an address that is another machine's, and, unless it is root who asks, on a low port. Of
    two names for one address the first is taken. Raises `InvalidProfile` if they are too many."""
    if not is_online(profile):
        return ()
    hosts = addresses(profile.reach)
    straight: dict[tuple[str, int], Opening] = {}
    for place in profile.reach:
        if place.host in hosts and (low_ports or place.port >= _FIRST_FREE):
            host = hosts[place.host]
            straight.setdefault((host, place.port), Opening(host, place.port, place))
    if len(straight) >= MOST_LISTENERS:
        raise InvalidProfile(f"it names more than {MOST_LISTENERS - 1} places")
    taken = {port for _, port in straight}
    proxy = next(port for port in range(_USUAL, _USUAL + len(taken) + 1) if port not in taken)
    return (Opening(_LOOPBACK, proxy, None), *straight.values())


def addresses(reach: Sequence[NetworkEndpoint]) -> Mapping[str, str]:
    """Where each host is found in there."""
    named = dict.fromkeys(place.host for place in reach)
    known = {host: _address(host) for host in named}
    found = {host: str(each) for host, each in known.items() if each and each.is_loopback}
    taken = set(found.values())
    free = (each for n in itertools.count() if (each := _numbered(n)) not in taken)
    for host in named:
        if host == _OF_THIS_MACHINE:
            found[host] = _LOOPBACK
        elif known[host] is None:
            found[host] = next(free)
    return found


def _numbered(number: int) -> str:
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


def hosts_file(reach: Sequence[NetworkEndpoint], machine: str) -> str:
    lines = [f"{_LOOPBACK} {_OF_THIS_MACHINE} {machine}"]
    lines += [
        f"{address} {name}"
        for name, address in addresses(reach).items()
        if name != _OF_THIS_MACHINE and _address(name) is None
    ]
    return "\n".join(lines) + "\n"


def told(port: int, *, token: str | None = None, direct: bool = True) -> Mapping[str, str]:
    """The variables by which programs find the proxy; without `direct` for all that they reach."""
    user = "" if token is None else f"portico:{token}@"
    proxy = f"http://{user}{_LOOPBACK}:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    never = f"{_OF_THIS_MACHINE},{_LOOPBACK},::1" if direct else ""
    return {
        **dict.fromkeys([*names, *map(str.lower, names)], proxy),
        "NO_PROXY": never,
        "no_proxy": never,
        "NODE_USE_ENV_PROXY": "1",
    }


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


_TO_BEGIN: Final = 60.0
"""Seconds until a launcher must have said something; a machine may be very busy."""
_TO_END: Final = 10.0
_CELL_LOOK: Final = 0.02
_LOOKS: Final = 200
_LOOKS_IN_PEACE: Final = 25
"""Before those that still hold our lines are ended with force."""

_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class OpenSandboxProcess:
    """Implements `Cell`."""

    command: Sequence[str]
    environment: Mapping[str, str]
    rig: Rig
    openings: Sequence[Opening]
    """What the launcher's listeners are for, in their order."""
    egress: Egress | None
    here: socket.socket | None = None
    """Where the proxy listens, if that is out here."""
    group: Group | None
    namespaces: bool
    most_memory: int
    """Bytes, which are watched from here if the kernel does not."""
    clean_up: Callable[[], None] | None = None
    """What is to be done when all is over."""
    keeper: int | None = None
    """Its process number out here, once it was started."""
    too_large: bool = False
    """Whether it was ended for the memory that it had."""
    _outer: int | None = None
    _watching: asyncio.Task[None] | None = None
    _watched: dict[int, int] = field(default_factory=dict)
    """Descriptors of processes, by their numbers."""

    @property
    def descriptors(self) -> Sequence[int]:
        return self.rig.descriptors.numbers

    @property
    def refused(self) -> Sequence[str]:
        return () if self.egress is None else self.egress.could_be_let

    async def started(self, process: int) -> None:
        """Raises `SandboxUnavailable`."""
        self.rig.descriptors.close()
        self._outer = process
        self._watch(process)
        try:
            async with asyncio.timeout(_TO_BEGIN):
                await self._set_up(await self.rig.talk.hello())
                reason = await self.rig.talk.go()
        except TimeoutError as error:
            reason = f"the box was not ready after {_TO_BEGIN:g} s"
            raise SandboxUnavailable(reason, fix="The machine is very busy: try again.") from error
        except NotReady as error:
            raise SandboxUnavailable(str(error)) from error
        if reason is not None:
            raise SandboxUnavailable(reason)
        if self.group is None and self.keeper is not None:
            watching = watch(self.keeper, self.most_memory, self._exceeded)
            self._watching = asyncio.create_task(watching)

    def _exceeded(self) -> None:
        self.too_large = True
        self.kill()

    async def _set_up(self, hello: Hello) -> None:
        self.keeper = hello.process
        self._watch(hello.process)
        if self.group is not None:
            await asyncio.to_thread(self.group.add, hello.process)
        if self.egress is not None and self.here is not None:
            await self.egress.serve(self.here)
        for listener, opening in zip(hello.listeners, self.openings, strict=True):
            if self.egress is not None:
                await self.egress.serve(listener, to=opening.to)

    def _watch(self, process: int) -> None:
        with suppress(ProcessLookupError):
            self._watched[process] = os.pidfd_open(process)

    async def ran_out(self) -> bool:
        """Whether it had, or wanted, more memory than it may have."""
        if self.group is None:
            return self.too_large
        return await asyncio.to_thread(self.group.ran_out)

    def status(self) -> int | None:
        """How what was run has ended, if its keeper could still say so."""
        return self.rig.lifeline.status()

    def kill(self) -> None:
        """All of it, at once; however far it has come."""
        self.rig.talk.hang_up()
        self.rig.lifeline.let_go()
        if self.namespaces and self.keeper is not None:
            self._send(self.keeper)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        self.kill()
        self.rig.descriptors.close()
        try:
            await self._gone(_TO_END)
            await self._swept()
        finally:
            await self._forget()

    async def _swept(self) -> None:
        """Whoever was started and said nothing has our lines all the same."""
        for turn in range(_LOOKS):
            if not self.rig.lifeline.is_held:
                return
            if turn >= _LOOKS_IN_PEACE:
                await asyncio.to_thread(self.rig.lifeline.end_holders)
            await asyncio.sleep(_CELL_LOOK)

    async def _gone(self, seconds: float) -> None:
        """The keeper is the last one inside; who was started goes after it."""
        for process in (self.keeper, self._outer):
            if process in self._watched and not await _ended(self._watched[process], seconds):
                self._send(process)
                await _ended(self._watched[process], seconds)

    def _send(self, process: int) -> None:
        with suppress(KeyError, ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._watched[process], signal.SIGKILL)

    async def _forget(self) -> None:
        self.rig.close()
        for descriptor in self._watched.values():
            os.close(descriptor)
        self._watched.clear()
        if self.egress is not None:
            await self.egress.close()
        if self.here is not None:
            self.here.close()
        if self.group is not None:
            await asyncio.to_thread(self.group.remove)
        if self.clean_up is not None:
            await asyncio.to_thread(self.clean_up)


async def _ended(watched: int, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await readable(watched)
            return True
    return False


@asynccontextmanager
async def opened(prepare: Callable[[], OpenSandboxProcess]) -> AsyncIterator[OpenSandboxProcess]:
    """Made in a thread, since it looks at many files. Who is cancelled meanwhile, however often,
    still waits for it, and for its end: nothing of it may be left."""
    making = asyncio.get_running_loop().run_in_executor(None, prepare)
    try:
        yield await asyncio.shield(making)
    finally:
        await to_its_end(_made_and_closed(making))


async def _made_and_closed(making: "asyncio.Future[OpenSandboxProcess]") -> None:
    await asyncio.wait([making])
    if making.exception() is None:
        await making.result().close()


async def to_its_end(work: Awaitable[_T]) -> _T:
    """Also if we are cancelled once more; who cancelled us is told so afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result
