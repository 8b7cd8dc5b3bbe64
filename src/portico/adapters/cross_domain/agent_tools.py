"""The server whose tools are the agents that a space has exposed, as the gateway talks to
servers."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from typing import Final, Protocol

from portico.adapters.builtin.nothing_beside import NothingBeside
from portico.agents.core.agents import AgentSpec, spec_json
from portico.agents.core.events import RunEnded, ToolWaits
from portico.agents.core.traces import AgentRunStatus
from portico.agents.runs import AgentRunWish, StartedAgentRun
from portico.gateway.core.calls import Answer, Phase, Seen, Target, Vitals
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import AGENTS, Era, Identity, Inside
from portico.gateway.ports import Line
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId, SpaceId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

LAUNCH: Final = Inside(AGENTS, "1")
LABEL: Final = Label(Level.TEAM)
"""What their answers carry, unless an operator says otherwise."""
TIMEOUT: Final = 300.0
"""Seconds for one call."""
_IDENTITY: Final = Identity("Portico", LAUNCH.version)
_SPARE: Final = timedelta(seconds=1)
"""Of the time for a call, to say that it is not done yet."""
_MESSAGE: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100_000,
            "description": "What it should do, with everything that it needs to know for it.",
        }
    },
    "required": ["message"],
    "additionalProperties": False,
}


class Answering(Protocol):
    async def __call__(
        self, caller: Principal, run: RunId, *, patience: timedelta
    ) -> RunEnded | ToolWaits | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What is there only once agents are."""

    start: Callable[[Principal, AgentRunWish], Awaitable[StartedAgentRun]]
    answer: Answering
    offered: Callable[[SpaceId], Awaitable[Sequence[tuple[AgentSpec, Effect]]]]
    """With the worst that the tools of each can do."""


@dataclass(slots=True)
class AgentTools(NothingBeside):
    _running: list[Running] = field(default_factory=list)
    _known: set[tuple[SpaceId, str]] = field(default_factory=set)
    _calls: Counter[tuple[SpaceId, str]] = field(default_factory=Counter)

    def bring(self, running: Running) -> None:
        self._running = [running]

    def knows(self, space: SpaceId, server: str) -> bool:
        return (space, server) in self._known

    async def look(self, target: Target) -> Seen:
        self._known.add((target.space, target.server))
        offered = await self._here(target).offered(target.space)
        tools = [tool_definition(spec, effect) for spec, effect in offered]
        return Seen(identity=_IDENTITY, era=Era.MODERN, instructions=None, tools=tools)

    async def call(
        self,
        target: Target,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: Line | None = None,  # noqa: ARG002 # whoever wants to see it follows the run
    ) -> Answer:
        """A run in the name of whoever calls. What has not ended in time goes on, and is said to:
        being cancelled ends only the waiting."""
        if target.acting is None:
            raise UpstreamDown(target.server, "nobody is calling")
        caller, running, place = target.acting.caller, self._here(target), _place(target)
        self._known.add(place)
        self._calls[place] += 1
        try:
            message = str(arguments["message"])
            wish = AgentRunWish(agent=tool, message=message, key=target.acting.call)
            started = await running.start(caller, wish)
            patience = max(timeout - _SPARE, timedelta(0))
            came = await running.answer(caller, started.run, patience=patience)
        finally:
            self._calls[place] -= 1
        return as_answer(started.run, came)

    async def stop(self, space: SpaceId, server: str) -> None:
        """There is nothing of it that runs here: runs are the engine's."""

    def vitals(self, space: SpaceId, server: str) -> Vitals:
        calls = self._calls[space, server]
        return Vitals(phase=Phase.RUNNING if calls else Phase.IDLE, calls_now=calls)

    def _here(self, target: Target) -> Running:
        """Raises `UpstreamDown`."""
        if not self._running:
            raise UpstreamDown(target.server, "there are no agents in this process")
        return self._running[0]


def tool_definition(spec: AgentSpec, effect: Effect) -> JsonObject:
    """What its tools can do is what it can do; the words that it is given go to a model. Whatever
    is changed of it waits to be approved anew: by its words alone nobody would see that it is told
    to do something else."""
    reads = effect.reads_only
    digest = sha256(canonical(spec_json(spec))).hexdigest()
    return {
        "name": spec.name,
        "description": spec.description or f"The agent {spec.name}.",
        "inputSchema": _MESSAGE,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": effect.destroys,
            "openWorldHint": True,
        },
        "_meta": {"portico/agent": digest},
    }


def as_answer(run: RunId, came: RunEnded | ToolWaits | None) -> Answer:
    match came:
        case RunEnded(status=AgentRunStatus.COMPLETED, answer=answer):
            return _said(run, "completed", answer)
        case RunEnded() as ended:
            why = " ".join(filter(None, [ended.error, ended.fix]))
            words = f"The agent did not finish ({ended.status}). {why}".strip()
            text = "\n".join(filter(None, [ended.answer, words]))
            failed = ended.status is AgentRunStatus.FAILED
            return _said(run, str(ended.status), text, failed=failed)
        case ToolWaits() as waits:
            text = (
                f"The agent waits until somebody has approved {waits.tool} ({waits.approval}), and "
                f"then goes on: it is the run {run}."
            )
            return _said(run, "waiting", text)
        case None:
            text = f"The agent is still at it: it is the run {run}."
            return _said(run, "running", text)


def _said(run: RunId, status: str, text: str, *, failed: bool = False) -> Answer:
    return Answer(
        [{"type": "text", "text": text}],
        {"run": str(run), "status": status, "answer": text},
        failed=failed,
    )


def _place(target: Target) -> tuple[SpaceId, str]:
    return target.space, target.server
