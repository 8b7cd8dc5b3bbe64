"""Chats: list, open, begin, send, stop, retry."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from portico.agents.core.agents import Agent, AgentFilter
from portico.agents.core.errors import AgentRunNotFound, AgentRunOver
from portico.agents.core.events import ToolCallAwaitingApproval
from portico.agents.core.traces import AgentRunStatus, RunTrace, TraceFilter, WholeTrace, opening
from portico.agents.runs import AgentRunSpec
from portico.engine.core.errors import InvalidCursor, RunNotOver
from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest as IdempotencyAsk
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Status, Via
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.principals import Scope
from portico.guard.core.rules import fits
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.live import RunEventTopic, chat_place
from portico.interfaces.console.page import (
    PageContext,
    PageNotFound,
    done,
    page,
    page_context,
    part,
    wants_part,
)
from portico.interfaces.console.page import once as another
from portico.interfaces.console.screens.approvals import written
from portico.interfaces.console.screens.chat_view import (
    ITEMS,
    ROOM,
    STATUSES,
    ApprovalPrompt,
    Chats,
    Mine,
    RunSection,
    Suggestion,
    ask_of,
    ask_of_others,
    chats_of,
    clipped,
    items_of,
    stretch_of,
    suggestions,
    turn_of,
    waterfall,
    whole_text,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, InvalidId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import LEVELS, Label
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
    stretches: tuple[RunSection, ...]
    """Oldest first: a talk is a run that continues another."""
    earlier: str | None
    topic: str | None
    """What is followed; nothing of one that is over."""
    asks: Mapping[str, Sequence[ApprovalPrompt]]
    """By the step that waits."""
    past: bool
    """Not its end is shown, but what was said some time before."""


def run_named(text: str) -> RunId:
    """Raises `AgentRunNotFound`."""
    try:
        return RunId.parse(text)
    except InvalidId as error:
        raise AgentRunNotFound(text[:64]) from error


def seat(desk: PageContext, run: RunId) -> Principal:
    """Whoever looks, at the task of this chat."""
    return desk.at(chat_place(run))


async def trace_of(desk: PageContext, run: RunId) -> WholeTrace:
    """Raises `AgentRunNotFound`."""
    return await desk.services.agents.show_trace(seat(desk, run), run)


async def thread_of(desk: PageContext, run: RunId, at: str | None = None) -> Thread:
    """The end of a talk; or, `at` where a page of it began, what comes before that. Raises
    `AgentRunNotFound`, `InvalidCursor`."""
    trace = await trace_of(desk, run)
    asks = await asks_of(desk, trace)
    head = head_of(desk, trace, asks)
    stretches, earlier = await _stretches(desk, trace, at, asks)
    topic = None if head.over or at is not None else str(RunEventTopic(run, len(trace.turns)))
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
    desk: PageContext,
    newest: WholeTrace,
    at: str | None,
    asks: Mapping[str, Sequence[ApprovalPrompt]],
) -> tuple[Sequence[RunSection], str | None]:
    caller, run = seat(desk, newest.run.run), newest.run.run
    until: int | None = None
    if at is not None:
        run, until = _place(at)
    found: list[RunSection] = []
    room, items = ROOM, ITEMS
    for _ in range(_RUNS):
        try:
            same = run == newest.run.run
            trace = newest if same else await desk.services.agents.show_trace(caller, run)
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
    """Raises `InvalidCursor`."""
    text, _, number = at.partition(".")
    try:
        run = RunId.parse(text)
    except InvalidId as error:
        raise InvalidCursor from error
    if number and not (number.isascii() and number.isdigit() and len(number) < 9):
        raise InvalidCursor
    return run, int(number) if number else None


async def asks_of(desk: PageContext, trace: WholeTrace) -> Mapping[str, Sequence[ApprovalPrompt]]:
    """Which requests are this run's is found out elsewhere: whoever lists them has read them all,
    and this chat has read its own."""
    if trace.run.status is not AgentRunStatus.WAITING:
        return {}
    caller, run = seat(desk, trace.run.run), trace.run.run
    found: list[ApprovalPrompt] = []
    if caller.may(Scope.APPROVALS_ANSWER) and caller.may(Scope.APPROVALS_READ):
        show = desk.services.gateway.approvals.show_approval
        listed = await desk.services.gateway.approvals.list_approvals(
            desk.at("chat approvals"), statuses=[Status.WAITING], limit=_WAITING
        )
        its = [each.id for each in listed if each.waiter is not None and each.waiter.run == run]
        try:
            found = [ask_of(await show(caller, each), answerable=True) for each in its]
        except ApprovalNotFound:
            found = []
    if not found:
        waits = await desk.services.agent_runs.answer_of(caller, run, patience=timedelta(0))
        found = [ask_of_others(trace, waits)] if isinstance(waits, ToolCallAwaitingApproval) else []
    steps: dict[str, list[ApprovalPrompt]] = {}
    for ask in found:
        steps.setdefault(ask.step, []).append(ask)
    return steps


def head_of(
    desk: PageContext, trace: WholeTrace, asks: Mapping[str, Sequence[ApprovalPrompt]]
) -> Head:
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


# Each chat has a task context of its own for a person who may open some. What they have read
# elsewhere in the console does not count against it: they could open a clean one by hand, and
# whoever pastes text answers for it and can label it. What was read in a chat stays with it: a run
# that continues another begins with what that one has read.

LONGEST: Final = 200_000
"""Letters of one message."""


@dataclass(frozen=True, slots=True)
class MessageDelivery:
    """Where what was said has gone: into the run that is on, or into another one."""

    run: RunId
    number: int | None = None
    """Among what people said to a run that is on."""


async def begun(
    desk: PageContext, agent: str, message: str, *, once: str | None, label: Label | None = None
) -> RunId:
    """Raises what starting a run raises."""
    own = once or another(desk)
    wish = AgentRunSpec(agent=agent, message=message, label=label, key=f"chat-{own}")
    started = await desk.services.agent_runs.start_agent_run(desk.at(chat_place(own)), wish)
    return started.run


async def said_to(
    desk: PageContext, run: RunId, message: str, *, once: str | None
) -> MessageDelivery:
    """Raises what starting a run raises, and what saying something to it does."""
    trace = await trace_of(desk, run)
    if not trace.run.status.over:
        with suppress(AgentRunOver):  # it may have ended just now
            return MessageDelivery(run, await _steered(desk, run, message, once))
    wish = AgentRunSpec(agent=str(trace.run.agent), message=message, continues=run, key=_key(once))
    started = await desk.services.agent_runs.start_agent_run(_mouth(desk, run), wish)
    return MessageDelivery(started.run)


def _mouth(desk: PageContext, run: RunId) -> Principal:
    """Who speaks into a chat, at a task in which nothing is ever read: the run knows what it has
    told, and better than a page does that shows it."""
    return desk.at(f"{chat_place(run)} said")


async def _steered(desk: PageContext, run: RunId, message: str, once: str | None) -> int:
    async def action() -> StoredResponse:
        said = await desk.services.agent_runs.steer_run(_mouth(desk, run), run, message)
        return StoredResponse({"number": said.number})

    ask = IdempotencyAsk("chat.say", {"run": str(run), "message": message}, once)
    receipt = await desk.services.use.do_once(desk.caller, ask, action)
    return int(str(receipt.body["number"]))


async def branched(desk: PageContext, run: RunId, message: str, *, once: str | None) -> RunId:
    """Another run in the place of this one: with another message, or the same once more. Raises
    what starting a run raises."""
    before = (await trace_of(desk, run)).run
    return await _instead(desk, seat(desk, run), before, message, once)


async def retried(desk: PageContext, run: RunId, *, once: str | None) -> RunId:
    """One that failed goes on where it failed, and what was paid for stays; any other is asked the
    same again. Raises what starting a run raises."""
    trace = await trace_of(desk, run)
    if trace.run.status is AgentRunStatus.FAILED:
        with suppress(RunNotOver):
            await desk.services.agent_runs.resume_agent_run(_mouth(desk, run), run)
            return run
    message = trace.said[0].text if trace.said else ""
    return await _instead(desk, _mouth(desk, run), trace.run, message, once)


async def _instead(
    desk: PageContext, speaker: Principal, before: RunTrace, message: str, once: str | None
) -> RunId:
    wish = AgentRunSpec(
        agent=str(before.agent),
        message=message,
        continues=before.continues,
        history=before.history,
        key=_key(once),
    )
    started = await desk.services.agent_runs.start_agent_run(speaker, wish)
    return started.run


def _key(once: str | None) -> str | None:
    return None if once is None else f"chat-{once}"


LIST: Final = 40
SIDE: Final = 20
_AGENTS: Final = 200
_SAID: Final = {"stopped": "It stops before its next step. What it has said by then is its answer."}


async def drawn(request: Request, problem: PorticoError | None, typed: str = "") -> Response:
    """The list, and the form for another one."""
    desk, asked = page_context(request), request.query_params
    text = asked.get("q", "").strip()[:200]
    hidden = [each for each in asked.get("hides", "").split(".") if each][:100]
    chats = await own_chats(desk, text or None, asked.get("before"), hidden, LIST)
    agents = await _agents(desk)
    wanted = asked.get("agent", "")
    chosen = next((each for each in agents if each.name == wanted), agents[0] if agents else None)
    values: dict[str, Any] = {
        "chats": chats,
        "text": text,
        "agents": agents,
        "chosen": chosen,
        "suggestions": await _suggestions(desk, chosen),
        "typed": typed or asked.get("say", "")[:2000],
        "labels": [name for name, level in LEVELS.items() if level <= desk.caller.clearance.level],
        "problem": problem,
        "first": asked.get("before") is None,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "chat/page.html", values, title="Chat", status=status)


async def drawn_one(request: Request, problem: PorticoError | None, typed: str = "") -> Response:
    desk = page_context(request)
    run = run_named(request.path_params["run"])
    thread = await thread_of(desk, run, request.query_params.get("at"))
    values = {
        "thread": thread,
        "head": thread.head,
        "chats": await own_chats(desk, None, None, (), SIDE),
        "fall": waterfall(thread.trace, desk.now),
        "problem": problem,
        "typed": typed,
        "pane": False,
        "say": f"/chat/{run}/say",
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    status = 200 if problem is None else status_of(problem)
    title = thread.head.title
    return await page(request, "chat/thread.html", values, title=title, status=status)


async def turn_part(request: Request, desk: PageContext, run: RunId, number: int) -> Response:
    """One turn as it is written down; nothing if it is not. Raises `AgentRunNotFound`."""
    trace = await trace_of(desk, run)
    found = next((each for each in trace.turns if each.number == number), None)
    if found is None:
        return Response(status_code=204)
    asks = await asks_of(desk, trace)
    head = head_of(desk, trace, asks)
    values = {"item": turn_of(trace, found, set(asks)), "asks": asks, "head": head}
    return part(request, "chat/_turn.html", values)


async def own_chats(
    desk: PageContext, text: str | None, before: str | None, hidden: Sequence[str], limit: int
) -> Chats:
    if not desk.caller.may(Scope.AGENTS_READ):
        return Chats((), (), None)
    which = TraceFilter(mine=True, text=text)
    found = await desk.services.agents.list_traces(
        desk.at("chats"), which, before=before, limit=limit
    )
    return chats_of(found, hidden, limit)


async def _agents(desk: PageContext) -> Sequence[Agent]:
    if not desk.caller.may(Scope.AGENTS_READ):
        return []
    return await desk.services.agents.list_agents(
        desk.caller, AgentFilter(), after=None, limit=_AGENTS
    )


async def _suggestions(desk: PageContext, agent: Agent | None) -> Sequence[Suggestion]:
    if agent is None:
        return []
    tools: list[str] = []
    if agent.spec.tools and desk.caller.may(Scope.SERVERS_READ):
        every = await desk.services.gateway.list_tools(desk.caller)
        live = [str(each.tool.ref) for each in every if each.status is ToolStatus.LIVE]
        tools = [each for each in live if fits(each, agent.spec.tools)]
    return suggestions(tools)


_ANSWERS: Final = tuple(AnswerKind)
AT_END: Final = {"HX-Retarget": "#chat", "HX-Reswap": "beforeend"}


async def begin(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    try:
        agent, message = form.text("agent", most=60), form.text("message", most=LONGEST)
        chosen = form.maybe("label", most=20)
        label = None if chosen is None else Label(LEVELS[form.one_of("label", tuple(LEVELS))])
        run = await begun(desk, agent, message, once=form.once, label=label)
    except PorticoError as problem:
        return await drawn(request, problem, _typed(form))
    return done(f"/chat/{run}")


async def say(request: Request) -> Response:
    """Into the run that is on; or, if it is over, into another that continues it."""
    desk, run = page_context(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        message = form.text("message", most=LONGEST)
        heard = await said_to(desk, run, message, once=form.once)
    except PorticoError as problem:
        return await _trouble(request, problem, _typed(form))
    if heard.run != run or not wants_part(request):
        return moved(request, f"/chat/{heard.run}")
    return said_part(request, run, heard.number or 0, message)


def said_part(request: Request, run: RunId, number: int, message: str) -> Response:
    mine = Mine(
        key=f"{run}-said-{number}",
        number=number,
        said=clipped(message),
        at=page_context(request).now,
        waits=True,
        changeable=False,
    )
    values = {"item": mine, "run": str(run), "head": None, "pane": False}
    response = part(request, "chat/_mine.html", values)
    response.headers.update(AT_END)
    return response


async def stop(request: Request) -> Response:
    desk, run = page_context(request), run_named(request.path_params["run"])
    try:
        await desk.services.agent_runs.stop_run(seat(desk, run), run)
    except PorticoError as problem:
        return await _trouble(request, problem)
    return Response(status_code=204) if wants_part(request) else done(f"/chat/{run}", "stopped")


async def again(request: Request) -> Response:
    desk, run = page_context(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        to = await retried(desk, run, once=form.once)
    except PorticoError as problem:
        return await _trouble(request, problem)
    return moved(request, f"/chat/{to}")


async def branch(request: Request) -> Response:
    """The message once more, changed: what came before it stays, and so does this run."""
    desk, run = page_context(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        to = await branched(desk, run, form.text("message", most=LONGEST), once=form.once)
    except PorticoError as problem:
        return await _trouble(request, problem, _typed(form))
    return moved(request, f"/chat/{to}")


async def answer(request: Request) -> Response:
    """The use case of the inbox, in the chat that waits for it."""
    desk, run = page_context(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        approval = ApprovalId.parse(request.path_params["approval"])
        reply = Reply(
            kind=AnswerKind(form.one_of("answer", _ANSWERS)),
            via=Via.WEB,
            reason=form.maybe("reason", most=500),
            arguments=_arguments(form),
        )
        await desk.services.gateway.approvals.answer_approval(seat(desk, run), approval, reply)
    except PorticoError as problem:
        return await _trouble(request, problem)
    number = form.whole("turn", most=10**6)
    if number is None or not wants_part(request):
        return done(f"/chat/{run}")
    return await turn_part(request, desk, run, number)


def _arguments(form: Form) -> JsonObject | None:
    """None if they are to stay as they are. Raises `InvalidForm`."""
    typed = form.maybe("arguments", most=LONGEST)
    if typed is None:
        return None
    return written(typed)


def moved(request: Request, to: str) -> Response:
    if wants_part(request):
        return Response(status_code=204, headers={"HX-Redirect": to})
    return done(to)


async def _trouble(request: Request, problem: PorticoError, typed: str = "") -> Response:
    """In the chat itself: what was typed is still there."""
    if wants_part(request):
        return trouble_part(request, problem)
    return await drawn_one(request, problem, typed)


def trouble_part(request: Request, problem: PorticoError, at: str = "#chat") -> Response:
    """At the end of the chat, wherever its answer was to go."""
    values = {"problem": problem}
    response = part(request, "chat/_trouble.html", values, status=status_of(problem))
    response.headers.update({**AT_END, "HX-Retarget": at})
    return response


def _typed(form: Form) -> str:
    return "".join(form.fields.get("message", ("",))[:1])[:LONGEST]


async def show(request: Request) -> Response:
    return await drawn(request, None)


async def show_one(request: Request) -> Response:
    return await drawn_one(request, None)


async def rows(request: Request) -> Response:
    chats = await own_chats(page_context(request), None, None, (), LIST)
    return part(request, "chat/_list.html", {"chats": chats, "first": True, "text": ""})


async def side(request: Request) -> Response:
    desk, run = page_context(request), run_named(request.path_params["run"])
    chats = await own_chats(desk, None, None, (), SIDE)
    return part(request, "chat/_side.html", {"chats": chats, "head": {"run": str(run)}})


async def earlier(request: Request) -> Response:
    desk, run = page_context(request), run_named(request.path_params["run"])
    thread = await thread_of(desk, run, request.query_params.get("at", f"{run}.0"))
    values = {"thread": thread, "head": thread.head, "pane": _pane(request)}
    return part(request, "chat/_earlier.html", values)


async def turn(request: Request) -> Response:
    """One turn as it is written down: what replaces the words that came in one by one."""
    desk, run = page_context(request), run_named(request.path_params["run"])
    return await turn_part(request, desk, run, request.path_params["number"])


async def foot(request: Request) -> Response:
    desk, run = page_context(request), run_named(request.path_params["run"])
    trace = await trace_of(desk, run)
    head = head_of(desk, trace, await asks_of(desk, trace))
    return part(request, "chat/_foot.html", {"head": head, "pane": _pane(request)})


async def trace_part(request: Request) -> Response:
    desk, run = page_context(request), run_named(request.path_params["run"])
    trace = await trace_of(desk, run)
    fall = waterfall(trace, desk.now)
    return part(request, "chat/_trace.html", {"fall": fall, "head": head_of(desk, trace, {})})


async def whole(request: Request) -> Response:
    """A text to its last letter, as text."""
    desk, run = page_context(request), run_named(request.path_params["run"])
    text = whole_text(await trace_of(desk, run), request.path_params["what"])
    if text is None:
        raise PageNotFound
    return PlainTextResponse(text.encode(errors="replace"))


def _pane(request: Request) -> bool:
    """Whether it is drawn beside the form of an agent."""
    return "pane" in request.query_params


routes: Final = [
    Route("/chat", show, methods=["GET"]),
    Route("/chat", begin, methods=["POST"]),
    Route("/chat/rows", rows, methods=["GET"]),
    Route("/chat/{run}", show_one, methods=["GET"]),
    Route("/chat/{run}/side", side, methods=["GET"]),
    Route("/chat/{run}/earlier", earlier, methods=["GET"]),
    Route("/chat/{run}/turns/{number:int}", turn, methods=["GET"]),
    Route("/chat/{run}/foot", foot, methods=["GET"]),
    Route("/chat/{run}/trace", trace_part, methods=["GET"]),
    Route("/chat/{run}/text/{what}", whole, methods=["GET"]),
    Route("/chat/{run}/say", say, methods=["POST"]),
    Route("/chat/{run}/stop", stop, methods=["POST"]),
    Route("/chat/{run}/again", again, methods=["POST"]),
    Route("/chat/{run}/branch", branch, methods=["POST"]),
    Route("/chat/{run}/approvals/{approval}", answer, methods=["POST"]),
]
