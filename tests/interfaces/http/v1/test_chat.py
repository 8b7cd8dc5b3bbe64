"""Chat completions: an agent or a debate answers, whole or in chunks."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.adapters.tokens import O200k
from portico.agents.core.events import (
    AgentEvent,
    ReasoningDelta,
    RunNotice,
    ToolCallFinished,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_requests import AssistantMessage, Finish, Usage, UserMessage
from portico.agents.core.traces import AgentRunStatus
from portico.debate.core.debates import DebateStatus
from portico.debate.core.errors import DebaterInterrupted
from portico.guard.core.principals import Scope
from portico.interfaces.http.streaming import Manners
from portico.kernel.ids import ApprovalId, RunId
from tests.interfaces.http.asgi import Answer, Header, bearing
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.desk import Desk, a_tool, joined, opened, text
from tests.interfaces.http.memory import NAMES
from tests.interfaces.http.streaming import Stream, streaming
from tests.interfaces.http.test_permissions import key_with

PATH = "/v1/chat/completions"


@pytest.fixture
async def held(site: Site) -> AsyncIterator[Site]:
    async with site.working():
        yield site


def asking(question: str = "Is the heron a bird?", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": "debate/vote", "messages": messages, **more}


async def chat(site: Site, body: Any, *headers: Header) -> Answer:
    return await site.ask("POST", PATH, body, headers=headers)


async def test_the_answer_comes_with_its_probability_and_what_it_cost(held: Site) -> None:
    held.debates.say("yes", "yes", "yes", "yes")

    answer = await chat(held, asking())

    assert answer.status == 200, answer.json
    [choice] = answer.json["choices"]
    text = choice["message"]["content"]
    assert text.startswith("yes\n\n> Decided: yes (")
    told = choice["message"]["reasoning_content"]
    assert f"{NAMES[0]}: yes" in told
    assert "Not done: " in told
    assert ", as " in told
    assert "Left out" not in told
    assert choice["finish_reason"] == "stop"
    usage = answer.json["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert answer.json["id"] == f"chatcmpl-{answer.headers['portico-debate']}"


async def test_dissent_is_told(held: Site) -> None:
    held.debates.say("yes", "no", "yes", "yes")

    answer = await chat(held, asking())

    text = answer.json["choices"][0]["message"]["content"]
    assert "> Dissent:\n> - no (" in text
    assert NAMES[1] in text


async def test_no_decision_is_an_answer(held: Site) -> None:
    for voice in held.debates.voices.debaters.values():
        voice.says = DebaterInterrupted(voice.name, "it is tired.")

    answer = await chat(held, asking())

    message = answer.json["choices"][0]["message"]
    assert message["content"].startswith("> No decision: nobody gave an answer")
    assert "gave no answer" in message["reasoning_content"]


async def test_a_stream_tells_each_voice_and_then_the_answer(held: Site) -> None:
    held.debates.say("yes", "yes", "yes", "yes")
    headers = bearing(held.key)
    body = asking(stream=True, stream_options={"include_usage": True})

    async with streaming(held.app, PATH, headers, body=body) as stream:
        await stream.until(lambda: stream.complete)

    assert stream.body.endswith(b"data: [DONE]\n\n")
    chunks = [
        json.loads(block.removeprefix("data: "))
        for block in stream.body.decode().split("\n\n")[:-1]
        if block != "data: [DONE]"
    ]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert any(NAMES[0] in delta.get("reasoning_content", "") for delta in deltas)
    said = [delta["content"] for delta in deltas if delta.get("content")]
    assert "".join(said).startswith("yes\n\n> Decided")
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] > 0
    assert stream.headers["portico-debate"].startswith("dbt_")


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
async def test_an_answer_is_cut_off_where_the_program_has_room_for_no_more(
    held: Site, limit: str
) -> None:
    held.debates.say("yes", "yes", "yes", "yes")
    whole = (await chat(held, asking())).json["choices"][0]["message"]["content"]

    [choice] = (await chat(held, {**asking(), limit: 5})).json["choices"]

    text = choice["message"]["content"]
    assert choice["finish_reason"] == "length"
    assert whole.startswith(text)
    assert 0 < O200k().count(text) <= 5 < O200k().count(whole)


async def test_a_stream_is_cut_off_as_well(held: Site) -> None:
    headers = bearing(held.key)

    async with streaming(held.app, PATH, headers, body=asking(stream=True, max_tokens=1)) as stream:
        await stream.until(lambda: stream.complete)

    assert b'"finish_reason":"length"' in stream.body
    assert b"Decided" not in stream.body


async def test_what_was_said_before_is_what_it_is_about(held: Site) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Herons have feathers."},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": [{"type": "text", "text": "Is the heron a bird?"}]},
    ]

    await chat(held, asking(messages=messages))
    prompt = held.debates.voices.asks[0].prompt

    assert "The program that asks: Be brief." in prompt
    assert "The user: Herons have feathers." in prompt
    assert "The assistant: I see." in prompt


async def test_a_program_that_repeats_itself_pays_once(held: Site) -> None:
    first = await chat(held, asking())
    repeated = await chat(held, asking(), (b"x-stainless-retry-count", b"1"))
    anew = await chat(held, asking())
    one, other = [await chat(held, asking(), (b"idempotency-key", b"k")) for _ in range(2)]

    debate = "portico-debate"
    assert repeated.headers[debate] == first.headers[debate]
    assert anew.headers[debate] != first.headers[debate]
    assert one.headers[debate] == other.headers[debate]
    assert one.headers[debate] != anew.headers[debate]


async def test_one_that_failed_is_a_failure_of_what_is_behind_this_server(
    held: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when whoever carried it out is gone for good."""
    look = held.debates.use.look
    one = type(look).one

    async def failed(its: Any, caller: Any, which: Any) -> Any:
        whole = await one(its, caller, which)
        its_end = replace(whole.debate, status=DebateStatus.FAILED, decision=None)
        return replace(whole, debate=its_end)

    monkeypatch.setattr(type(look), "one", failed)

    answer = await chat(held, asking())

    assert (answer.status, answer.json["error"]["code"]) == (502, "debate_failed")
    assert "failed before anything was decided" in answer.json["error"]["message"]


