"""What is put outside of a sandbox before it is tried: files, sockets, a process, a key."""

import asyncio
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from portico.adapters.sandbox.probes.runtime import CANARY, Marks
from portico.adapters.sandbox.sandbox_process import to_its_end
from portico.sandbox.core.profile import Limits

_ASLEEP: Final = """
import select
print(flush=True)
until_nobody_reads = select.poll()
until_nobody_reads.register(1, 0)
until_nobody_reads.poll()
"""
"""Until it is killed; or until whoever started it is, and cannot do that any more."""
_CREATE: Final = 0o1000
_REMOVE: Final = 0


@contextmanager
def asleep(
    folder: Path, variable: str, python: str, account: tuple[int, int] | None
) -> Iterator[int]:
    """In `folder`, with its `secret` open and the key in its environment."""
    user, group = account or (None, None)
    with (
        (folder / "secret").open("rb") as secret,
        subprocess.Popen(  # noqa: S603 # ours
            [python, "-I", "-S", "-c", _ASLEEP, CANARY],
            cwd=folder,
            env={variable: CANARY},
            stdin=secret,
            stdout=subprocess.PIPE,
            pass_fds=[secret.fileno()],
            user=user,
            group=group,
            extra_groups=None if account is None else [],
        ) as process,
    ):
        try:
            assert process.stdout is not None  # noqa: S101 # for the types
            process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def started(process: int) -> str:
    """When, in the kernel's words."""
    text = Path(f"/proc/{process}/stat").read_bytes()
    return text.rsplit(b")", 1)[1].split()[19].decode()


def with_word(word: str) -> list[int]:
    """Processes that were started with it among their arguments."""
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and word.encode() in _arguments(folder)
    ]


