"""A desktop client's way in: what it says on this process's input goes to the running server."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from portico.faces.cli.errors import BadUsage
from portico.faces.cli.paths import path_to
from portico.faces.cli.terminal import At, Terminal

if TYPE_CHECKING:
    from portico.faces.cli.house import Whereabouts
    from portico.faces.cli.stdio_link import Link

Face = Literal["gateway", "bridge", "debate"]
_DOORS: Final[dict[Face, str]] = {
    "gateway": "/mcp",
    "bridge": "/mcp/bridge",
    "debate": "/mcp/debate",
}
_TO_START: Final = 60.0
"""Seconds until a server that was started must be there."""


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
        Start the server first if it does not run.
    key_file
        Come in with the key in this file instead of the one that `portico init` has left for
        programs that act for you.
    context
        The task that all of it is part of, as `portico contexts open` gives it; with a person's
        or a worker's key, since an agent's task is that of its key.
    """
    from portico.faces.cli.stdio_link import Link, PipedOutput, lines_of_input
    from portico.faces.cli.stdio_pump import Pump

    where = at.house.whereabouts()
    path = _path(server, "bridge" if bridge else face)
    if start and where.remote is None:
        # Before the key is looked for: a server that starts leaves one where there is none yet.
        async with Link.to(where, None) as link:
            await _started(link, where, at)
    async with Link.to(where, key_file or where.agent_key_file, context) as link:
        await Pump(link, path, PipedOutput(sys.stdout.buffer), at.say).run(lines_of_input())


def _path(server: str | None, face: Face) -> str:
    """Raises `BadUsage`."""
    if face != "gateway" and server is not None:
        raise BadUsage(f"--face {face} and --server are two doors.", fix="Say one of them.")
    return _DOORS[face] if server is None else path_to("mcp", "servers", server)


async def _started(link: "Link", where: "Whereabouts", at: Terminal) -> None:
    """It stays when this process ends: others may be using it by then. Raises `NotRunning`."""
    if await link.ready():
        return
    at.say("Portico is not running yet; starting it …")
    _start(where)
    until = asyncio.get_running_loop().time() + _TO_START
    while not await link.ready():
        if asyncio.get_running_loop().time() > until:
            raise link.missing
        await asyncio.sleep(0.1)


def _start(where: "Whereabouts") -> None:
    """Whether it ends at once is no matter: it then met another, which is about to be ready."""
    subprocess.Popen(  # noqa: S603 # ourselves
        [sys.executable, "-m", "portico", *_config(where), "serve"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _config(where: "Whereabouts") -> list[str]:
    """The file that was named to us is named to the server too; the environment it inherits."""
    named = any(word == "--config" or word.startswith("--config=") for word in sys.argv)
    return ["--config", str(where.config_file)] if named else []
