"""A real model on a real server, by the protocols of OpenAI and of Anthropic."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import httpx2
import pytest

from portico.agents.core.errors import ModelNotFound, ModelOverflow
from portico.agents.core.model_requests import (
    FREE,
    AssistantMessage,
    Finish,
    ModelInfoSource,
    ModelRef,
    Reply,
    Support,
    TextChunk,
    UserMessage,
)
from tests.models.doors import Doors, asked, opened
from tests.models.llama_server import LlamaServer, llama_server
from tests.models.vocabulary import vocabulary

pytestmark = [pytest.mark.process]

CAPITAL = "What is the capital of France? Answer with one word."
FORM = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def llama() -> Iterator[LlamaServer]:
    with llama_server() as server:
        yield server


@pytest.fixture
async def doors(llama: LlamaServer) -> AsyncIterator[Doors]:
    providers = {
        "llama": {"kind": "compatible", "url": f"{llama.url}/v1"},
        "claude": {"kind": "anthropic", "url": llama.url},
    }
    async with opened(providers) as doors:
        yield doors


BOTH = pytest.mark.parametrize("provider", ["llama", "claude"])


@BOTH
@pytest.mark.requirement("agents:models:real-model")
async def test_it_answers_piece_by_piece_and_says_what_it_read(
    doors: Doors, llama: LlamaServer, provider: str
) -> None:
    before = UserMessage("My name is Ana."), AssistantMessage("Good day, Ana.")
    model = f"{provider}:{llama.model}"
    told = "Be brief."
    short = await doors.reply(asked(model, CAPITAL, instructions=told, most_output=4))
    ask = asked(model, *before, CAPITAL, instructions=told, temperature=0.0)
    *pieces, reply = await doors.pieces(ask)

    assert isinstance(reply, Reply)
    texts = [piece.text for piece in pieces if isinstance(piece, TextChunk)]
    assert len(texts) > 1
    assert "".join(texts) == reply.text != ""
    assert reply.usage.reported
    assert short.finish is Finish.LENGTH
    assert reply.usage.input > short.usage.input + 10
    assert 1 <= reply.usage.output <= 64
    assert reply.model == llama.model
    assert reply.first_piece is not None
    assert reply.first_piece <= reply.took


@pytest.mark.requirement("agents:models:real-model")
async def test_its_answer_is_held_to_a_form(doors: Doors, llama: LlamaServer) -> None:
    reply = await doors.reply(
        asked(f"llama:{llama.model}", CAPITAL, schema=FORM, temperature=0.0, most_output=100)
    )

    assert list(json.loads(reply.text)) == ["city"]


@BOTH
@pytest.mark.requirement("agents:models:real-model")
async def test_to_stop_reading_is_to_hang_up(
    doors: Doors, llama: LlamaServer, provider: str
) -> None:
    ask = asked(f"{provider}:{llama.model}", "Tell me a long story.", most_output=500)
    async with aclosing(doors.models.ask(doors.caller, ask)) as answer:
        async for _piece in answer:
            break

    await until_idle(llama)


@pytest.mark.requirement("agents:models:real-model")
async def test_four_are_answered_at_once(doors: Doors, llama: LlamaServer) -> None:
    names = ["llama", "claude", "llama", "claude"]
    async with asyncio.TaskGroup() as four:
        tasks = [
            four.create_task(doors.reply(asked(f"{name}:{llama.model}", CAPITAL, most_output=24)))
            for name in names
        ]

    replies = [task.result() for task in tasks]
    assert all(reply.text and reply.usage.reported for reply in replies)


@BOTH
async def test_a_prompt_that_is_too_long_is_told_as_that(
    doors: Doors, llama: LlamaServer, provider: str
) -> None:
    with pytest.raises(ModelOverflow) as caught:
        await doors.pieces(asked(f"{provider}:{llama.model}", "heron " * 4000))

    assert "larger window" in (caught.value.fix or "")


async def test_the_book_has_what_its_server_says(doors: Doors, llama: LlamaServer) -> None:
    model = await doors.book.get(doors.caller, ModelRef("llama", llama.model))
    with pytest.raises(ModelNotFound):
        await doors.book.get(doors.caller, ModelRef("claude", "none-of-these"))

    assert (model.window, model.structured) == (2048, Support.YES)
    assert (model.tools, model.vision) == (Support.NO, Support.NO)
    assert (model.price, model.local, model.told_by) == (FREE, True, ModelInfoSource.SERVER)


async def test_our_reading_of_its_vocabulary_is_its_own(llama: LlamaServer) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        for text in (
            "The heron stands in the reeds.",
            "def wait(self) -> None:\n    return 12345.678",
            "Die Würde ist unantastbar. 人人生而自由 😀",
            "<|im_start|>user\nGood day<|im_end|>\n",
        ):
            asked_for = {"content": text, "parse_special": True}
            answer = await client.post(f"{llama.url}/tokenize", json=asked_for)

            assert vocabulary().tokens(text) == answer.json()["tokens"]


async def until_idle(llama: LlamaServer) -> None:
    """It notices that somebody hung up when it has the next word to say."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        while True:
            slots = (await client.get(f"{llama.url}/slots")).json()
            if not any(slot["is_processing"] for slot in slots):
                return