def _arguments(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def in_our_environment(variable: str) -> Iterator[None]:
    os.environ[variable] = CANARY
    try:
        yield
    finally:
        del os.environ[variable]


@contextmanager
def segment(key: int) -> Iterator[None]:
    """Shared memory that anybody on the machine may read, where there is such a thing."""
    library = ctypes.CDLL(None, use_errno=True)
    library.shmat.restype = ctypes.c_void_p
    number = library.shmget(key, 4096, _CREATE | 0o666)
    address = library.shmat(number, None, 0) if number >= 0 else None
    if address not in (None, ctypes.c_void_p(-1).value):
        ctypes.memmove(address, CANARY.encode(), len(CANARY))
        library.shmdt(ctypes.c_void_p(address))
    try:
        yield
    finally:
        library.shmctl(number, _REMOVE, None)


@contextmanager
def queue(name: str) -> Iterator[None]:
    """A queue of messages that anybody on the machine may read, where there is such a thing."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mq_open"):  # a C library of before 2021 has it elsewhere
        yield
        return
    # flags, messages, their size, how many there are, and what is reserved: the smallest there
    # can be, since an account has room for ten of the usual size, and one that was killed stays.
    smallest = (ctypes.c_long * 8)(0, 1, 1)
    opened = library.mq_open(f"/{name}".encode(), os.O_CREAT | os.O_RDWR, 0o666, smallest)
    if opened >= 0:
        os.fchmod(opened, 0o666)
        os.close(opened)
    try:
        yield
    finally:
        library.mq_unlink(f"/{name}".encode())


# Sockets of every kind that say who they are to whoever connects, and should not be asked.

_HELLO: Final = f"{CANARY}\n".encode()
_NOBODY: Final = 1
"""A port where nothing listens, for machines without IPv6."""


@dataclass(frozen=True, slots=True)
class Ports:
    tcp: int
    tcp6: int
    udp: int


async def listening(open_ones: AsyncExitStack, *, abstract: str, paths: list[Path]) -> Ports:
    for path in paths:
        await _serve(open_ones, _bound_by_path(path))
    await _serve(open_ones, _bound(socket.AF_UNIX, f"\0{abstract}"))
    udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(_Greeting, ("127.0.0.1", 0))
    open_ones.callback(udp.close)
    tcp = await _serve(open_ones, _bound(socket.AF_INET, ("0.0.0.0", 0)))  # noqa: S104 # a bait
    tcp6 = _NOBODY
    with suppress(OSError):
        tcp6 = await _serve(open_ones, _bound(socket.AF_INET6, ("::1", 0)))
    return Ports(tcp, tcp6, udp.get_extra_info("sockname")[1])


def own_address() -> str:
    """That other machines know this one by; loopback if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looking:
        try:
            looking.connect(("198.51.100.1", 443))
        except OSError:
            return "127.0.0.1"
        address: str = looking.getsockname()[0]
        return address


def name_server() -> str:
    with suppress(OSError):
        text = Path("/etc/resolv.conf").read_text(encoding="utf-8")
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["nameserver"] and "." in words[-1]:
                return words[-1]
    return "198.51.100.1"


class _Greeting(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:  # noqa: ARG002 # as asyncio names it
        self._transport.sendto(_HELLO, addr)


async def _serve(open_ones: AsyncExitStack, bound: socket.socket) -> int:
    name = bound.getsockname()
    await open_ones.enter_async_context(await asyncio.start_server(_greet, sock=bound))
    return name[1] if isinstance(name, tuple) else _NOBODY


async def _greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.write(_HELLO)
        await writer.drain()
    writer.close()


def _bound(family: int, address: str | tuple[str, int]) -> socket.socket:
    made = socket.socket(family)
    try:
        made.bind(address)
        made.listen(16)
    except OSError:
        made.close()
        raise
    return made


def _bound_by_path(path: Path) -> socket.socket:
    """By way of its folder's descriptor: the path itself may be longer than an address may be."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        bound = _bound(socket.AF_UNIX, f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    path.chmod(0o777)
    return bound


# What is put outside of a box before it is tried: files, sockets, a process, a key.
#
# All of it is as open as it can be, and belongs to the account that the box runs things as: if it
# is not reached it is the box that held, and not what a file says of who may read it.

_CANARIES_HELLO: Final = f"{CANARY}: nobody in a box should read this.\n".encode()
_CHANGEABLE: Final = ("secret", "movable", "removable", "writable")
_DONE_BY: Final = {
    "left-by-path": "write_by_path",
    "left-by-dots": "write_by_dots",
    "left-by-link": "write_by_planted_link",
    "movable": "read_by_moving",
    "removable": "remove_outside",
    "writable": "overwrite_outside",
}
_SHARED: Final = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108 # where all look
_SOCKETS: Final = ("given/socket", "outside/socket", "data/postgres/.s.PGSQL.5432")


@dataclass(frozen=True, slots=True)
class Canaries:
    marks: Marks

    @property
    def workspace(self) -> Path:
        return Path(self.marks.workspace)

    def end_strays(self) -> int:
        """Processes that an attempt has left behind: how many there were."""
        found = with_word(self.marks.variable)
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return len(found)

    def harm(self) -> Sequence[str]:
        """The attempts that did something to what is outside, by the look of it from here."""
        outside = Path(self.marks.outside)
        return [
            attempt
            for name, attempt in _DONE_BY.items()
            if (outside / name).exists() is name.startswith("left-")
            or (name in _CHANGEABLE and not _as_it_was(outside / name))
        ]


@asynccontextmanager
async def canaries(
    folder: Path, limits: Limits, *, python: str, account: tuple[int, int] | None = None
) -> AsyncIterator[Canaries]:
    """In `folder`, for as long as it lasts. `account` is whom the box runs things as, should that
    not be ourselves."""
    variable = f"PORTICO_CANARY_{secrets.token_hex(4)}"
    key = 1 + secrets.randbelow(0x7FFF_FFFE)
    place = folder / f"canary-{secrets.token_hex(3)}"
    async with AsyncExitStack() as open_ones:
        open_ones.push_async_callback(asyncio.to_thread, shutil.rmtree, place, ignore_errors=True)
        await asyncio.to_thread(_put_files, place)
        paths = [place / each for each in _SOCKETS]
        ports = await listening(open_ones, abstract=variable, paths=paths)
        if account is not None:
            await asyncio.to_thread(_give, place, account)
        outside = place / "outside"
        sleeper = asleep(outside, variable, python, account)
        # Also if we are cancelled meanwhile: nobody would end what it then has started.
        process: int = await to_its_end(asyncio.to_thread(lambda: open_ones.enter_context(sleeper)))
        for each in (in_our_environment(variable), segment(key), queue(variable)):
            open_ones.enter_context(each)
        yield Canaries(
            Marks(
                workspace=str(place / "workspace"),
                given=str(place / "given"),
                outside=str(outside),
                data=str(place / "data"),
                home=str(Path.home()),
                home_names=_home_names(python),
                variable=variable,
                process=process,
                process_started=started(process),
                tcp=ports.tcp,
                tcp6=ports.tcp6,
                udp=ports.udp,
                own_address=own_address(),
                names=name_server(),
                abstract=variable,
                memory_key=key,
                queue=variable,
                temporary=[open_ones.enter_context(_file(each, variable)) for each in _SHARED],
                devices=_devices(),
                processes=limits.processes,
                memory=limits.memory,
                file_size=limits.file_size,
                open_files=limits.open_files,
                scratch=limits.scratch,
            )
        )


def _put_files(place: Path) -> None:
    workspace, outside, data = (place / name for name in ("workspace", "outside", "data"))
    for each in (
        workspace,
        place / "given",
        outside / ".ssh",
        data / "postgres",
        data / "servers" / "another",
    ):
        each.mkdir(parents=True)
    for path in (
        *(outside / name for name in _CHANGEABLE),
        place / "given" / "file",
        outside / ".ssh" / "id_ed25519",
        data / "key",
        data / "postgres" / "password",
        data / "servers" / "another" / "token",
    ):
        path.write_bytes(_CANARIES_HELLO)
    (outside / "program").write_text(f"#!/bin/sh\necho {CANARY}\n", encoding="utf-8")
    for each in (place, *place.rglob("*")):
        each.chmod(0o777)
    (workspace / "planted").symlink_to(outside / "secret")
    (workspace / "planted-folder").symlink_to(outside)


def _give(place: Path, account: tuple[int, int]) -> None:
    """And a program that would make root of anybody, for a box must not let it."""
    for each in (place, *place.rglob("*")):
        os.chown(each, *account, follow_symlinks=False)
    who_am_i = shutil.which("id")
    if who_am_i is not None:
        planted = place / "workspace" / "planted-setuid"
        shutil.copyfile(who_am_i, planted)
        planted.chmod(0o4755)


@contextmanager
def _file(folder: Path, name: str) -> Iterator[str]:
    path = folder / name.lower()
    with suppress(OSError):
        path.write_bytes(_CANARIES_HELLO)
        path.chmod(0o666)
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


def _as_it_was(path: Path) -> bool:
    try:
        return path.read_bytes() == _CANARIES_HELLO and not path.stat().st_mtime < 2
    except OSError:
        return False


def _home_names(python: str) -> list[str]:
    """Without the one that leads to our Python, should it be in there: that is shown inside."""
    try:
        return [path.name for path in Path.home().iterdir() if f"/{path.name}/" not in python]
    except OSError:
        return []


def _devices() -> list[str]:
    lines = Path("/proc/partitions").read_text(encoding="ascii").splitlines()[2:]
    return [f"/dev/{line.split()[3]}" for line in lines]
