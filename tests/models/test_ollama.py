"""Ollama by its own protocol: a prompt that it has not read whole is never answered unnoticed."""

from collections.abc import Iterator
from typing import Any

import pytest

from portico.adapters.models.ollama import NOT_COUNTED
from portico.agents.core.errors import (
    ModelNotFound,
    ModelOverflow,
    ModelTruncated,
    ModelUnavailable,
)
from portico.agents.core.model_requests import (
    AssistantMessage,
    Finish,
    Message,
    ModelInfoSource,
    ModelRef,
    Support,
    TextChunk,
    ToolCall,
    ToolMessage,
    ToolShown,
    UserMessage,
)
from tests.models.doors import asked, opened
from tests.models.fake_ollama import MODEL, FakeOllama
from tests.models.vocabulary import vocabulary

pytestmark = [pytest.mark.process]

REF = f"ollama:{MODEL}"
LINE = "The heron stands in the reeds and waits for a fish that does not come. "
OLD = "0.11.4"


def talk(messages: int, lines: int) -> list[Any]:
    """That many, each of that many lines, taken in turns."""
    return [
        UserMessage(LINE * lines) if place % 2 == 0 else AssistantMessage(LINE * lines)
        for place in range(messages)
    ] + [UserMessage("What does the heron wait for?")]


@pytest.fixture
def ollama() -> FakeOllama:
    return FakeOllama()


@pytest.fixture
def url(ollama: FakeOllama) -> Iterator[str]:
    with ollama.serving() as url:
        yield url


def reached(url: str, **more: Any) -> Any:
    return opened({"ollama": {"kind": "ollama", "url": url, **more}})


async def test_it_is_told_how_much_to_read_and_not_to_cut(ollama: FakeOllama, url: str) -> None:
    async with reached(url) as doors:
        reply = await doors.reply(asked(REF, "Good day", instructions="Be brief.", temperature=0.5))

    [body] = ollama.bodies
    assert body["truncate"] is False
    assert body["shift"] is False
    assert body["options"] == {"num_ctx": 2048, "num_predict": 64, "temperature": 0.5}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Good day"},
    ]
    assert "think" not in body
    assert reply.text.startswith("I have read it all.")
    assert (reply.finish, reply.usage.reported, reply.notes) == (Finish.STOP, True, ())
    assert reply.first_piece is not None


async def test_tools_forms_and_what_was_said_go_in_its_own_words(
    ollama: FakeOllama, url: str
) -> None:
    ollama.capabilities = ("completion", "tools", "thinking")
    call = ToolCall("c1", "look", {"at": "reeds"})
    said: list[Message] = [
        UserMessage("Look"),
        AssistantMessage("", (call,)),
        ToolMessage("c1", "look", "a heron"),
    ]
    tool = ToolShown("look", "Look at something.", {"type": "object"})
    async with reached(url) as doors:
        await doors.reply(asked(REF, *said, tools=[tool]))
        await doors.reply(asked(REF, "Say it as JSON", schema={"type": "object"}))

    with_tools, with_form = ollama.bodies
    assert with_tools["messages"][1]["tool_calls"] == [
        {"function": {"name": "look", "arguments": {"at": "reeds"}}}
    ]
    assert with_tools["messages"][2] == {"role": "tool", "content": "a heron", "tool_name": "look"}
    assert with_tools["tools"][0]["function"]["name"] == "look"
    assert with_tools["think"] is False
    assert with_form["format"] == {"type": "object"}


async def test_whatever_letters_it_says_are_said(ollama: FakeOllama, url: str) -> None:
    ollama.answer = "a\u0085b\u2028c"
    ollama.raw = True
    async with reached(url) as doors:
        reply = await doors.reply(asked(REF, "Good day"))

    assert reply.text.startswith("a\u0085b\u2028c ")


@pytest.mark.requirement("agents:models:ollama-truncation")
async def test_a_newer_one_is_given_more_room_when_it_says_that_it_has_too_little(
    ollama: FakeOllama, url: str
) -> None:
    """It counts far more tokens for these words than we do."""
    words = "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है। " * 55
    async with reached(url) as doors:
        reply = await doors.reply(asked(REF, words))

    rooms = [body["options"]["num_ctx"] for body in ollama.bodies]
    assert rooms == [4096, 8192]
    assert reply.usage.input > vocabulary().count(words) > 4096


@pytest.mark.requirement("agents:models:ollama-truncation")
async def test_a_newer_one_that_can_have_no_more_room_says_so_before_it_answers(
    ollama: FakeOllama, url: str
) -> None:
    ollama.window = 2048
    async with reached(url) as doors:
        with pytest.raises(ModelOverflow) as caught:
            await doors.pieces(asked(REF, *talk(30, 8)))

    assert "fewer words" in (caught.value.fix or "")


async def test_what_can_fit_in_no_way_is_not_even_sent(ollama: FakeOllama, url: str) -> None:
    ollama.window = 2048
    async with reached(url) as doors:
        with pytest.raises(ModelOverflow):
            await doors.pieces(asked(REF, *talk(60, 8)))

    assert ollama.bodies == []


