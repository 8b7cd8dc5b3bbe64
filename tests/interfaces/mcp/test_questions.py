"""A call that waits for its caller's answer: whose it is, how long it waits, how many may, and
what a client can be asked for, by what it says of itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from portico.gateway.core.calls import ClientCapability, Question, ToolResult
from portico.gateway.core.errors import InputUnsupported
from portico.gateway.ports import ClientChannel
from portico.interfaces.mcp.pending_calls import Conversation, Waiting, able, check, missing
from portico.interfaces.mcp.request_context import ElicitationNotFound, TooManyWaiting
from portico.kernel.json import JsonObject
from tests.interfaces.mcp.gateway import Site, said
from tests.interfaces.mcp.test_eras import FORM
from tests.interfaces.mcp.wire import modern

CALL = {"name": "call_read", "arguments": {"tool": "box.asks"}}
CAN: dict[str, Any] = {"elicitation": {}}
ANA = {"action": "accept", "content": {"name": "Ana"}}

Ask = Callable[..., Awaitable[dict[str, Any]]]


async def asks(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
    answer = await line.ask(Question(ClientCapability.ELICITATION, FORM, key="who"))
    return said(str(answer["content"]))


@pytest.fixture
def call(site: Site) -> Ask:
    site.gateway.tools["asks"] = asks

    async def calling(params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        answer = await modern(
            site, "tools/call", {**CALL, **(params or {})}, capabilities=CAN, **more
        )
        found: dict[str, Any] = answer.json()
        return found

    return calling


async def test_the_call_is_answered_with_the_question_under_its_servers_name(call: Ask) -> None:
    result = (await call())["result"]

    assert result["resultType"] == "input_required"
    assert result["inputRequests"] == {"who": {"method": "elicitation/create", "params": FORM}}
    assert len(result["requestState"]) >= 43  # 256 bits


async def test_the_answer_lets_the_call_go_on_and_is_good_once(site: Site, call: Ask) -> None:
    state = (await call())["result"]["requestState"]
    retry = {"inputResponses": {"who": ANA}, "requestState": state}

    done = await call(retry)
    again = await call(retry)

    assert done["result"]["resultType"] == "complete"
    assert done["result"]["content"][0]["text"] == "{'name': 'Ana'}"
    assert again["error"]["data"]["code"] == "no_such_question"
    calls = [asked for asked in site.gateway.asked if asked[0] == "call"]
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("params", "more"),
    [
        pytest.param({}, {"key": "bob"}, id="another key"),
        pytest.param({"arguments": {"tool": "box.other"}}, {}, id="another call"),
        pytest.param({"name": "call_write"}, {}, id="another verb"),
        pytest.param({}, {"path": "/mcp/servers/box"}, id="another door"),
        pytest.param({"requestState": "made-up"}, {}, id="another state"),
    ],
)
async def test_nobody_else_can_answer_it_and_it_goes_on_waiting(
    call: Ask, params: dict[str, Any], more: dict[str, Any]
) -> None:
    state = (await call())["result"]["requestState"]
    retry = {"inputResponses": {"who": ANA}, "requestState": state}

    refused = await call({**retry, **params}, **more)
    done = await call(retry)

    assert refused["error"]["code"] == -32602
    assert refused["error"]["data"]["code"] == "no_such_question"
    assert "requestState" in refused["error"]["data"]["fix"]
    assert done["result"]["resultType"] == "complete"


async def test_what_is_not_answered_is_asked_again(call: Ask) -> None:
    first = (await call())["result"]
    wrong = {"inputResponses": {"whom": ANA}, "requestState": first["requestState"]}

    second = (await call(wrong))["result"]
    done = await call({"inputResponses": {"who": ANA}, "requestState": second["requestState"]})

    assert second["inputRequests"] == first["inputRequests"]
    assert second["requestState"] != first["requestState"]
    assert done["result"]["resultType"] == "complete"


async def test_an_answer_may_come_with_the_call_itself(call: Ask) -> None:
    done = await call({"inputResponses": {"who": ANA, "unasked": ANA}})

    assert done["result"]["content"][0]["text"] == "{'name': 'Ana'}"


async def test_progress_before_the_question_does_not_lose_it(site: Site, call: Ask) -> None:
    async def steps(arguments: JsonObject, line: ClientChannel) -> ToolResult:
        await line.progress(1, 2, None)
        return await asks(arguments, line)

    site.gateway.tools["asks"] = steps
    params = {**CALL, "_meta": {"progressToken": "t"}}
    answer = await modern(site, "tools/call", params, capabilities=CAN)

    assert answer.headers["content-type"] == "text/event-stream"
    assert '"progressToken":"t"' in answer.text
    assert '"resultType":"input_required"' in answer.text


def waiting_call(owner: object = "ana") -> tuple[Conversation, asyncio.Event]:
    """One that has asked, and an event that says when it was given up."""
    ended = asyncio.Event()
    made = Conversation(owner, "box.asks", "same", CAN)

    async def work() -> dict[str, Any]:
        try:
            await made.ask(Question(ClientCapability.ELICITATION, FORM))
        finally:
            ended.set()
        return {}

    made.start(work(), asyncio.get_running_loop().create_task)
    return made, ended


async def test_a_call_that_nobody_answers_is_given_up() -> None:
    waiting = Waiting(wait_timeout=0.01)
    made, ended = waiting_call()
    await asyncio.sleep(0)

    state = waiting.hold(made)
    await asyncio.wait_for(ended.wait(), 30)

    assert len(waiting) == 0
    with pytest.raises(ElicitationNotFound):
        waiting.take(state, "ana", "same")


async def test_only_so_many_wait_of_one_caller_and_of_all() -> None:
    waiting = Waiting(limit=3, most_of_one=2)
    for owner in ("ana", "ana", "bob"):
        waiting.hold(waiting_call(owner)[0])
    of_one, given_up = waiting_call("ana")
    of_all, _ = waiting_call("cid")
    await asyncio.sleep(0)

    with pytest.raises(TooManyWaiting):
        waiting.hold(of_one)
    with pytest.raises(TooManyWaiting):
        waiting.hold(of_all)

    await asyncio.wait_for(given_up.wait(), 30)
    with waiting.open():
        pass
    assert len(waiting) == 0


async def test_at_the_end_those_that_wait_are_given_up() -> None:
    waiting = Waiting()
    made, ended = waiting_call()
    await asyncio.sleep(0)

    with waiting.open():
        waiting.hold(made)

    await asyncio.wait_for(ended.wait(), 30)


async def test_two_questions_of_one_name_are_told_apart() -> None:
    made = Conversation("ana", "box.asks", "same", CAN)
    question = Question(ClientCapability.ELICITATION, FORM, key="who")
    asking = [asyncio.ensure_future(made.ask(question)) for _ in range(3)]
    await asyncio.sleep(0)

    assert list(made.questions) == ["who", "who-1", "who-2"]

    made.answer({"who": {"n": 1}, "who-1": {"n": 2}, "who-2": {"n": 3}})
    assert [answer["n"] for answer in await asyncio.gather(*asking)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({}, set()),
        ({"elicitation": {}}, {ClientCapability.ELICITATION}),
        ({"elicitation": None, "sampling": True}, set()),
        (
            {"roots": {"listChanged": True}, "sampling": {}, "tasks": {}},
            {ClientCapability.ROOTS, ClientCapability.SAMPLING},
        ),
    ],
)
def test_a_client_is_able_to_what_it_declares(
    capabilities: dict[str, Any], expected: set[ClientCapability]
) -> None:
    assert able(capabilities) == expected


@pytest.mark.parametrize(
    ("wanted", "params", "capabilities", "may"),
    [
        (ClientCapability.ELICITATION, {}, {"elicitation": {}}, True),
        (ClientCapability.ELICITATION, {}, {"elicitation": {"form": {}}}, True),
        (ClientCapability.ELICITATION, {}, {"elicitation": {"url": {}}}, False),
        (ClientCapability.ELICITATION, {"mode": "url"}, {"elicitation": {}}, False),
        (ClientCapability.ELICITATION, {"mode": "url"}, {"elicitation": {"url": {}}}, True),
        (ClientCapability.ELICITATION, {}, {"sampling": {}}, False),
        (ClientCapability.SAMPLING, {}, {"sampling": {}}, True),
        (ClientCapability.SAMPLING, {"tools": [{}]}, {"sampling": {}}, False),
        (ClientCapability.SAMPLING, {"tools": [{}]}, {"sampling": {"tools": {}}}, True),
        (ClientCapability.ROOTS, {}, {"roots": {}}, True),
        (ClientCapability.ROOTS, {}, {}, False),
    ],
)
def test_it_is_asked_only_in_a_way_that_it_knows(
    wanted: ClientCapability, params: dict[str, Any], capabilities: dict[str, Any], may: bool
) -> None:
    question = Question(wanted, params)
    if may:
        check(question, capabilities, "box.asks")
        return
    with pytest.raises(InputUnsupported) as refused:
        check(question, capabilities, "box.asks")

    assert set(missing(refused.value)) == {wanted.value.partition("/")[0]}
