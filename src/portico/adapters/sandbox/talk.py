"""The short conversation with a launcher: what it made, the word to go on, how it went."""

import asyncio
import os
import select
import signal
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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


class Talk:
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
