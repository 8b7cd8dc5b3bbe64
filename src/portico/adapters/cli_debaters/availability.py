"""Whether a program is there: found, of a version that answers, and logged in where it says so."""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from portico.adapters.cli_debaters.program import Program
from portico.adapters.cli_debaters.running import SaidTooMuch, started

_PATIENCE: Final = 15.0
"""Seconds for one of its answers: some are slow to start."""
_GOOD_FOR: Final = 300.0
_AWAY_FOR: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Known:
    at: float
    why: str | None


@dataclass(frozen=True, slots=True)
class Availability:
    environment: Mapping[str, str]
    _known: dict[str, _Known] = field(default_factory=dict)
    _asking: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def why_away(self, program: Program, *, fresh: bool = False) -> str | None:
        """What is missing, and what to do about it; None if nothing is."""
        async with self._asking.setdefault(program.name, asyncio.Lock()):
            now, known = asyncio.get_running_loop().time(), self._known.get(program.name)
            if known is not None and not fresh:
                good_for = _GOOD_FOR if known.why is None else _AWAY_FOR
                if now - known.at < good_for:
                    return known.why
            why = await self._why(program)
            self._known[program.name] = _Known(now, why)
            return why

    async def _why(self, program: Program) -> str | None:
        name, its = program.command[0], program.environment(self.environment)
        if await asyncio.to_thread(shutil.which, name, path=its.get("PATH")) is None:
            return (
                f"There is no program {name!r} on this machine. Install it with "
                f"`{program.dialect.install}`, or set debate.programs.{program.name}."
            )
        if await self._asked(program, ("--version",)) != 0:
            return f"`{name} --version` does not answer. Install it anew: {program.dialect.install}"
        if await asyncio.to_thread(program.dialect.needs_no_login, its):
            return None
        question = program.dialect.asks_whether_logged_in
        if question and await self._asked(program, question) == 0:
            return None
        return (
            f"Nobody is logged in to it. Log in, as whoever runs Portico: {program.dialect.log_in}"
        )

    async def _asked(self, program: Program, arguments: Sequence[str]) -> int | None:
        """How it ended; None if it did not."""
        its = program.environment(self.environment)
        try:
            async with (
                asyncio.timeout(_PATIENCE),
                started(
                    [*program.command, *arguments],
                    environment=its,
                    folder=Path(tempfile.gettempdir()),
                    given="",
                ) as running,
                aclosing(running.lines()) as lines,
            ):
                async for _line in lines:
                    pass
                return await running.ended()
        except (TimeoutError, OSError, SaidTooMuch):
            return None