@pytest.mark.requirement("agents:models:ollama-truncation")
@pytest.mark.parametrize(("messages", "lines"), [(22, 8), (18, 8), (6, 30), (2, 90), (1, 150)])
async def test_an_older_one_that_leaves_messages_out_is_found_out(
    ollama: FakeOllama, url: str, messages: int, lines: int
) -> None:
    """It ignores `truncate`, and its model can have no more than 2,048 tokens."""
    ollama.version, ollama.refuses, ollama.window = OLD, False, 2048
    ask = asked(REF, *talk(messages, lines))
    async with reached(url) as doors:
        with pytest.raises(ModelTruncated) as caught:
            async for piece in doors.models.ask(doors.caller, ask):
                assert isinstance(piece, TextChunk)

    body = ollama.bodies[-1]
    kept, tokens = ollama.read(body)
    assert len(kept) < len(body["messages"]) or len(tokens) < 2048
    assert caught.value.read == len(tokens)
    assert "bring Ollama up to date" in (caught.value.fix or "")


@pytest.mark.requirement("agents:models:ollama-truncation")
@pytest.mark.parametrize("messages", [10, 20, 40])
async def test_one_that_has_less_room_than_it_is_told_is_found_out(
    ollama: FakeOllama, url: str, messages: int
) -> None:
    ollama.version, ollama.refuses, ollama.own_room = OLD, False, 700
    async with reached(url) as doors:
        with pytest.raises(ModelTruncated):
            await doors.pieces(asked(REF, *talk(messages, 8)))


@pytest.mark.parametrize("messages", [0, 4, 12, 20])
async def test_an_older_one_that_reads_all_of_it_is_believed(
    ollama: FakeOllama, url: str, messages: int
) -> None:
    ollama.version, ollama.refuses = OLD, False
    async with reached(url) as doors:
        reply = await doors.reply(asked(REF, *talk(messages, 8), most_output=1000))

    assert reply.notes == ()
    assert f"({messages + 1} messages)" in reply.text


async def test_after_a_doubt_it_is_given_more_room_and_believed(
    ollama: FakeOllama, url: str
) -> None:
    """One message that is most of the prompt leaves it open whether something was left out."""
    ollama.version, ollama.refuses, ollama.window = OLD, False, 32_768
    ask = asked(REF, LINE * 60, "What does it wait for?")
    async with reached(url) as doors:
        with pytest.raises(ModelTruncated) as caught:
            await doors.pieces(ask)
        reply = await doors.reply(ask)

    assert "more room" in (caught.value.fix or "")
    assert reply.notes == ()


@pytest.mark.parametrize("lines", [8, 16])
async def test_one_so_old_that_it_does_not_count_what_it_remembers_is_not_wronged(
    ollama: FakeOllama, url: str, lines: int
) -> None:
    ollama.version, ollama.refuses = "0.3.9", False
    ask = asked(REF, *talk(4, lines), most_output=4000)
    async with reached(url) as doors:
        await doors.reply(ask)
        again = await doors.reply(ask)

    assert again.usage.input < ask.prompt_tokens
    assert again.notes == ()


async def test_one_that_says_nothing_of_what_it_read_is_believed_with_a_note(
    ollama: FakeOllama, url: str
) -> None:
    ollama.counts = False
    async with reached(url) as doors:
        reply = await doors.reply(asked(REF, "Good day"))

    assert reply.notes == (NOT_COUNTED,)
    assert not reply.usage.reported


@pytest.mark.parametrize(
    ("window", "rooms"), [({"window": 3000}, [3000, 3000]), ({}, [8192, 8192])]
)
async def test_with_less_to_read_it_keeps_its_room_within_what_the_settings_bound(
    ollama: FakeOllama, url: str, window: dict[str, int], rooms: list[int]
) -> None:
    """So nothing is loaded anew."""
    async with reached(url, **window) as doors:
        await doors.reply(asked(REF, "Good day", most_output=4000))
        await doors.reply(asked(REF, "Good day"))

    assert [body["options"]["num_ctx"] for body in ollama.bodies] == rooms


async def test_a_model_that_is_not_there_is_to_be_pulled(url: str) -> None:
    async with reached(url) as doors:
        with pytest.raises(ModelNotFound, match="llama9") as caught:
            await doors.pieces(asked("ollama:llama9", "Good day"))
        with pytest.raises(ModelNotFound):
            await doors.book.get(doors.caller, ModelRef.parse("ollama:llama9"))

    assert caught.value.fix == "Fetch it: ollama pull llama9"


async def test_where_nothing_runs_nothing_answers() -> None:
    async with reached("http://127.0.0.1:9") as doors:
        with pytest.raises(ModelUnavailable, match="nothing answers there"):
            await doors.pieces(asked(REF, "Good day"))


async def test_the_book_has_what_the_server_says_of_it(ollama: FakeOllama, url: str) -> None:
    ollama.capabilities = ("completion", "vision")
    async with reached(url) as doors:
        [model] = await doors.book.all(doors.caller)

    assert (str(model.ref), model.window, model.local) == (REF, 8192, True)
    assert (model.tools, model.vision, model.structured) == (Support.NO, Support.YES, Support.YES)
    assert model.told_by is ModelInfoSource.SERVER
    assert str(model.clearance) == "restricted"
    ollama.capabilities = ("embedding",)
    async with reached(url) as doors:
        assert await doors.book.all(doors.caller) == []
