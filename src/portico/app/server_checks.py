"""Whether the servers of tools that were let in start, and have what they are started with."""

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.app.entered import entered
from portico.app.ground import Ground
from portico.engine.core.store import Finding, State
from portico.gateway.core.servers import Server, Stdio
from portico.gateway.core.start_diagnostics import OLDEST, getting, major
from portico.gateway.start_diagnostics import Examined
from portico.interfaces.cli.house import Importing
from portico.kernel.errors import PorticoError

_BY_NODE: Final = frozenset({"node", "npx", "npm", "pnpm"})
_UNKNOWN: Final = "not known: no database, or no key"


@dataclass(frozen=True, slots=True)
class CheckServers:
    """Those that could not be asked the last time are started, as `init` does it, and heard."""

    ground: Ground
    importing: Importing

    async def __call__(self, *, mend: bool) -> Sequence[Finding]:
        try:
            servers = await _servers(self.ground)
        except (PorticoError, OSError):
            return [Finding(check="servers", state=State.WARNING, detail=_UNKNOWN)]
        failed = [each for each in servers if each.failure is not None]
        found = [] if not failed else await self._examined(mend=mend)
        if not found:
            detail = f"{len(servers)} let in, none was found not to start"
            return [Finding(check="servers", state=State.GOOD, detail=detail)]
        return [_told(each, mend=mend) for each in found]

    async def _examined(self, *, mend: bool) -> Sequence[Examined]:
        async with self.importing.opened() as room:
            tried = room.examine(room.caller, mend=mend)
            async with aclosing(tried):
                return [each async for each in tried]


@dataclass(frozen=True, slots=True)
class CheckNode:
    """Only where a server is started with it."""

    ground: Ground

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # what is installed is the system's
        try:
            servers = await _servers(self.ground)
        except (PorticoError, OSError):
            return Finding(check="node", state=State.WARNING, detail=_UNKNOWN)
        needed = [each.name for each in servers if _by_node(each)]
        if not needed:
            return Finding(check="node", state=State.GOOD, detail="no server needs it")
        said = await asyncio.to_thread(node_version)
        names = ", ".join(needed)
        if said is None:
            detail = f"there is no Node.js, and with it is started: {names}"
            return Finding(check="node", state=State.BROKEN, detail=detail, fix=getting(22))
        if (major(said) or 0) < OLDEST:
            detail = f"{said} is too old for {names}: servers need {OLDEST} at least"
            return Finding(check="node", state=State.BROKEN, detail=detail, fix=getting(22))
        return Finding(check="node", state=State.GOOD, detail=f"{said}, for {names}")


def node_version() -> str | None:
    """As it says it; None if there is none."""
    program = shutil.which("node")
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 # asked for its version
            [program, "--version"], capture_output=True, check=False, timeout=30, text=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


async def _servers(ground: Ground) -> Sequence[Server]:
    """That may be started. Raises `PorticoError`, `OSError`."""
    async with entered(ground) as (transactions, caller):
        found = await PostgresServers(transactions).all(caller)
    return [each for each in found if each.enabled and each.may_start and each.gone_at is None]


def _by_node(server: Server) -> bool:
    launch = server.launch
    return isinstance(launch, Stdio) and launch.command.rpartition("/")[2] in _BY_NODE


def _told(each: Examined, *, mend: bool) -> Finding:
    if each.reason is not None:
        detail = f"{each.server} does not start: {each.reason}"
        return Finding(check="servers", state=State.BROKEN, detail=detail, fix=each.fix)
    if mend:
        return Finding(
            check="servers", state=State.MENDED, detail=f"{each.server} starts again; noted"
        )
    detail, fix = f"{each.server} starts again", f"portico servers restart {each.server}"
    return Finding(check="servers", state=State.WARNING, detail=detail, fix=fix)
