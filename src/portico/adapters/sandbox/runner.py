"""Run something in a sandbox to its end or a limit, on what both kinds of sandbox share."""

import asyncio
import itertools
import marshal
import os
import platform
import pwd
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from portico.adapters.egress.dialer import Dialer
from portico.adapters.egress.proxy import Egress
from portico.adapters.sandbox import inside, sandbox_process
from portico.adapters.sandbox.cgroup import Group, Groups, is_left, name_for
from portico.adapters.sandbox.folders import Bounds, Grant, granted, home_of, is_below
from portico.adapters.sandbox.kernel_filters import Filter, Rules
from portico.adapters.sandbox.sandbox_process import Opening, OpenSandboxProcess, to_its_end
from portico.adapters.system.removing import remove_tree
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.profile import Limits, SandboxCommand
from portico.sandbox.core.requests import End, Outcome

# Whom things in a box run as: never root, where that can be helped.


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int
    switch: bool
    """Whether we are root, and it becomes somebody else."""

    def searches(self, folder: os.stat_result) -> bool:
        """Whether it gets through; of its groups it has its first one only."""
        if not self.switch:
            return True
        shift = 6 if folder.st_uid == self.uid else 3 if folder.st_gid == self.gid else 0
        return bool(folder.st_mode >> shift & 0o1)


def account_for(run_as: str) -> Account:
    """Raises `SandboxUnavailable`."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    try:
        other = pwd.getpwnam(run_as)
    except KeyError:
        raise SandboxUnavailable(
            f"there is no account {run_as!r} to run it as",
            fix=f"Make it, or name another one: useradd --system --no-create-home {run_as}; "
            "portico config set box.run_as NAME",
        ) from None
    if other.pw_uid == 0:
        raise SandboxUnavailable(
            f"the account {run_as!r} is root itself",
            fix="Name an unprivileged account: portico config set box.run_as NAME",
        )
    if not _is_mapped("uid", other.pw_uid) or not _is_mapped("gid", other.pw_gid):
        # Root of a namespace of one account, which outside of it is none.
        return Account(0, 0, switch=False)
    return Account(other.pw_uid, other.pw_gid, switch=True)


def _is_mapped(kind: str, number: int) -> bool:
    lines = Path(f"/proc/self/{kind}_map").read_text(encoding="ascii").splitlines()
    ranges = (tuple(map(int, line.split())) for line in lines)
    return any(first <= number < first + length for first, _, length in ranges)


_SYSTEM: Final = "/usr/bin/python3"
_TRIAL: Final = "import sys, ctypes, resource, socket, json; sys.exit(sys.version_info < (3, 11))"
_BEGIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); sys.dont_write_bytecode = True; "
    "from portico.adapters.sandbox.inside.launcher import main; main(*map(int, sys.argv[2:]))"
)
_MODULES: Final = "portico/adapters/sandbox/inside"
HERE: Final = str(Path(inside.__file__).parent)
LIBRARY: Final = str(Path(inside.__file__).parents[4])
LIBRARY_INSIDE: Final = "/run/portico"
MODULES_INSIDE: Final = f"{LIBRARY_INSIDE}/{_MODULES}"


@dataclass(frozen=True, slots=True)
class Interpreter:
    program: str
    folders: tuple[str, ...] = ()
    """What it needs beside the folders of the system."""

    def command(self, library: str, *descriptors: int) -> list[str]:
        return [self.program, "-I", "-S", "-c", _BEGIN, library, *map(str, descriptors)]


def own() -> Interpreter:
    """The one that we run in, without its environment."""
    base = Path(sys.base_prefix).resolve()
    program = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    return Interpreter(str(program), _outside_the_system(str(base), str(program.parent)))


@cache
def of_the_system() -> Interpreter:
    """The one that every box has anyway, if there is one; else our own."""
    trial = [_SYSTEM, "-I", "-S", "-c", _TRIAL]
    try:
        done = subprocess.run(trial, timeout=20, check=False, capture_output=True, env={})  # noqa: S603 # a fixed program
    except (OSError, subprocess.TimeoutExpired):
        return own()
    return Interpreter(_SYSTEM) if done.returncode == 0 else own()


def _outside_the_system(*folders: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(each for each in folders if not each.startswith(("/usr/", "/bin", "/lib")))
    )


def make(account: Account) -> Path:
    place = tempfile.gettempdir()
    sweep(place, account)
    folder = Path(place, name_for("home"))
    folder.mkdir(mode=0o700)
    home = folder / "home"
    home.mkdir(mode=0o700)
    if account.switch:
        for each in (home, folder):
            os.chown(each, account.uid, account.gid, follow_symlinks=False)
    return folder


@cache
def sweep(place: str, account: Account) -> None:
    """Once: of what is ours there, and of processes that were killed before they could do so."""
    ours = {os.geteuid(), account.uid}
    with suppress(OSError):
        left = [each for each in Path(place).iterdir() if is_left(each.name)]
        for each in left:
            if not each.is_symlink() and each.stat().st_uid in ours:
                remove_tree(each)


_FORMAT: Final = 2
"""One that each Python reads, whichever it is that runs the launcher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    order: SandboxCommand
    environment: dict[str, str]
    folder: str
    limits: Limits
    others: int
    """Processes that the account has besides; they count against its limit."""
    account: Account
    rules: Rules
    filter: Filter
    openings: tuple[Opening, ...] = ()

    def told(self) -> bytes:
        """Raises `SandboxUnavailable`."""
        words = {
            "guarded": not self.filter.namespaces,
            "listeners": [[each.host, each.port] for each in self.openings],
            "limits": self._limits,
            "account": [self.account.uid, self.account.gid] if self.account.switch else None,
            "landlock": self.rules.told(),
            "seccomp": self._program(),
            "folder": self.folder,
            "program": self.order.program,
            "command": [self.order.program, *self.order.arguments],
            "environment": self.environment,
        }
        return marshal.dumps(words, _FORMAT)

    @property
    def _limits(self) -> dict[str, int]:
        """Of memory the data alone: some programs reserve terabytes that they never touch."""
        return {
            "RLIMIT_DATA": self.limits.memory,
            "RLIMIT_NPROC": self.others + self.limits.processes,
            "RLIMIT_FSIZE": self.limits.file_size,
            "RLIMIT_NOFILE": self.limits.open_files,
            "RLIMIT_CORE": 1,  # at 0 a program outside, run as root, may still be given it
            "RLIMIT_MSGQUEUE": 0,
        }

    def _program(self) -> bytes:
        machine = platform.machine()
        try:
            return self.filter.program(machine)
        except KeyError:
            reason = f"we do not know the system calls of a {machine}"
            raise SandboxUnavailable(reason, fix="Use x86_64 or aarch64.") from None