AGAIN = (b"x-stainless-retry-count", b"1")
QUESTION = {"role": "user", "content": "Write to Bob."}


@pytest.fixture
async def desk(site: Site) -> Desk:
    return await opened(site)


def asking_openai(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "agent/clerk", "messages": [*messages] or [QUESTION], **more}


def chunks(stream: Stream) -> list[dict[str, Any]]:
    told = [line.removeprefix("data: ") for line in stream.body.decode().split("\n\n")]
    return [json.loads(each) for each in told if each.startswith("{")]


def deltas(stream: Stream, name: str = "content") -> str:
    found = [choice["delta"] for each in chunks(stream) for choice in each.get("choices", [])]
    return "".join(each.get(name) or "" for each in found)


async def begun(desk: Desk, stream: Stream) -> RunId:
    await stream.until(lambda: stream.body)
    return RunId.parse(stream.headers["portico-run"])


async def completed(stream: Stream) -> None:
    await stream.until(lambda: stream.complete)


async def told(
    desk: Desk, *happenings: AgentEvent, answer: str = "It is sent.", **end: Any
) -> Stream:
    """A talk in which all that is told, and that ends so."""
    options = {"include_usage": True} if end.pop("usage", False) else None
    wish = (
        asking_openai(stream=True, stream_options=options)
        if options
        else asking_openai(stream=True)
    )
    async with desk.stream(PATH, wish) as stream:
        run = await begun(desk, stream)
        await desk.tell(run, *happenings)
        await desk.ends(run, answer, **end)
        await completed(stream)
    return stream


async def test_words_are_streamed_and_tools_are_shown_as_reasoning(desk: Desk) -> None:
    failed = ToolCallFinished(
        turn=1, call="c1", tool="mail.send", text="Full.\nAt all.", failed=True, seconds=1.0
    )
    stream = await told(
        desk,
        TurnStarted(turn=1, model="local:small"),
        ReasoningDelta(turn=1, attempt=1, offset=0, text="Hm."),
        text("I shall "),
        text("I shall write."),
        a_tool(),
        failed,
        RunNotice(code="fallback", message="Another model answers."),
        TurnStarted(turn=2, model="local:small"),
        text("It is sent.", turn=2),
    )

    assert stream.status == 200
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert deltas(stream) == "I shall write.\n\nIt is sent."
    assert deltas(stream, "reasoning_content") == snapshot("""\
Hm.
mail.send {"to": "bob@else.example"}

mail.send failed: Full.

Another model answers.
""")
    assert stream.body.endswith(b"data: [DONE]\n\n")
    assert "usage" not in chunks(stream)[-1]
    assert chunks(stream)[-1]["choices"][0]["finish_reason"] == "stop"
    assert {each["id"] for each in chunks(stream)} == {f"chatcmpl-{stream.headers['portico-run']}"}
    assert chunks(stream)[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}


