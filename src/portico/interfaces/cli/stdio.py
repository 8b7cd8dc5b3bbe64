"""A desktop client's way in: what it says on this process's input goes to the running server."""

import asyncio
import sys
from pathlib import Path
from typing import Final, Literal

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.terminal import At, Terminal

Face = Literal["gateway", "bridge", "debate"]
_DOORS: Final[dict[Face, str]] = {
    "gateway": "/mcp",
    "bridge": "/mcp/bridge",
    "debate": "/mcp/debate",
}


async def stdio(  # noqa: PLR0913 # each is an option of its own
    *,
    server: str | None = None,
    face: Face = "gateway",
    bridge: bool = False,
    start: bool = False,
    key_file: Path | None = None,
    context: str | None = None,
    at: At,
) -> None:
    """Speak MCP on standard input and output, for clients that start their servers themselves.

    Ends when its input does. Standard output carries the protocol and nothing else.

    Parameters
    ----------
    server
        Only this one server behind the gateway, with its own tools under their own names.
    face
        Which door: the gateway with its tools, the bridge, where people and agents talk and work
        together, or debates, where several models are asked.
    bridge
        The same as `--face bridge`.
    start
        Start the server first if it does not run, as `portico up` does; it stays.
    key_file
        Come in with the key in this file instead of the one that `portico init` has left for
        programs that act for you.
    context
        The task that all of it is part of, as `portico contexts open` gives it; with a person's
        or a worker's key, since an agent's task is that of its key.
    """
    from portico.interfaces.cli.stdio_link import Link, PipedOutput, lines_of_input
    from portico.interfaces.cli.stdio_pump import Pump

    where = at.house.whereabouts()
    path = _path(server, "bridge" if bridge else face)
    if start and where.remote is None:
        # Before the key is looked for: a server that starts leaves one where there is none yet.
        await _started(at)
    async with Link.to(where, key_file or where.agent_key_file, context) as link:
        await Pump(link, path, PipedOutput(sys.stdout.buffer), at.say).run(lines_of_input())


def _path(server: str | None, face: Face) -> str:
    """Raises `BadUsage`."""
    if face != "gateway" and server is not None:
        raise BadUsage(f"--face {face} and --server are two doors.", fix="Say one of them.")
    return _DOORS[face] if server is None else path_to("mcp", "servers", server)


async def _started(at: Terminal) -> None:
    """It stays when this process ends: others may be using it by then. Raises `DidNotStart`,
    `StillStarting`, `NoBackground`."""
    from portico.interfaces.cli.starting import bring_up, ready

    if await asyncio.to_thread(ready, at.house.whereabouts()):
        return
    at.say("Portico is not running yet; starting it …")
    await asyncio.to_thread(bring_up, at.house)