_COUNTED: Final = itertools.count(1)
_FIRST_NAMESPACE: Final = 0xEFFF_FFFD
"""Of users: the kernel gives it this number on every machine."""
_PLENTY: Final = 1_000_000
_KEEPERS: Final = 3
"""Processes of ours in a box, which count as well."""
LAUNCHING: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
"""The environment of what is started out here, before there is a box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An order that can be met: what it names is there, and may be given."""

    order: SandboxCommand
    limits: Limits
    account: Account
    grants: Sequence[Grant]
    home: str | None
    """The real folder that becomes its home, if it is one."""

    @property
    def writable(self) -> Sequence[str]:
        own = [each.real for each in self.grants if each.writable]
        return own if self.home is None else [*own, self.home]


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    bounds: Bounds
    run_as: str
    dialer: Dialer
    groups: Groups | None

    def settle(self, order: SandboxCommand, limits: Limits) -> Settled:
        """Raises `InvalidProfile`, `SandboxUnavailable`."""
        check_order(order)
        return Settled(
            order=order,
            limits=limits,
            account=account_for(self.run_as),
            grants=granted(order, self.bounds),
            home=home_of(order, self.bounds),
        )

    def egress(self, order: SandboxCommand, *, token: str | None = None) -> Egress | None:
        profile = order.profile
        if not sandbox_process.is_online(profile):
            return None
        return Egress(profile.network, profile.reach, dialer=self.dialer, token=token)

    def group(self, limits: Limits) -> Group | None:
        """Raises `SandboxUnavailable`."""
        if self.groups is None:
            return None
        name = name_for(next(_COUNTED))
        processes = limits.processes + _KEEPERS
        try:
            return self.groups.make(name, memory=limits.memory, processes=processes)
        except OSError as error:
            reason = f"no control group could be made: {error.strerror}"
            raise SandboxUnavailable(reason) from error

    def others(self, account: Account, *, shared: bool) -> int:
        """How many processes its account may have besides those of the order. Where the kernel
        counts each box, it does not matter whose they are."""
        if not shared:
            return _KEEPERS
        return _PLENTY if self.groups is not None else _KEEPERS + processes_of(account.uid)

    def hand_over(self, settled: Settled) -> None:
        """Folders of ours, to the account that it will run as."""
        account = settled.account
        for path in settled.writable:
            if account.switch and self.bounds.is_lent(path):
                os.chown(path, account.uid, account.gid, follow_symlinks=False)


def check_order(order: SandboxCommand) -> None:
    """Raises `InvalidProfile`."""
    texts = (order.program, *order.arguments, *order.environment, *order.environment.values())
    if any("\0" in text for text in texts):
        raise InvalidProfile("a program's name, arguments and environment hold no NUL")
    if not order.program.startswith("/"):
        raise InvalidProfile(f"{order.program!r} is not the whole path of a program")


def folder_of(settled: Settled, home: str) -> str:
    """Where it begins, as it is seen inside, with its home at `home`. Raises `InvalidProfile`."""
    order = settled.order
    if order.folder is None:
        return home
    folder = os.path.normpath(order.folder)
    if order.home is not None and is_below(folder, order.home.rstrip("/")):
        return home + folder[len(order.home.rstrip("/")) :]
    seen = [path for each in settled.grants for path in (each.path, each.real)]
    if any(is_below(folder, path) for path in (*seen, home)):
        return folder
    raise InvalidProfile(f"it is to begin in {order.folder!r}, which it may not see")