async def test_usage_comes_last_for_whoever_wants_it(desk: Desk) -> None:
    stream = await told(desk, usage=True)

    assert chunks(stream)[-1]["choices"] == []
    assert chunks(stream)[-1]["usage"] == {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "total_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 10},
    }
    assert deltas(stream) == "It is sent."


async def whole(desk: Desk, body: dict[str, Any], *happenings: Any, answer: str = "Yes.") -> Answer:
    """Of a run of which all is told before it is asked for again."""
    async with desk.stream(PATH, {**body, "stream": True}) as stream:
        run = await begun(desk, stream)
    await desk.tell(run, *happenings)
    await desk.ends(run, answer)
    return await desk.ask("POST", PATH, body, AGAIN)


async def test_a_whole_answer_is_the_answer_and_nothing_else(desk: Desk) -> None:
    answer = await whole(desk, asking_openai(), text("I look."), a_tool(), text("Yes.", turn=2))

    assert answer.status == 200
    [choice] = answer.json["choices"]
    assert choice["message"] == {
        "role": "assistant",
        "content": "Yes.",
        "refusal": None,
        "reasoning_content": 'mail.send {"to": "bob@else.example"}\n',
    }
    assert choice["finish_reason"] == "stop"
    assert answer.json["object"] == "chat.completion"
    assert answer.json["usage"]["total_tokens"] == 25
    assert answer.headers["portico-run"] == answer.json["id"].removeprefix("chatcmpl-")


async def test_a_model_that_was_asked_anew_says_so(desk: Desk) -> None:
    stream = await told(desk, text("Good d"), text("Hello.", attempt=2), answer="Hello.")

    assert deltas(stream) == "Good d\n\n> That broke off; it is said anew.\n\nHello."


async def test_what_was_said_before_is_history_and_wishes_are_the_users(desk: Desk) -> None:
    body = asking_openai(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Good day."}]},
        {"role": "assistant", "content": "Yes?"},
        QUESTION,
        temperature=0.2,
        user="ana",
        tools=[],
        max_tokens=50,
    )
    async with desk.stream(PATH, {**body, "stream": True}) as stream:
        trace = await desk.trace(await begun(desk, stream))

    assert trace.run.history == (UserMessage("Be brief.\n\nGood day."), AssistantMessage("Yes?"))
    assert [said.text for said in trace.said] == ["Write to Bob."]


async def test_a_failed_run_is_an_error_in_the_stream_and_without(desk: Desk) -> None:
    stream = await told(
        desk,
        answer="",
        status=AgentRunStatus.FAILED,
        error="local:small cannot be asked.",
        error_code="model_unavailable",
        fix="Start it.",
    )
    again = await desk.ask("POST", PATH, asking_openai(), AGAIN)

    assert chunks(stream)[-1]["error"] == {
        "message": "local:small cannot be asked. Start it.",
        "type": "server_error",
        "param": None,
        "code": "model_unavailable",
    }
    assert (again.status, again.json["error"]["code"]) == (502, "model_unavailable")


