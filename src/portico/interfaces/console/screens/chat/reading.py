"""What a page of a chat needs to know, asked for at the task of that chat alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.events import ToolWaits
from portico.agents.core.traces import AgentRunStatus, RunTrace, WholeTrace, opening
from portico.engine.core.errors import BadCursor
from portico.guard.core.approvals import Status
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.chat.asks import Ask, ask_of, ask_of_others
from portico.interfaces.console.screens.chat.thread import (
    ITEMS,
    ROOM,
    STATUSES,
    Stretch,
    items_of,
    stretch_of,
)
from portico.interfaces.console.talk import TalkTopic, chat_place
from portico.kernel.ids import BadId, RunId
from portico.kernel.principal import Principal

_RUNS: Final = 8
"""Of a talk that are read for one page of it."""
_WAITING: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Of a chat: what is above it and below it."""

    run: str
    title: str
    agent: str
    agent_id: str
    version: int
    model: str
    label: str
    state: str
    tone: str
    over: bool
    in_doubt: bool
    """It waits, and not for an approval: nobody knows whether a call of it was made."""
    failed: bool
    mine: bool
    error: str | None
    input: int
    output: int
    money: Decimal
    turns: int
    uses: int
    started_at: datetime
    took: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    trace: WholeTrace
    """Of its last run."""
    head: Head
    stretches: tuple[Stretch, ...]
    """Oldest first: a talk is a run that continues another."""
    earlier: str | None
    topic: str | None
    """What is followed; nothing of one that is over."""
    asks: Mapping[str, Sequence[Ask]]
    """By the step that waits."""
    past: bool
    """Not its end is shown, but what was said some time before."""


def run_named(text: str) -> RunId:
    """Raises `AgentRunNotFound`."""
    try:
        return RunId.parse(text)
    except BadId as error:
        raise AgentRunNotFound(text[:64]) from error


def seat(desk: Desk, run: RunId) -> Principal:
    """Whoever looks, at the task of this chat."""
    return desk.at(chat_place(run))


async def trace_of(desk: Desk, run: RunId) -> WholeTrace:
    """Raises `AgentRunNotFound`."""
    return await desk.house.agents.show_trace(seat(desk, run), run)


async def thread_of(desk: Desk, run: RunId, at: str | None = None) -> Thread:
    """The end of a talk; or, `at` where a page of it began, what comes before that. Raises
    `AgentRunNotFound`, `BadCursor`."""
    trace = await trace_of(desk, run)
    asks = await asks_of(desk, trace)
    head = head_of(desk, trace, asks)
    stretches, earlier = await _stretches(desk, trace, at, asks)
    topic = None if head.over or at is not None else str(TalkTopic(run, len(trace.turns)))
    return Thread(
        trace=trace,
        head=head,
        stretches=tuple(stretches),
        earlier=earlier,
        topic=topic,
        asks=asks,
        past=at is not None,
    )


async def _stretches(
    desk: Desk, newest: WholeTrace, at: str | None, asks: Mapping[str, Sequence[Ask]]
) -> tuple[Sequence[Stretch], str | None]:
    caller, run = seat(desk, newest.run.run), newest.run.run
    until: int | None = None
    if at is not None:
        run, until = _place(at)
    found: list[Stretch] = []
    room, items = ROOM, ITEMS
    for _ in range(_RUNS):
        try:
            same = run == newest.run.run
            trace = newest if same else await desk.house.agents.show_trace(caller, run)
        except AgentRunNotFound:
            return found, None  # not kept any more, or not for them
        every = items_of(trace, set(asks) if same else ())
        found.insert(0, stretch_of(str(run), every, until=until, room=room))
        room, items, until = room - found[0].size, items - len(found[0].items), None
        if found[0].start > 0:
            return found, f"{run}.{found[0].start}"
        if trace.run.continues is None:
            return found, None
        run = trace.run.continues
        if room <= 0 or items <= 0:
            break
    return found, f"{run}."


def _place(at: str) -> tuple[RunId, int | None]:
    """Raises `BadCursor`."""
    text, _, number = at.partition(".")
    try:
        run = RunId.parse(text)
    except BadId as error:
        raise BadCursor from error
    if number and not (number.isascii() and number.isdigit() and len(number) < 9):
        raise BadCursor
    return run, int(number) if number else None


async def asks_of(desk: Desk, trace: WholeTrace) -> Mapping[str, Sequence[Ask]]:
    """Which requests are this run's is found out elsewhere: whoever lists them has read them all,
    and this chat has read its own."""
    if trace.run.status is not AgentRunStatus.WAITING:
        return {}
    caller, run = seat(desk, trace.run.run), trace.run.run
    found: list[Ask] = []
    if caller.may(Scope.APPROVALS_ANSWER) and caller.may(Scope.APPROVALS_READ):
        show = desk.house.gateway.approvals.show_approval
        listed = await desk.house.gateway.approvals.list_approvals(
            desk.at("chat approvals"), statuses=[Status.WAITING], limit=_WAITING
        )
        its = [each.id for each in listed if each.waiter is not None and each.waiter.run == run]
        try:
            found = [ask_of(await show(caller, each), answerable=True) for each in its]
        except ApprovalNotFound:
            found = []
    if not found:
        waits = await desk.house.agent_runs.answer_of(caller, run, patience=timedelta(0))
        found = [ask_of_others(trace, waits)] if isinstance(waits, ToolWaits) else []
    steps: dict[str, list[Ask]] = {}
    for ask in found:
        steps.setdefault(ask.step, []).append(ask)
    return steps


def head_of(desk: Desk, trace: WholeTrace, asks: Mapping[str, Sequence[Ask]]) -> Head:
    run: RunTrace = trace.run
    state, tone = STATUSES[run.status]
    title = opening(trace.said[0].text) if trace.said else ""
    return Head(
        run=str(run.run),
        title=title or "A chat",
        agent=run.agent_name,
        agent_id=str(run.agent),
        version=run.agent_version,
        model=run.model,
        label=str(run.label),
        state=state,
        tone=tone,
        over=run.status.over,
        in_doubt=run.status is AgentRunStatus.WAITING and not asks,
        failed=run.status is AgentRunStatus.FAILED,
        mine=run.started_by == desk.caller.id,
        error=run.error,
        input=run.usage.input,
        output=run.usage.output,
        money=run.money,
        turns=len(trace.turns),
        uses=len(trace.uses),
        started_at=run.started_at,
        took=(run.ended_at or desk.now) - run.started_at,
    )
