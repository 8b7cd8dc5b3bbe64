"""The gateway, the engine and the agents of `just bench agents`, in the process measured."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from benchmarks.agents_figures import Ended
from benchmarks.agents_scripts import Script
from benchmarks.agents_setting_up import AGENT, SERVER
from portico.adapters.dbos.deferred_queue import DeferredQueue
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.agents.core.events import RunFinished
from portico.agents.core.model_requests import ModelAsk, ResponseChunk, UserMessage
from portico.agents.runs import AgentRunSpec
from portico.app.agents import LateModels, agent_doors
from portico.app.app_context import AppContext
from portico.app.gateway import Opened, open_gateway
from portico.app.run_workers import carry_out_runs, every_kind, kept_up
from portico.app.secrets import SecretDependencies, open_audit
from portico.app.shared_dependencies import SharedDependencies
from portico.app.use_cases import use_cases
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.interfaces.http.use_cases import AgentRunUseCases
from portico.kernel.principal import Principal

_PATIENCE: Final = timedelta(minutes=10)
_REST: Final = 0.4
"""Seconds."""


@dataclass(slots=True)
class NotedModels(LateModels):
    """Remembers what it was asked, so that the same can be asked again without a run."""

    noted: dict[str, list[ModelAsk]] = field(default_factory=lambda: defaultdict(list))
    """By the words that a conversation began with."""

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        begun = next((each.text for each in ask.messages if isinstance(each, UserMessage)), "")
        self.noted[begun].append(ask)
        async with aclosing(LateModels.ask(self, caller, ask)) as pieces:
            async for piece in pieces:
                yield piece


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHouse:
    opened: Opened
    runs: AgentRunUseCases
    models: NotedModels
    caller: Principal
    """The person whom `init` has left a key for."""

    async def run(self, script: Script, name: str) -> Ended:
        """From its start to its end, as its starter hears of it."""
        started = time.monotonic()
        wish = AgentRunSpec(agent=AGENT, message=script.asked(name))
        begun = await self.runs.start_agent_run(self.caller, wish)
        ended = await self.runs.answer_of(self.caller, begun.run, patience=_PATIENCE)
        told = Ended(
            run=name, started=started, ended=time.monotonic(), status="not over", answer=""
        )
        if not isinstance(ended, RunFinished):
            return told
        return replace(told, status=ended.status, answer=ended.answer, error=ended.error or "")

    async def asks(self, script: Script, _name: str) -> None:
        """What a run of it asks its model, by the same adapter, and nothing else."""
        known = next(asks for words, asks in self.models.noted.items() if _is_of(script, words))
        for ask in known[: len(script.turns)]:
            async with aclosing(LateModels.ask(self.models, self.caller, ask)) as pieces:
                async for _ in pieces:
                    pass

    async def calls(self, script: Script, name: str) -> None:
        """What a run of it calls, one after the other, and nothing else."""
        call, ref = self.opened.gateway.over_http.call_tool, ToolRef(SERVER, "look")
        for turn in script.turns:
            for wish in turn.calls:
                await call(self.caller, ref, {**wish.arguments, "run": name})

    async def idle(self, _script: Script, _name: str) -> None:
        await asyncio.sleep(_REST)


def _is_of(script: Script, words: str) -> bool:
    return words.startswith(f"{script.asked('').rstrip()} ")


@asynccontextmanager
async def agent_house() -> AsyncIterator[AgentHouse]:
    """As a server opens it, without its faces."""
    ground = AppContext()
    addresses, clock = ground.store.addresses, SystemClock()
    bus, line = PostgresBus(addresses.app, system_entropy), DeferredQueue()
    secret_doors = SecretDependencies(ground)
    size = ground.loaded.settings.database.pool_size
    async with open_pool(addresses.app, size) as pool, asyncio.TaskGroup() as background:
        transactions = Transactions(pool)
        auditing = open_audit(ground, transactions)
        outside = SharedDependencies(
            transactions=transactions,
            bus=bus,
            audit=auditing.audit,
            clock=clock,
            entropy=system_entropy,
            vault=secret_doors.vault,
            keeper=secret_doors.references,
            queue=line,
        )
        opened = open_gateway(ground, outside)
        models = NotedModels()
        doors = replace(agent_doors(ground, outside, opened), models=models)
        kinds = every_kind(clock, *opened.kinds, doors.kind())
        await secret_doors.start()
        lasting = [
            background.create_task(each)
            for each in (
                bus.run(),
                kept_up(auditing.run),
                secret_doors.keep_up(),
                carry_out_runs(ground, outside, kinds, line),
            )
        ]
        key = await asyncio.to_thread(ground.loaded.paths.key_file.read_text)
        entry = await use_cases(ground, transactions).authenticate(key.strip())
        async with opened.running(_no_files), models.opened(ground, outside):
            yield AgentHouse(
                opened=opened, runs=doors.runs(), models=models, caller=entry.principal
            )
        for task in lasting:
            task.cancel()


async def _no_files() -> None:
    """What other clients' files describe is not measured here."""