@pytest.mark.parametrize(
    ("status", "finish", "content"),
    [
        (AgentRunStatus.EXHAUSTED, "length", "So far.\n\n> It was too much. Ask for less."),
        (AgentRunStatus.STOPPED, "stop", "So far.\n\n> The run was stopped."),
    ],
)
async def test_an_end_before_the_end_is_said(
    desk: Desk, status: AgentRunStatus, finish: str, content: str
) -> None:
    end = {"status": status, "error": "It was too much.", "fix": "Ask for less."}
    stream = await told(desk, text("So far."), answer="So far.", **end)

    again = await desk.ask("POST", PATH, asking_openai(), AGAIN)

    assert deltas(stream) == content
    assert chunks(stream)[-1]["choices"][0]["finish_reason"] == finish
    [choice] = again.json["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (content, finish)


async def test_an_answer_that_had_no_room_says_so(desk: Desk) -> None:
    cut = TurnFinished(
        turn=1, model="local:small", usage=Usage(), money=Decimal(0), finish=Finish.LENGTH
    )
    stream = await told(desk, text("So f"), cut, answer="So f")

    assert chunks(stream)[-1]["choices"][0]["finish_reason"] == "length"


async def test_what_waits_is_said_and_the_stream_goes_on_when_it_is_answered(desk: Desk) -> None:
    async with desk.stream(PATH, asking_openai(stream=True)) as stream:
        run = await begun(desk, stream)
        await desk.tell(run, text("I shall write."))
        approval = await desk.waits(run)
        await stream.until(lambda: str(approval) in deltas(stream))
        given = ToolCallFinished(
            turn=1, call="c1", tool="mail.send", text="Sent.", failed=False, seconds=1
        )
        await desk.tell(run, given, text("It is sent.", turn=2))
        await desk.ends(run)
        await completed(stream)

    said = deltas(stream)
    assert f"`portico approvals approve {approval}`" in said
    assert f"http://127.0.0.1:3100/api/v1/approvals/{approval}/answer" in said
    assert said.startswith("I shall write.\n\n> run_")
    assert said.endswith("\n\nIt is sent.")
    assert "goes on once" not in said


async def left_waiting(desk: Desk) -> tuple[RunId, ApprovalId, str]:
    """A talk that ended while something waited, and what was said in it."""
    async with desk.stream(PATH, asking_openai(stream=True)) as stream:
        run = await begun(desk, stream)
        await desk.tell(run, text("I shall write."))
        approval = await desk.waits(run)
        await completed(stream)
    assert chunks(stream)[-1]["choices"][0]["finish_reason"] == "stop"
    return run, approval, deltas(stream)


def follow_up(said: str, words: str) -> dict[str, Any]:
    return asking_openai(
        QUESTION, {"role": "assistant", "content": said}, {"role": "user", "content": words}
    )


async def test_out_of_patience_it_ends_and_says_how_to_go_on(site: Site) -> None:
    desk = await opened(site, patience=0.01)

    run, _, said = await left_waiting(desk)

    last = said.split("\n")[-1]
    assert last == f'> {run} goes on once that is answered. Say "go on" here to hear how it went.'


async def test_whoever_says_go_on_hears_how_it_went(site: Site) -> None:
    desk = await opened(site, patience=0.01)
    run, _, said = await left_waiting(desk)
    given = ToolCallFinished(
        turn=1, call="c1", tool="mail.send", text="Sent.", failed=False, seconds=1
    )
    await desk.tell(run, given, text("It is sent.", turn=2))
    await desk.ends(run)

    async with desk.stream(PATH, {**follow_up(said, "Go on."), "stream": True}) as stream:
        await completed(stream)
    answer = await desk.ask("POST", PATH, follow_up(said, "go on"))

    assert await desk.started() == [run]
    assert deltas(stream) == "It is sent."
    assert answer.json["choices"][0]["message"]["content"] == "It is sent."


async def test_what_still_waits_is_said_again(site: Site) -> None:
    desk = await opened(site, patience=0.01)
    run, approval, said = await left_waiting(desk)

    answer = await desk.ask("POST", PATH, follow_up(said, "go on"))

    again = answer.json["choices"][0]["message"]["content"]
    assert again.startswith(f"> {run} waits for approval of mail.send")
    assert str(approval) in again
    assert "I shall write" not in again
    assert "goes on once" in again.split("\n")[-1]


async def test_other_words_are_said_to_the_run_that_waits(site: Site) -> None:
    desk = await opened(site, patience=0.01)
    run, _, said = await left_waiting(desk)

    await desk.ask("POST", PATH, follow_up(said, "And to Eve, too."))

    assert [each.text for each in (await desk.trace(run)).said][1:] == ["And to Eve, too."]
    assert await desk.started() == [run]


async def test_of_a_run_that_is_over_the_answer_comes_first_and_another_goes_on(site: Site) -> None:
    desk = await opened(site, patience=0.01)
    run, _, said = await left_waiting(desk)
    await desk.ends(run)

    async with desk.stream(PATH, {**follow_up(said, "Thanks."), "stream": True}) as stream:
        other = await begun(desk, stream)
        await desk.tell(other, text("You are welcome."))
        await desk.ends(other, "You are welcome.")
        await completed(stream)

    assert deltas(stream) == "It is sent.\n\nYou are welcome."
    assert (await desk.trace(other)).run.continues == run


async def test_a_note_of_somebody_elses_run_is_only_text(site: Site) -> None:
    desk = await opened(site, patience=0.01)
    run, _, said = await left_waiting(desk)
    eve, _ = await joined(site, "eve", roles=["admin"])

    body = {**follow_up(said, "go on"), "stream": True}
    async with desk.stream(PATH, body, key=eve) as stream:
        other = await begun(desk, stream)

    trace = await desk.trace(other)
    assert other != run
    assert trace.run.continues is None
    assert trace.run.history == (UserMessage("Write to Bob."), AssistantMessage("I shall write."))


async def test_the_same_question_finds_the_run_that_is_on_and_not_one_that_is_over(
    desk: Desk,
) -> None:
    async with desk.stream(PATH, asking_openai(stream=True)) as stream:
        first = await begun(desk, stream)
    async with desk.stream(PATH, asking_openai(stream=True)) as stream:
        second = await begun(desk, stream)
    await desk.ends(first)
    async with desk.stream(PATH, asking_openai(stream=True)) as stream:
        third = await begun(desk, stream)

    assert first == second
    assert third != first


async def test_an_idempotency_key_finds_its_run_also_when_it_is_over(desk: Desk) -> None:
    key = (b"idempotency-key", b"k1")
    async with desk.stream(PATH, asking_openai(stream=True), key_header := key) as stream:
        run = await begun(desk, stream)
    await desk.ends(run)

    again = await desk.ask("POST", PATH, asking_openai(), key_header)
    other = await desk.ask(
        "POST", PATH, asking_openai({"role": "user", "content": "Else."}), key_header
    )

    assert again.json["choices"][0]["message"]["content"] == "It is sent."
    assert (other.status, other.json["error"]["code"]) == (400, "idempotency_key_reused")


async def test_whoever_asks_the_same_all_day_hears_a_new_answer_each_time(desk: Desk) -> None:
    for number in range(10):
        stream = await told(desk, answer=f"Answer {number}.")
        assert deltas(stream) == f"Answer {number}."

    assert len(await desk.started()) == 10


async def test_what_an_agent_cannot_do_is_refused(desk: Desk) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"stop": ["\n"]}, "stop"),
        ({"logprobs": True}, "logprobs"),
        ({"messages": [{"role": "tool", "content": "x"}, QUESTION]}, "messages.0"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "c"}]}, QUESTION]},
            "messages.0",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages.0.content",
        ),
        ({"stream": "yes"}, "stream"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": [{"role": "user", "content": "a\x00b"}]}, "messages.0.content.?"),
        ({"messages": [{"role": "user", "content": "a\ud83d"}]}, "messages.0.content.?"),
    ]
    for more, param in refused:
        answer = await desk.ask("POST", PATH, asking_openai(**more))

        error = answer.json["error"]
        assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
        assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert await desk.started() == []


