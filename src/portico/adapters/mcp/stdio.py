"""Starting a server on this machine."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portico.adapters.mcp.child import Child
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.housing import Lodging
from portico.adapters.mcp.last_words import LastWords
from portico.adapters.mcp.resolve import Command
from portico.adapters.mcp.terms import Terms
from portico.adapters.mcp.watch import Watch
from portico.adapters.mcp.wire import Broken
from portico.sandbox.core.errors import BadProfile, BoxUnavailable
from portico.sandbox.requests import Cell


@dataclass(frozen=True, slots=True)
class Starting:
    command: Command
    environment: Mapping[str, str]
    lodging: Lodging | None
    """None if it runs without a box."""
    watch: Watch


async def start(starting: Starting, words: LastWords, terms: Terms) -> Duplex:
    """Raises `Broken`."""
    child = Child(
        words,
        longest=terms.largest,
        grace=terms.grace.total_seconds(),
        buried=starting.watch.over,
    )
    duplex = Duplex(child)
    child.hear, child.spoil, child.ended = duplex.heard, duplex.spoil, duplex.end
    child.lodging = lodging = starting.lodging
    try:
        if lodging is None:
            await _run(child, starting)
        else:
            await _housed(child, starting, lodging)
    except (BoxUnavailable, BadProfile) as error:
        raise Broken(_reason(error), reached=False, fix=error.fix) from error
    except (OSError, ValueError) as error:
        raise _not_started(error, starting.command) from error
    return duplex


async def _run(child: Child, starting: Starting) -> None:
    command = starting.command
    await asyncio.get_running_loop().subprocess_exec(
        lambda: child,
        *(command.program, *command.arguments),
        env=dict(starting.environment),
        cwd=command.folder,
        start_new_session=True,
    )
    starting.watch.on(child.pid)


async def _housed(child: Child, starting: Starting, lodging: Lodging) -> None:
    try:
        cell = await lodging.enter()
        await _run_in(cell, child)
    except BaseException:
        await lodging.leave()
        raise
    starting.watch.on(child.pid)
    try:
        await cell.started(child.pid)
    except BaseException:
        await child.close()
        raise


async def _run_in(cell: Cell, child: Child) -> None:
    """Cancelled half-way, it would leave a process that nobody knows: it is waited for."""
    making = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: child,
            *cell.command,
            env=dict(cell.environment),
            pass_fds=tuple(cell.descriptors),
            start_new_session=True,
        )
    )
    try:
        await asyncio.shield(making)
    except asyncio.CancelledError:
        transport, _ = await making
        transport.kill()
        transport.close()
        raise


def _reason(error: BoxUnavailable | BadProfile) -> str:
    if isinstance(error, BadProfile):
        return f"it cannot be confined as its profile says: {error.reason}"
    return f"there is no box for it: {error.reason}"


def _not_started(error: OSError | ValueError, command: Command) -> Broken:
    program = command.program[:200]
    match error:
        case FileNotFoundError() | NotADirectoryError() if (
            command.folder is not None and not Path(command.folder).is_dir()
        ):
            reason, fix = f"there is no folder {command.folder}", "Check the server's folder."
        case FileNotFoundError() | NotADirectoryError():
            reason = f"there is no program {program!r}"
            fix = f"Install {program}, or give the whole path of it."
        case PermissionError():
            reason, fix = f"{program!r} may not be run", f"Make {program} executable."
        case OSError():
            reason, fix = f"{program!r} cannot be run: {error.strerror}", "Check its command."
        case _:
            reason, fix = f"{program!r} cannot be run as it is written", "Check its command."
    return Broken(reason, reached=False, fix=fix)
