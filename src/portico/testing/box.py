"""A box, a web and an interpreter that answer from a script, and remember what they were asked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.sandbox.core.probes import Backend, Probe, Report
from portico.sandbox.core.profile import Fetched, Limits, Order, Request
from portico.sandbox.core.requests import CodeLimits, CodeOutcome, End, Outcome, Raised
from portico.sandbox.requests import Cell, HostFunction

HOLDS: Report = Report(
    backend=Backend.BUBBLEWRAP, probes=(Probe("read a file", held=True, detail="not there"),)
)


def exited(output: str = "", errors: str = "", code: int = 0) -> Outcome:
    return Outcome(
        end=End.EXITED, code=code, output=output.encode(), errors=errors.encode(), seconds=0.01
    )


@dataclass(frozen=True, slots=True)
class _Bare:
    """Nothing around it: a test that starts it has written it itself."""

    order: Order
    descriptors: Sequence[int] = ()

    @property
    def command(self) -> Sequence[str]:
        return self.order.program, *self.order.arguments

    @property
    def environment(self) -> Mapping[str, str]:
        return self.order.environment

    @property
    def refused(self) -> Sequence[str]:
        return ()

    async def started(self, process: int) -> None:
        """It is no box that one could not get into."""


@dataclass(slots=True)
class ScriptedBox:
    """`answer` is what every run comes to; None: it goes on until it is cancelled."""

    answer: Outcome | PorticoError | Callable[[Order, bytes], Outcome] | None = field(
        default_factory=exited
    )
    report: Report = HOLDS
    runs: list[tuple[Order, Limits, bytes]] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set as soon as something was run."""
    ended: int = 0
    """How many of them were cancelled."""

    @asynccontextmanager
    async def cell(self, order: Order, limits: Limits) -> AsyncIterator[Cell]:
        self.runs.append((order, limits, b""))
        yield _Bare(order)

    async def run(self, order: Order, limits: Limits, *, given: bytes = b"") -> Outcome:
        self.runs.append((order, limits, given))
        self.begun.set()
        answer = self.answer
        if answer is None:
            return await self._for_ever()
        if isinstance(answer, PorticoError):
            raise answer
        return answer if isinstance(answer, Outcome) else answer(order, given)

    async def _for_ever(self) -> NoReturn:
        try:
            while True:
                await asyncio.Event().wait()
        finally:
            self.ended += 1


@dataclass(slots=True)
class ScriptedWeb:
    pages: dict[str, Fetched | PorticoError] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)

    async def fetch(self, request: Request) -> Fetched:
        """What is not in the script is not found there."""
        self.asked.append(request)
        absent = Fetched(status=404, url=request.url, headers={}, body=b"")
        page = self.pages.get(request.url, absent)
        if isinstance(page, PorticoError):
            raise page
        return page


@dataclass(slots=True)
class ScriptedInterpreter:
    outcomes: dict[str, CodeOutcome | PorticoError] = field(default_factory=dict)
    """By the program. One that is not here gives back its inputs."""
    ran: list[tuple[str, CodeLimits]] = field(default_factory=list)

    async def run(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Mapping[str, HostFunction] | None = None,  # noqa: ARG002 # a script calls none
    ) -> CodeOutcome:
        return self._next(program, limits, dict(inputs or {}))

    async def begin(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Sequence[str] = (),  # noqa: ARG002 # a script calls none
    ) -> CodeOutcome:
        return self._next(program, limits, dict(inputs or {}))

    async def resume(
        self,
        snapshot: bytes,
        limits: CodeLimits,
        results: Mapping[int, JsonValue],
        *,
        errors: Mapping[int, Raised] | None = None,  # noqa: ARG002 # a script calls none
    ) -> CodeOutcome:
        return self._next(snapshot.decode(), limits, list(results.values()))

    def _next(self, program: str, limits: CodeLimits, otherwise: JsonValue) -> CodeOutcome:
        self.ran.append((program, limits))
        outcome = self.outcomes.get(program, CodeOutcome(result=otherwise))
        if isinstance(outcome, PorticoError):
            raise outcome
        return outcome