async def test_what_is_refused_is_told_in_whole_sentences(desk: Desk) -> None:
    tools = await desk.ask("POST", PATH, asking_openai(tools=[{"type": "function"}]))
    empty = await desk.ask("POST", PATH, asking_openai(messages=[]))
    array = await desk.ask("POST", PATH, [])

    assert tools.json["error"]["message"] == (
        "tools: an agent has tools of its own, and calls none of its clients'. "
        "Leave it away: an agent or a debate has tools, models and limits of its own."
    )
    assert empty.json["error"]["message"] == (
        "1 field is not as it must be. "
        "messages: List should have at least 1 item after validation, not 0. "
        "Mend what is named for each field."
    )
    assert array.json["error"]["message"] == (
        "1 field is not as it must be. "
        "body: must be an object of JSON, sent with Content-Type: application/json. "
        "Mend what is named for each field."
    )


async def test_without_a_question_nothing_is_asked(desk: Desk) -> None:
    for messages in (
        [{"role": "assistant", "content": "Yes?"}],
        [{"role": "system", "content": "Be brief."}],
        [{"role": "user", "content": ""}],
        [QUESTION, {"role": "assistant", "content": "Dear"}],
    ):
        answer = await desk.ask("POST", PATH, asking_openai(*messages))
        assert (answer.status, answer.json["error"]["code"]) == (400, "no_question")


