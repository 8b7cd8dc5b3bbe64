"""Say something to an agent: to begin with, while it works, or after it has answered.

Each chat is a task of its own for a person who may open tasks. What they have read elsewhere in
the console is not held against it: they could open a clean task for it by hand, and whoever pastes
what they have read answers for that, and can say how secret it is. What was read in a chat stays
with it: a run that continues another begins with what that one has read, and one that is begun in
the place of another with what was seen of that.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from portico.agents.core.errors import AgentRunOver
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.agents.runs import AgentRunWish
from portico.engine.core.errors import RunNotOver
from portico.engine.core.idempotency import Answer
from portico.engine.idempotency import Ask
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.page import once as another
from portico.interfaces.console.screens.chat.reading import seat, trace_of
from portico.interfaces.console.talk import chat_place
from portico.kernel.ids import RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

LONGEST: Final = 200_000
"""Letters of one message."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Where what was said has gone: into the run that is on, or into another one."""

    run: RunId
    number: int | None = None
    """Among what people said to a run that is on."""


async def begun(
    desk: Desk, agent: str, message: str, *, once: str | None, label: Label | None = None
) -> RunId:
    """Raises what starting a run raises."""
    own = once or another(desk)
    wish = AgentRunWish(agent=agent, message=message, label=label, key=f"chat-{own}")
    started = await desk.house.agent_runs.start_agent_run(desk.at(chat_place(own)), wish)
    return started.run


async def said_to(desk: Desk, run: RunId, message: str, *, once: str | None) -> Heard:
    """Raises what starting a run raises, and what saying something to it does."""
    trace = await trace_of(desk, run)
    if not trace.run.status.over:
        with suppress(AgentRunOver):  # it may have ended just now
            return Heard(run, await _steered(desk, run, message, once))
    wish = AgentRunWish(agent=str(trace.run.agent), message=message, continues=run, key=_key(once))
    started = await desk.house.agent_runs.start_agent_run(_mouth(desk, run), wish)
    return Heard(started.run)


def _mouth(desk: Desk, run: RunId) -> Principal:
    """Who speaks into a chat, at a task in which nothing is ever read: the run knows what it has
    told, and better than a page does that shows it."""
    return desk.at(f"{chat_place(run)} said")


async def _steered(desk: Desk, run: RunId, message: str, once: str | None) -> int:
    async def action() -> Answer:
        said = await desk.house.agent_runs.steer_run(_mouth(desk, run), run, message)
        return Answer({"number": said.number})

    ask = Ask("chat.say", {"run": str(run), "message": message}, once)
    receipt = await desk.house.use.do_once(desk.caller, ask, action)
    return int(str(receipt.body["number"]))


async def branched(desk: Desk, run: RunId, message: str, *, once: str | None) -> RunId:
    """Another run in the place of this one: with another message, or the same once more. Raises
    what starting a run raises."""
    before = (await trace_of(desk, run)).run
    return await _instead(desk, seat(desk, run), before, message, once)


async def retried(desk: Desk, run: RunId, *, once: str | None) -> RunId:
    """One that failed goes on where it failed, and what was paid for stays; any other is asked the
    same again. Raises what starting a run raises."""
    trace = await trace_of(desk, run)
    if trace.run.status is AgentRunStatus.FAILED:
        with suppress(RunNotOver):
            await desk.house.agent_runs.resume_agent_run(_mouth(desk, run), run)
            return run
    message = trace.said[0].text if trace.said else ""
    return await _instead(desk, _mouth(desk, run), trace.run, message, once)


async def _instead(
    desk: Desk, speaker: Principal, before: RunTrace, message: str, once: str | None
) -> RunId:
    wish = AgentRunWish(
        agent=str(before.agent),
        message=message,
        continues=before.continues,
        history=before.history,
        key=_key(once),
    )
    started = await desk.house.agent_runs.start_agent_run(speaker, wish)
    return started.run


def _key(once: str | None) -> str | None:
    return None if once is None else f"chat-{once}"
