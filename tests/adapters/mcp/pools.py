"""Pools to test with, the servers that they run, and callers who can be asked."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.secrets import NOBODY, SecretResolver
from portico.adapters.mcp.session import Tokens
from portico.adapters.mcp.stdio import Confine, Terms
from portico.adapters.system.clock import SystemClock
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.gateway.core.calls import ClientCapability, Question, ToolResult, UpstreamTarget
from portico.gateway.core.servers import Launch, Plain, ProtocolRevision, Stdio, Value
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.testing.memory_store import SeededEntropy
from portico.testing.sandbox import NoConfine
from tests.forks import keepers

HOME = SpaceId(UUID(int=1))
AMPLE = timedelta(seconds=30)
EVERYTHING = frozenset(ClientCapability)


class Changes:
    """Whoever is told that a server offers something else by now."""

    def __init__(self) -> None:
        self.told: list[tuple[SpaceId, str]] = []

    async def __call__(self, space: SpaceId, server: str, login: PrincipalId | None) -> None:
        self.told.append((space, server))


@asynccontextmanager
async def a_pool(
    *,
    environment: Mapping[str, str] | None = None,
    secrets: KnownSecrets | None = None,
    changed: Changes | None = None,
    confine: Confine | None = None,
    tokens: Tokens | None = None,
    keeper: SecretResolver = NOBODY,
    **terms: Any,
) -> AsyncIterator[UpstreamPool]:
    quick: dict[str, Any] = {
        "grace": timedelta(milliseconds=300),
        "settle": timedelta(milliseconds=20),
    }
    pool = UpstreamPool(
        Terms(**{**quick, **terms}),
        clock=SystemClock(),
        entropy=SeededEntropy(),
        secrets=secrets or KnownSecrets(),
        changed=changed or Changes(),
        confine=confine or NoConfine(),
        environment={"PATH": "/usr/bin:/bin", "HOME": "/"} | dict(environment or {}),
        tokens=tokens,
        keeper=keeper,
    )
    async with pool:
        yield pool


def launched(server: str, *arguments: str, **environment: Value) -> Stdio:
    """One of our own servers; without `site` it starts in a moment."""
    return _python("-S", "-c", _run(server), *arguments, environment=environment)


def everyday() -> Stdio:
    return _python("-c", _run("everyday"))


def _run(server: str) -> str:
    root = str(Path(__file__).parents[3])
    own = (Path(__file__).parent / "servers" / f"{server}.py").exists()
    module, main = (server, "main") if own else ("odd", server)
    path = f"import sys; sys.path.insert(0, {root!r}); from tests.adapters.mcp.servers"
    return f"{path}.{module} import {main}; {main}()"


def _python(*arguments: str, environment: Mapping[str, Value] | None = None) -> Stdio:
    return Stdio(sys.executable, tuple(Plain(each) for each in arguments), environment or {})


def target(
    launch: Launch, name: str = "server", *, pin: str = "pin", era: ProtocolRevision | None = None
) -> UpstreamTarget:
    return UpstreamTarget(
        space=HOME, server=name, launch=launch, launch_pin=pin, protocol_revision=era
    )


def said(answer: ToolResult) -> str:
    return str(answer.content[0]["text"])


@dataclass(slots=True)
class Caller:
    """Answers what it is asked, and keeps what it is told."""

    answers: Sequence[JsonObject | PorticoError] = ()
    able: AbstractSet[ClientCapability] = EVERYTHING
    asked: list[Question] = field(default_factory=list)
    steps: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    logged: list[JsonObject] = field(default_factory=list)
    slow: float = 0.0
    log_level: str | None = None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.steps.append((done, total, message))

    async def log(self, params: JsonObject) -> None:
        self.logged.append(params)

    async def ask(self, question: Question) -> JsonObject:
        answer = self.answers[len(self.asked)]
        self.asked.append(question)
        await asyncio.sleep(self.slow)
        if isinstance(answer, PorticoError):
            raise answer
        return answer


async def until(true: Callable[[], object], seconds: float = 30.0) -> None:
    """Polls; there is nothing that would tell us."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        await asyncio.sleep(0.01)


def children() -> list[psutil.Process]:
    """Ours that live or are not yet buried, but for the warden and what makes forks."""
    found, kept = psutil.Process().children(), keepers()
    return [each for each in found if each.pid not in kept and not is_warden(each)]


def is_warden(process: psutil.Process) -> bool:
    try:
        return any(word.endswith("orphan_reaper.py") for word in process.cmdline())
    except psutil.Error:
        return False


async def together(*work: Awaitable[object]) -> list[object]:
    """What each came to, an error included."""
    return await asyncio.gather(*work, return_exceptions=True)