async def test_every_wall_speaks_as_openai_does(desk: Desk) -> None:
    stranger = await desk.ask("POST", PATH, asking_openai(), key="nonsense")
    made = await desk.ask("POST", "/api/v1/keys", {"name": "bare", "scopes": []})
    bare = await desk.ask("POST", PATH, asking_openai(), key=made.json["key"])
    nobody = await desk.ask("POST", PATH, asking_openai(model="agent/nobody"))
    nowhere = await desk.ask("GET", "/v1/nowhere")
    large = await desk.ask(
        "POST", PATH, asking_openai({"role": "user", "content": "a" * 1_100_000})
    )
    elsewhere = await desk.ask("GET", "/api/v1/nowhere")

    assert (stranger.status, stranger.json["error"]["type"]) == (401, "authentication_error")
    assert "www-authenticate" in stranger.headers
    assert (bare.status, bare.json["error"]["type"]) == (403, "permission_error")
    error = nobody.json["error"]
    assert (nobody.status, error["type"], error["param"]) == (404, "not_found_error", "model")
    assert (nowhere.status, nowhere.json["error"]["code"]) == (404, "route_not_found")
    assert (large.status, large.json["error"]["code"]) == (413, "too_large")
    assert elsewhere.json["code"] == "route_not_found"


async def test_while_nothing_happens_it_says_that_it_is_there(site: Site) -> None:
    desk = await opened(site, manners=Manners(heartbeat=0.02, wait_timeout=60.0))

    async with desk.stream(PATH, asking_openai(stream=True)) as stream:
        await stream.until(lambda: b"\n\n:\n\n" in stream.body)
        await desk.ends(await begun(desk, stream))
        await completed(stream)

    assert deltas(stream) == "It is sent."


async def test_whoever_is_let_in_no_more_hears_no_more(site: Site) -> None:
    desk = await opened(site, manners=Manners(heartbeat=0.02, wait_timeout=60.0))
    made = await desk.ask(
        "POST", "/api/v1/keys", {"name": "chat", "scopes": ["agents:run"], "clearance": "team"}
    )

    async with desk.stream(PATH, asking_openai(stream=True), key=made.json["key"]) as stream:
        await begun(desk, stream)
        await desk.ask("DELETE", f"/api/v1/keys/{made.json['id']}")
        await completed(stream)

    assert b"[DONE]" not in stream.body


async def test_a_server_that_ends_does_not_wait_for_an_answer(desk: Desk) -> None:
    async with desk.stream(PATH, asking_openai()) as stream:
        await stream.until(lambda: desk.runs.talk)
        stream.line.end()
        await completed(stream)

    assert stream.status == 503
    assert json.loads(stream.body)["error"]["code"] == "server_ends"


async def test_half_of_a_pair_of_surrogates_is_escaped(desk: Desk) -> None:
    stream = await told(desk, text("a\ud83d"), answer="a\ud83d")

    assert deltas(stream) == "a\ud83d"


async def test_each_agent_is_a_model(site: Site) -> None:
    await opened(site)

    listed = await site.ask("GET", "/v1/models")
    one = await site.ask("GET", "/v1/models/agent/clerk")

    assert listed.json["object"] == "list"
    assert listed.json["data"][0] == one.json
    assert {**one.json, "created": int} == snapshot(
        {
            "id": "agent/clerk",
            "object": "model",
            "created": int,
            "owned_by": "ana",
            "description": "Answers letters.",
        }
    )


async def test_each_way_to_debate_is_a_model_for_whoever_may_start_one(site: Site) -> None:
    debates = await key_with(site, {Scope.DEBATES_RUN})
    agents = await key_with(site, {Scope.AGENTS_READ})

    listed = await site.ask("GET", "/v1/models", key=debates)
    without = await site.ask("GET", "/v1/models", key=agents)
    one = await site.ask("GET", "/v1/models/debate/vote", key=debates)
    refused = await site.ask("GET", "/v1/models/debate/vote", key=agents)

    names = ["debate/vote", "debate/debate", "debate/quorum"]
    assert [each["id"] for each in listed.json["data"]] == names
    assert without.json["data"] == []
    assert one.json == listed.json["data"][0]
    assert (refused.status, refused.json["error"]["code"]) == (403, "not_permitted")
