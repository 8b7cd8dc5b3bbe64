"""Our side of the warden: it is told which servers are ours, so that none of them outlives us."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from portico.adapters.mcp import warden

_SCRIPT: Final = str(Path(warden.__file__))


class Watch:
    """Begun with the first server. Should the warden itself be ended, there is another one with
    the next server, and it is told of all."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: asyncio.subprocess.Process | None = None
        self._beginning = asyncio.Lock()

    async def begin(self) -> None:
        async with self._beginning:
            if self._listens:
                return
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", _SCRIPT),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                start_new_session=True,  # what is typed at our terminal is not meant for it
            )
            self._process = process
            for group in self._groups:
                self._say(f"+{group}\n")

    @property
    def _listens(self) -> bool:
        pipe = None if self._process is None else self._process.stdin
        return pipe is not None and not pipe.is_closing()

    def over(self, group: int) -> None:
        self._groups.discard(group)
        self._say(f"-{group}\n")

    def on(self, group: int) -> None:
        self._groups.add(group)
        self._say(f"+{group}\n")

    async def end(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await self._process.wait()

    def _say(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None and self._listens:
            self._process.stdin.write(line.encode())
