"""Processes of servers: their environment, their standard error, and ending a whole process
group.
"""

import asyncio
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

import psutil

_HARMLESS: Final = frozenset(
    {
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "NODE_EXTRA_CA_CERTS",
        "PATH",
        "REQUESTS_CA_BUNDLE",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    }
)
"""Who and where one is, how one speaks, and whom this machine trusts. No proxies: their addresses
may hold passwords."""
OURS: Final = "PORTICO_"


def scrubbed(ours: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str]:
    """Of our own environment, what every server is given; `also` what an operator added to that."""
    wanted = _HARMLESS | set(also)
    return {
        name: value
        for name, value in ours.items()
        if (name in wanted or name.startswith("LC_")) and not name.startswith(OURS)
    }


# A process and all that came of it, ended as a whole.
#
# Each server is the head of a process group of its own, which holds whatever it starts: `npx` its
# `node`. Some children leave the group (a browser does); they are found by their descent, which has
# to be asked for while their parent still lives.

_LOOK: Final = 0.02

Others: TypeAlias = Sequence[psutil.Process]


def descendants(pid: int) -> Others:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return ()


def send(group: int, others: Others, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for process in others:
        with suppress(psutil.Error):
            process.send_signal(number)


async def gone(group: int, others: Others) -> None:
    """Once nobody is left; its head has been buried by us already."""
    while others or _exists(group):
        if not await asyncio.to_thread(_anybody, group, others):
            return
        await asyncio.sleep(_LOOK)


def _anybody(group: int, others: Others) -> bool:
    """Someone who is dead but not yet buried by their new parent counts as dead."""
    if any(_lives(process) for process in others):
        return True
    members = (process for process in psutil.process_iter() if _in_group(process, group))
    return any(_lives(process) for process in members)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _in_group(process: psutil.Process, group: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        return os.getpgid(process.pid) == group
    return False


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


# The last lines that a server wrote for people: kept raw and few, cleaned when somebody looks.

_LINES: Final = 200
_LONGEST: Final = 8_192
"""Bytes kept of a line; more than are shown, so that no secret is cut in two before it is seen."""
_SHOWN: Final = 2_000
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class StderrTail:
    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=_LINES)
        self._rest = b""
        self._silent = True

    def mark_restarted(self) -> None:
        """It is started anew; what it said before stays, but says nothing about now."""
        self._silent = True

    def receive(self, data: bytes) -> None:
        """A piece of what it writes; a line may come in several."""
        self._silent = False
        lines = data.split(b"\n")
        lines[0] = self._rest + lines[0]
        self._rest = lines.pop()[:_LONGEST]
        self._lines.extend(line[:_LONGEST] for line in lines[-_LINES:] if line.strip())

    def note(self, line: str) -> None:
        self.receive(line.replace("\n", " ").encode(errors="replace") + b"\n")

    def told(self, clean: Callable[[str], str]) -> tuple[str, ...]:
        lines = [*self._lines, self._rest] if self._rest.strip() else list(self._lines)
        return tuple(_shown(line, clean) for line in lines)

    def last(self, clean: Callable[[str], str]) -> str | None:
        """Since it was started."""
        lines = [] if self._silent else [*self._lines, self._rest]
        found = next((line for line in reversed(lines) if line.strip()), None)
        return None if found is None else _shown(found, clean)[:300]


def _shown(line: bytes, clean: Callable[[str], str]) -> str:
    """Nothing in it steers whoever's terminal it is shown on."""
    text = _ESCAPE.sub("", line.decode(errors="replace"))
    return clean(_CONTROL.sub("", text))[:_SHOWN]


# How much a server may say that nobody asked for, before it is made to wait.

_BURST: Final = 4_000_000
_A_SECOND: Final = 1_000_000


@dataclass(slots=True)
class Allowance:
    """In bytes; what it uses up comes back with time. One who floods fills its own pipe then, and
    not our hands."""

    left: float = _BURST
    at: float = 0.0

    def use(self, size: int, now: float) -> float:
        """Seconds for which nothing more is to be read from it."""
        self.left = min(_BURST, self.left + (now - self.at) * _A_SECOND) - size
        self.at = now
        return max(0.0, -self.left / _A_SECOND)
