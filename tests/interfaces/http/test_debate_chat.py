"""Debates as models of OpenAI's chat completions."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from portico.adapters.tokens import O200k
from portico.debate.core.debates import DebateStatus
from portico.debate.core.errors import VoiceBroke
from tests.interfaces.http.asgi import Answer, Header, bearing
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.memory import NAMES
from tests.interfaces.http.streaming import streaming

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
    for voice in held.debates.voices.voices.values():
        voice.says = VoiceBroke(voice.name, "it is tired.")

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
