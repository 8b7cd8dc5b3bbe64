"""What is put outside of a box before it is tried: files, sockets, a process, a key.

All of it is as open as it can be, and belongs to the account that the box runs things as: if it is
not reached it is the box that held, and not what a file says of who may read it.
"""

import asyncio
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.cell import to_its_end
from portico.adapters.sandbox.probes.canary_processes import (
    asleep,
    in_our_environment,
    queue,
    segment,
    started,
    with_word,
)
from portico.adapters.sandbox.probes.canary_sockets import listening, name_server, own_address
from portico.adapters.sandbox.probes.trying import CANARY, Marks
from portico.sandbox.core.profile import Limits

_HELLO: Final = f"{CANARY}: nobody in a box should read this.\n".encode()
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
        path.write_bytes(_HELLO)
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
        path.write_bytes(_HELLO)
        path.chmod(0o666)
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


def _as_it_was(path: Path) -> bool:
    try:
        return path.read_bytes() == _HELLO and not path.stat().st_mtime < 2
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