def processes_of(uid: int) -> int:
    """Threads among them, as the kernel counts: in a namespace of users only those that are in
    it, of which we can see where they are."""
    own = Path("/proc/self/ns/user").stat().st_ino
    processes = [each for each in Path("/proc").iterdir() if each.name.isdigit()]
    if own != _FIRST_NAMESPACE:
        processes = [each for each in processes if _is_in(each, own)]
    return sum(_threads(each, uid) for each in processes)


def _is_in(process: Path, namespace: int) -> bool:
    try:
        return (process / "ns" / "user").stat().st_ino == namespace
    except OSError:
        return False


def _threads(process: Path, uid: int) -> int:
    try:
        if process.stat().st_uid != uid:
            return 0
        after_the_name = (process / "stat").read_bytes().rpartition(b")")[2]
        return int(after_the_name.split()[17])
    except OSError:
        return 0


def check_reach(path: str, account: Account) -> None:
    """Without files of its own it walks there as anybody does. Raises `InvalidProfile`."""
    for folder in Path(path).parents:
        found = folder.stat()
        if stat.S_ISDIR(found.st_mode) and not account.searches(found):
            raise InvalidProfile(
                f"{path!r} is in {str(folder)!r}, which the account that it runs as may not enter"
            )


_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_TO_BE_BURIED: Final = 10.0
_TO_COMPLAIN: Final = 1.0


async def run_in(
    lodging: AbstractAsyncContextManager[OpenSandboxProcess], limits: Limits, given: bytes
) -> Outcome:
    """Raises `SandboxUnavailable`, `InvalidProfile`."""
    began = time.monotonic()
    async with lodging as cell, _started(cell, limits) as listener:
        stopped = await _to_an_end(listener, limits, given)
        code = cell.status()
        if await cell.ran_out():
            stopped = End.TOO_LARGE
    by_itself = End.KILLED if code is None or code < 0 else End.EXITED
    return Outcome(
        end=stopped or by_itself,
        code=code,
        output=bytes(listener.heard[_STDOUT]),
        errors=bytes(listener.heard[_STDERR]),
        seconds=time.monotonic() - began,
    )


async def _to_an_end(listener: "_Listener", limits: Limits, given: bytes) -> End | None:
    listener.give(given)
    try:
        async with asyncio.timeout(limits.seconds):
            await listener.over.wait()
    except TimeoutError:
        return End.TOO_LONG
    return End.TOO_LOUD if listener.too_loud else None


@asynccontextmanager
async def _started(cell: OpenSandboxProcess, limits: Limits) -> "AsyncIterator[_Listener]":
    """However it is left, the process is ended and buried."""
    listener = _Listener(limits.output)
    # Cancelled in the middle of this, asyncio would kill what it cannot bury yet.
    making = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: listener,
            *cell.command,
            env=dict(cell.environment),
            pass_fds=cell.descriptors,
            start_new_session=True,
        )
    )
    try:
        transport, _ = await asyncio.shield(making)
        try:
            await cell.started(transport.get_pid())
        except SandboxUnavailable as error:
            last = await listener.last_words(_TO_COMPLAIN)
            raise SandboxUnavailable(f"{error.reason}{last}", fix=error.fix) from error
        yield listener
    finally:
        cell.kill()
        await to_its_end(_ended(making, listener))


async def _ended(
    making: "asyncio.Future[tuple[asyncio.SubprocessTransport, _Listener]]", listener: "_Listener"
) -> None:
    transport, _ = await making
    try:
        await listener.buried(_TO_BE_BURIED)
    finally:
        transport.close()  # which kills what is still there


class _Listener(asyncio.SubprocessProtocol):
    """Hears both streams and counts them together."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self._open = {_STDOUT, _STDERR}
        self._exited = asyncio.Event()
        self.heard = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self.too_loud = False
        self.over = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.SubprocessTransport):
            raise TypeError
        self._transport = transport

    def give(self, given: bytes) -> None:
        pipe = self._transport.get_pipe_transport(_STDIN)
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(given)
            pipe.close()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = data if self._left is None else data[: self._left]
        self.heard[fd] += kept
        if self._left is not None:
            self._left -= len(kept)
        if len(kept) < len(data):
            self.too_loud = True
            self.over.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 # a pipe is at its end either way
        self._open.discard(fd)
        self._look()

    def process_exited(self) -> None:
        self._exited.set()
        self._look()

    def _look(self) -> None:
        if self._exited.is_set() and not self._open:
            self.over.set()

    async def last_words(self, seconds: float) -> str:
        """What bubblewrap complained of, if it did: whatever else it is comes from inside."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.over.wait()
        lines = self.heard[_STDERR].decode(errors="replace").strip().splitlines()[-1:]
        return "".join(f": {line[:200]}" for line in lines if line.startswith("bwrap: "))

    async def buried(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
