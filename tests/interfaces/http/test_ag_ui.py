"""Agents for AG-UI clients: every event is one of theirs, in an order that theirs take."""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Event,
    ReasoningMessageContentEvent,
    ResumeEntry,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic import TypeAdapter

from portico.agents.core.events import (
    InputReceived,
    ReasoningDelta,
    RunNotice,
    ToolCallFinished,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_requests import AssistantMessage, Usage, UserMessage
from portico.agents.core.traces import AgentRunStatus
from portico.guard.core.approvals import AnswerKind
from portico.interfaces.http.ag_ui import answers
from portico.kernel.ids import ApprovalId, RunId
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.interfaces.http.ag_ui_order import in_order
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.desk import Desk, a_tool, opened, text
from tests.interfaces.http.streaming import Stream
from tests.interfaces.http.test_approvals import agent

PATH = "/api/v1/agents/clerk/ag-ui"
EVENT: TypeAdapter[BaseEvent] = TypeAdapter(Event)
SENT = ToolCallFinished(
    turn=1, call="c1", tool="mail.send", text="Sent.", failed=False, seconds=1.0
)


@pytest.fixture
async def desk(site: Site) -> Desk:
    return await opened(site)


def asking(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    asked = [{"id": "m1", "role": "user", "content": "Write to Bob."}]
    return {"threadId": "t1", "runId": "r1", "messages": [*messages] or asked, **more}


def raw(stream: Stream) -> list[dict[str, Any]]:
    return [message.data for message in stream.messages if message.data is not None]


def events(stream: Stream) -> Sequence[BaseEvent]:
    """Each read by the published types, and all of them in an order that their client takes."""
    in_order(raw(stream))
    found = [EVENT.validate_python(each) for each in raw(stream)]
    assert all(not each.model_extra for each in found)
    return found


def of(stream: Stream, kind: type[Any]) -> list[Any]:
    return [each for each in events(stream) if isinstance(each, kind)]


def said(stream: Stream) -> str:
    return "".join(each.delta for each in of(stream, TextMessageContentEvent))


async def begun(stream: Stream) -> RunId:
    await stream.until(lambda: raw(stream) if stream.body.endswith(b"\n\n") else [])
    return RunId.parse(raw(stream)[0]["metadata"]["portico"]["run"])


async def completed(stream: Stream) -> None:
    await stream.until(lambda: stream.complete)


async def test_a_run_with_words_thoughts_and_tools_is_told_in_their_events(desk: Desk) -> None:
    async with desk.stream(PATH, asking()) as stream:
        run = await begun(stream)
        used = Usage(input=10, output=2)
        await desk.tell(
            run,
            TurnStarted(turn=1, model="local:small"),
            ReasoningDelta(turn=1, attempt=1, offset=0, text="Hm."),
            text("I shall "),
            text("write.", 8),
            a_tool(),
            text(" Now.", 14),
            TurnFinished(turn=1, model="local:small", usage=used, money=Decimal(1)),
            SENT,
            RunNotice(code="fallback", message="Another model answers."),
            InputReceived(number=2, text="Quick!"),
            TurnStarted(turn=2, model="local:small"),
            text("It is sent.", turn=2),
            TurnFinished(turn=2, model="local:small", usage=used, money=Decimal(1)),
        )
        await desk.ends(run)
        await completed(stream)

    assert [each.type.value for each in events(stream)] == [
        "RUN_STARTED",
        "STEP_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_RESULT",
        "CUSTOM",
        "CUSTOM",
        "STEP_FINISHED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ]
    [start] = of(stream, RunStartedEvent)
    assert (start.thread_id, start.run_id, start.protocol_version) == ("t1", "r1", "1.0")
    [call] = of(stream, ToolCallStartEvent)
    [result] = of(stream, ToolCallResultEvent)
    assert (call.tool_call_name, result.tool_call_id) == ("mail.send", call.tool_call_id)
    assert result.content == "Sent."
    [end] = of(stream, RunFinishedEvent)
    assert end.outcome.type == "success"
    assert end.result == {"answer": "It is sent."}
    [usage] = end.usage
    assert (usage.provider, usage.model, usage.total_tokens) == ("local", "small", 24)
    [thought] = of(stream, ReasoningMessageContentEvent)
    assert thought.delta == "Hm."


async def interrupted(desk: Desk) -> tuple[RunId, ApprovalId, Stream]:
    async with desk.stream(PATH, asking()) as stream:
        run = await begun(stream)
        await desk.tell(run, TurnStarted(turn=1, model="local:small"), text("I shall write."))
        approval = await desk.waits(run)
        await completed(stream)
    return run, approval, stream


async def answered(desk: Desk, approval: ApprovalId) -> Any:
    return (await desk.ask("GET", f"/api/v1/approvals/{approval}")).json


def resuming(stream: Stream, payload: object, **more: Any) -> dict[str, Any]:
    [end] = of(stream, RunFinishedEvent)
    assert isinstance(end.outcome, RunFinishedInterruptOutcome)
    entries = [
        {"interruptId": each.id, "status": "resolved", "payload": payload, **more}
        for each in end.outcome.interrupts
    ]
    return asking(resume=entries, runId="r2")


async def test_what_has_to_be_approved_is_an_interrupt(desk: Desk) -> None:
    run, approval, stream = await interrupted(desk)

    [end] = of(stream, RunFinishedEvent)
    [interrupt] = end.outcome.interrupts
    [call] = of(stream, ToolCallStartEvent)
    assert interrupt.id == f"{run}.{approval}"
    assert interrupt.tool_call_id == call.tool_call_id
    assert interrupt.reason == "tool_call"
    assert interrupt.response_schema["required"] == ["approved"]
    assert interrupt.expires_at is not None


async def test_resuming_answers_and_goes_on_where_it_was(desk: Desk) -> None:
    run, approval, before = await interrupted(desk)

    async with desk.stream(PATH, resuming(before, {"approved": True})) as stream:
        await begun(stream)
        await desk.tell(run, SENT, TurnStarted(turn=2, model="local:small"))
        await desk.tell(run, text("It is sent.", turn=2))
        await desk.ends(run)
        await completed(stream)

    given = await answered(desk, approval)
    assert (given["status"], given["answered"]["answer"]) == ("approved", "once")
    [call] = of(before, ToolCallStartEvent)
    [result] = of(stream, ToolCallResultEvent)
    assert result.tool_call_id == call.tool_call_id
    assert said(stream) == "It is sent."
    [start] = of(stream, RunStartedEvent)
    [end] = of(stream, RunFinishedEvent)
    assert (start.run_id, end.outcome.type) == ("r2", "success")
    assert await desk.started() == [run]


@pytest.mark.parametrize(
    ("payload", "more"),
    [({"approved": False, "reason": "Not today."}, {}), (None, {"status": "cancelled"})],
)
async def test_a_no_is_a_no(desk: Desk, payload: object, more: dict[str, Any]) -> None:
    run, approval, before = await interrupted(desk)

    async with desk.stream(PATH, resuming(before, payload, **more)) as stream:
        await begun(stream)
        await desk.ends(run, "Then not.")
        await completed(stream)

    assert (await answered(desk, approval))["status"] == "rejected"
    assert said(stream) == "Then not."


def test_an_edited_yes_is_a_yes_to_something_else() -> None:
    named = f"{RunId.mint(BEGINNING, SeededEntropy('r'))}"
    approval = ApprovalId.mint(BEGINNING, SeededEntropy("a"))
    payload = {"approved": True, "editedArgs": {"to": "eve@else.example"}}
    entry = ResumeEntry(interrupt_id=f"{named}.{approval}", status="resolved", payload=payload)

    run, [(which, reply)] = answers([entry])

    assert (str(run), which) == (named, approval)
    assert (reply.kind, reply.arguments) == (AnswerKind.ONCE, {"to": "eve@else.example"})


async def test_nothing_is_taken_for_a_yes(desk: Desk) -> None:
    _, approval, before = await interrupted(desk)

    strange = {"interruptId": "x", "status": "resolved", "payload": {"approved": True}}
    for wish in (
        asking(resume=[strange]),
        *(
            resuming(before, each)
            for each in (None, True, {}, {"approved": "yes"}, {"approved": 1})
        ),
    ):
        async with desk.stream(PATH, wish) as stream:
            await completed(stream)

        [error] = of(stream, RunErrorEvent)
        assert error.code == "bad_resume"
        assert (await answered(desk, approval))["status"] == "waiting"


async def test_whoever_may_not_answer_is_interrupted_again_and_told_why(desk: Desk) -> None:
    made = {"name": "front end", "scopes": ["agents:run"], "clearance": "team"}
    key = (await desk.ask("POST", "/api/v1/keys", made)).json["key"]
    _, approval, before = await interrupted(desk)

    async with desk.stream(PATH, resuming(before, {"approved": True}), key=key) as stream:
        await completed(stream)

    [end] = of(stream, RunFinishedEvent)
    [interrupt] = end.outcome.interrupts
    assert interrupt.id.endswith(str(approval))
    assert "approvals:answer" in interrupt.message
    assert (await answered(desk, approval))["status"] == "waiting"


async def test_what_somebody_else_has_answered_goes_on(desk: Desk) -> None:
    run, approval, before = await interrupted(desk)
    await desk.ask("POST", f"/api/v1/approvals/{approval}/answer", {"answer": "once"})
    await desk.tell(run, SENT, text("It is sent.", turn=2))
    await desk.ends(run)

    async with desk.stream(PATH, resuming(before, {"approved": True})) as stream:
        await completed(stream)

    assert said(stream) == "It is sent."


async def test_another_approval_is_another_interrupt(desk: Desk) -> None:
    run, _, before = await interrupted(desk)

    async with desk.stream(PATH, resuming(before, {"approved": True})) as stream:
        await begun(stream)
        await desk.tell(run, SENT)
        second = await desk.waits(run, "two", call="c2")
        await completed(stream)

    [end] = of(stream, RunFinishedEvent)
    assert [each.id for each in end.outcome.interrupts] == [f"{run}.{second}"]


async def test_a_run_of_somebody_else_is_not_resumed(desk: Desk) -> None:
    _, approval, before = await interrupted(desk)
    key, _ = await agent(desk.site, "stranger")

    async with desk.stream(PATH, resuming(before, {"approved": True}), key=key) as stream:
        await completed(stream)

    [error] = of(stream, RunErrorEvent)
    assert error.code == "agent_run_not_found"
    assert (await answered(desk, approval))["status"] == "waiting"


async def test_the_next_question_of_a_thread_continues_the_run_before(desk: Desk) -> None:
    async with desk.stream(PATH, asking()) as stream:
        run = await begun(stream)
        await desk.tell(run, text("It is sent."))
        await desk.ends(run)
        await completed(stream)
    [message] = of(stream, TextMessageStartEvent)
    thread = [
        {"id": "m1", "role": "user", "content": "Write to Bob."},
        {"id": message.message_id, "role": "assistant", "content": "It is sent."},
        {"id": "m2", "role": "user", "content": "And"},
        {"id": "m3", "role": "user", "content": "to Eve."},
    ]

    async with desk.stream(PATH, asking(*thread, runId="r2")) as stream:
        other = await begun(stream)

    trace = await desk.trace(other)
    assert trace.run.continues == run
    assert trace.said[0].text == "And\n\nto Eve."


async def test_a_talk_with_others_is_history(desk: Desk) -> None:
    thread: list[dict[str, Any]] = [
        {"id": "s", "role": "system", "content": "Be brief."},
        {"id": "m1", "role": "user", "content": "Good day."},
        {"id": "m2", "role": "assistant", "content": "Yes?"},
        {"id": "m3", "role": "user", "content": [{"type": "text", "text": "Write."}]},
    ]
    about = [{"description": "The page", "value": "letters"}]

    async with desk.stream(PATH, asking(*thread, context=about)) as stream:
        trace = await desk.trace(await begun(stream))

    assert trace.run.history == (
        UserMessage("Be brief.\n\nThe page: letters\n\nGood day."),
        AssistantMessage("Yes?"),
    )
    assert trace.said[0].text == "Write."


async def test_the_same_request_sent_again_finds_its_run(desk: Desk) -> None:
    async with desk.stream(PATH, asking()) as stream:
        run = await begun(stream)
    await desk.ends(run)
    async with desk.stream(PATH, asking()) as stream:
        await completed(stream)

    assert said(stream) == "It is sent."
    assert await desk.started() == [run]


async def test_what_an_agent_cannot_do_for_its_client_is_said(desk: Desk) -> None:
    tools = [{"name": "alert", "description": "Show it."}]

    async with desk.stream(PATH, asking(tools=tools, state={"n": 1})) as stream:
        await desk.ends(await begun(stream))
        await completed(stream)

    notes = [each.value["message"] for each in of(stream, CustomEvent)]
    assert [note.split(":")[0] for note in notes] == [
        "The agent has tools of its own, and calls none of its client's.",
        "The agent keeps no state that it shares with its client.",
    ]


async def test_words_that_are_said_anew_are_another_message(desk: Desk) -> None:
    async with desk.stream(PATH, asking()) as stream:
        run = await begun(stream)
        await desk.tell(run, text("Good d"), text("Hello.", attempt=2))
        await desk.ends(run, "Hello.")
        await completed(stream)

    first, second = of(stream, TextMessageStartEvent)
    [void] = of(stream, CustomEvent)
    assert void.value == {"messageId": first.message_id}
    assert second.message_id != first.message_id


@pytest.mark.parametrize(
    ("status", "end"),
    [
        (AgentRunStatus.FAILED, "RUN_ERROR"),
        (AgentRunStatus.EXHAUSTED, "RUN_ERROR"),
        (AgentRunStatus.STOPPED, "RUN_FINISHED"),
    ],
)
async def test_a_run_that_does_not_complete_ends_as_it_did(
    desk: Desk, status: AgentRunStatus, end: str
) -> None:
    async with desk.stream(PATH, asking()) as stream:
        run = await begun(stream)
        await desk.tell(run, text("So far."))
        await desk.ends(run, "So far.", status=status, error="It broke.", error_code="broke")
        await completed(stream)

    last = raw(stream)[-1]
    assert last["type"] == end
    assert last.get("outcome", {"type": "cancelled"})["type"] == "cancelled"
    assert last.get("code", "broke") == "broke"


async def test_what_is_no_input_is_a_problem_with_its_fields(desk: Desk) -> None:
    answer = await desk.ask("POST", PATH, {"threadId": 1, "messages": [{"role": "eve"}]})
    nobody = await desk.ask("POST", "/api/v1/agents/nobody/ag-ui", asking())
    nothing = await desk.ask("POST", PATH, asking({"id": "1", "role": "user", "content": ""}))

    assert answer.status == 422
    assert [each["field"] for each in answer.json["errors"]] == ["threadId", "runId", "messages.0"]
    assert (nobody.status, nobody.json["code"]) == (404, "agent_not_found")
    assert (nothing.status, nothing.json["code"]) == (422, "no_question")


async def test_what_cannot_be_kept_is_no_question(desk: Desk) -> None:
    for content in ("a\x00b", "a\ud83d"):
        message = {"id": "1", "role": "user", "content": content}
        answer = await desk.ask("POST", PATH, asking(message))
        assert (answer.status, answer.json["code"]) == (422, "invalid_request")
    assert await desk.started() == []


async def test_what_only_spells_such_a_letter_out_is_text(desk: Desk) -> None:
    words = "Is [\\u0000-\\u001f] right?"

    async with desk.stream(PATH, asking({"id": "1", "role": "user", "content": words})) as stream:
        trace = await desk.trace(await begun(stream))

    assert trace.said[0].text == words


def test_the_check_of_the_order_finds_what_is_out_of_order() -> None:
    start = {"type": "RUN_STARTED"}
    with pytest.raises(AssertionError):
        in_order(
            [start, {"type": "TEXT_MESSAGE_START", "messageId": "a"}, {"type": "RUN_FINISHED"}]
        )
    with pytest.raises(AssertionError):
        in_order([start, json.loads('{"type": "TEXT_MESSAGE_CONTENT", "messageId": "a"}'), start])
