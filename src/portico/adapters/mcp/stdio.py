"""Starting a server on this machine."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from portico.adapters.mcp.child import Child
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.last_words import LastWords
from portico.adapters.mcp.resolve import Command
from portico.adapters.mcp.terms import Terms
from portico.adapters.mcp.wire import Broken


async def start(
    command: Command,
    environment: Mapping[str, str],
    words: LastWords,
    terms: Terms,
    buried: Callable[[int], None],
) -> Duplex:
    """`buried` is told when nothing of it is left. Raises `Broken`."""
    child = Child(words, longest=terms.largest, grace=terms.grace.total_seconds(), buried=buried)
    duplex = Duplex(child)
    child.hear, child.spoil, child.ended = duplex.heard, duplex.spoil, duplex.end
    try:
        await asyncio.get_running_loop().subprocess_exec(
            lambda: child,
            *(command.program, *command.arguments),
            env=dict(environment),
            cwd=command.folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(error, command) from error
    return duplex


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
