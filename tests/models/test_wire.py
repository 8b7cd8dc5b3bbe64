"""The protocols of OpenAI, Anthropic, OpenRouter and Ollama, as aimock speaks them."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

from portico.adapters.models.provider import ProviderKind
from portico.adapters.models.pydantic_ai import history
from portico.agents.core.errors import (
    ModelBroke,
    ModelKeyMissing,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
    ProviderNotFound,
)
from portico.agents.core.model_requests import (
    UNREADABLE,
    AssistantMessage,
    Finish,
    ModelAsk,
    ReasoningChunk,
    Reply,
    TextChunk,
    ToolArgumentsChunk,
    ToolCallChunk,
    ToolMessage,
    ToolShown,
    UserMessage,
)
from portico.kernel.errors import PorticoError
from tests.models.doors import Doors, asked, opened
from tests.models.mock_server import MockServer, mock_server

pytestmark = [pytest.mark.process]

KEY = "sk-test-0123456789abcdef"
SAID = "bad key sk-abcdefghijklmnopqrstuvwxyz"
LONG = "This goes on for quite a while, and then it breaks off somewhere in its middle."
WEATHER = ToolShown(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def call(city: str) -> dict[str, str]:
    return {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'}


def refused(status: int, message: str, **more: Any) -> dict[str, Any]:
    error = {"message": message, "type": "invalid_request_error"}
    return {"error": error | more.pop("error", {}), "status": status, **more}


FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "what now", "hasToolResult": True},
        "response": {"content": "It rains in Paris."},
    },
    {"match": {"userMessage": "hello"}, "response": {"content": "Good day to you."}},
    {"match": {"userMessage": "what now"}, "response": {"toolCalls": [call("Paris")]}},
    {
        "match": {"userMessage": "two calls"},
        "response": {"content": "Let me look.", "toolCalls": [call("Paris"), call("Rome")]},
    },
    {
        "match": {"userMessage": "no arguments"},
        "response": {"toolCalls": [{"name": "get_weather", "arguments": "{}"}]},
    },
    {
        "match": {"userMessage": "half a call"},
        "response": {"toolCalls": [{"name": "get_weather", "arguments": '{"city": '}]},
    },
    {
        "match": {"userMessage": "cut short"},
        "response": {
            "toolCalls": [call("Paris"), {"name": "get_weather", "arguments": '{"ci'}],
            "finishReason": "length",
        },
    },
    {
        "match": {"userMessage": "thinking"},
        "response": {"content": "Yes.", "reasoning": "Is it?", "reasoningSignature": "c2lnbmVk"},
    },
    {"match": {"userMessage": "busy"}, "response": refused(429, "slow down", retryAfter=7)},
    {"match": {"userMessage": "in trouble"}, "response": refused(503, "inner trouble")},
    {"match": {"userMessage": "locked"}, "response": refused(401, SAID)},
    {"match": {"userMessage": "no such"}, "response": refused(400, "no such parameter")},
    {
        "match": {"userMessage": "too long"},
        "response": refused(400, "This model's maximum context length is 8 tokens."),
    },
    {
        "match": {"userMessage": "malformed"},
        "response": {"content": "no"},
        "chaos": {"malformedRate": 1.0},
    },
    {
        "match": {"userMessage": "breaks off"},
        "response": {"content": LONG},
        "latency": 20,
        "truncateAfterChunks": 4,
    },
    {
        "match": {"userMessage": "hangs up"},
        "response": {"content": "no"},
        "chaos": {"disconnectRate": 1.0},
    },
    {"match": {"userMessage": "slowly"}, "response": {"content": LONG}, "latency": 2000},
]


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    pieces = [{"chunkSize": 4, **fixture} for fixture in FIXTURES]
    with mock_server(pieces, tmp_path_factory.mktemp("aimock")) as server:
        yield server


@pytest.fixture
async def doors(mock: MockServer) -> AsyncIterator[Doors]:
    mock.requests()
    providers = {
        "openai": {"kind": "openai", "url": f"{mock.url}/v1", "key": "env:KEY"},
        "claude": {"kind": "anthropic", "url": mock.url, "key": "env:KEY"},
        "router": {"kind": "openrouter", "url": f"{mock.url}/api/v1", "key": "env:KEY"},
        "plain": {"kind": "compatible", "url": f"{mock.url}/v1"},
        "ollama": {"kind": "ollama", "url": mock.url},
        "keyless": {"kind": "openai", "url": f"{mock.url}/v1", "key": "env:NOT_SET"},
    }
    async with opened(providers, keys={"env:KEY": KEY}) as doors:
        yield doors


MODELS = (
    "openai:gpt-4.1",
    "claude:claude-opus-5",
    "router:openai/gpt-4.1",
    "plain:some-model",
    "ollama:llama3.2",
)
EVERY = pytest.mark.parametrize("model", MODELS)


def with_tool(model: str, *messages: Any) -> ModelAsk:
    return asked(model, *messages, tools=[WEATHER])


@EVERY
@pytest.mark.requirement("agents:models:wire")
async def test_words_come_in_pieces(doors: Doors, model: str) -> None:
    ask = asked(model, "hello", instructions="Be brief.")
    pieces = await doors.pieces(ask)
    reply = await doors.reply(ask)

    texts = [piece.text for piece in pieces if isinstance(piece, TextChunk)]
    assert texts == ["Good", " day", " to ", "you."]
    assert (reply.text, reply.finish, reply.calls) == ("Good day to you.", Finish.STOP, ())


@EVERY
@pytest.mark.requirement("agents:models:wire")
async def test_a_tool_is_called_and_what_it_gave_goes_back(doors: Doors, model: str) -> None:
    first = await doors.reply(with_tool(model, "what now"))
    [wanted] = first.calls
    said = AssistantMessage(first.text, first.calls, first.stored)
    second = await doors.reply(
        with_tool(model, "what now", said, ToolMessage(wanted.id, wanted.name, "rain"))
    )

    assert (wanted.name, wanted.arguments) == ("get_weather", {"city": "Paris"})
    assert first.finish is Finish.CALLS
    assert second.text == "It rains in Paris."


@EVERY
@pytest.mark.requirement("agents:models:wire")
async def test_several_tools_are_called_at_once(doors: Doors, model: str) -> None:
    pieces = await doors.pieces(with_tool(model, "two calls"))
    reply = await doors.reply(with_tool(model, "two calls"))

    told = [piece.call for piece in pieces if isinstance(piece, ToolCallChunk)]
    assert [each.arguments for each in told] == [{"city": "Paris"}, {"city": "Rome"}]
    assert [each.arguments for each in reply.calls] == [{"city": "Paris"}, {"city": "Rome"}]
    assert len({each.id for each in (*told, *reply.calls)}) == 4
    assert reply.text == "Let me look."


@EVERY
async def test_a_call_without_arguments_is_told_when_it_has_ended(doors: Doors, model: str) -> None:
    pieces = await doors.pieces(with_tool(model, "no arguments"))

    [told] = [piece.call for piece in pieces if isinstance(piece, ToolCallChunk)]
    assert told.arguments == {}


@pytest.mark.parametrize("model", ["openai:gpt-4.1", "plain:some-model"])
async def test_arguments_that_are_no_json_are_handed_on_as_they_are(
    doors: Doors, model: str
) -> None:
    *pieces, reply = await doors.pieces(with_tool(model, "half a call"))

    assert isinstance(reply, Reply)
    coming = "".join(piece.text for piece in pieces if isinstance(piece, ToolArgumentsChunk))
    assert coming == '{"city": '
    assert not any(isinstance(piece, ToolCallChunk) for piece in pieces)
    assert [call.arguments for call in reply.calls] == [{UNREADABLE: '{"city": '}]


async def test_a_call_that_was_cut_for_want_of_room_is_left_out(doors: Doors) -> None:
    reply = await doors.reply(with_tool("openai:gpt-4.1", "cut short"))

    assert [each.arguments for each in reply.calls] == [{"city": "Paris"}]
    assert reply.finish is Finish.LENGTH
    assert "cut off" in reply.notes[0]


async def test_thoughts_are_no_part_of_the_answer(doors: Doors) -> None:
    for model in ("claude:claude-opus-5", "plain:some-model"):
        pieces = await doors.pieces(asked(model, "thinking"))
        reply = await doors.reply(asked(model, "thinking"))

        assert any(isinstance(piece, ReasoningChunk) for piece in pieces)
        assert (reply.text, reply.thought) == ("Yes.", "Is it?")


async def test_a_thought_that_is_signed_goes_back_as_it_came(doors: Doors) -> None:
    reply = await doors.reply(asked("claude:claude-opus-5", "thinking"))
    said = AssistantMessage(reply.text, reply.calls, reply.stored)
    changed = AssistantMessage("Something else.", (), reply.stored)

    for_itself, for_another, after_a_change = (
        str(history([UserMessage("thinking"), each, UserMessage("hello")], kind))
        for each, kind in [
            (said, ProviderKind.ANTHROPIC),
            (said, ProviderKind.OPENAI),
            (changed, ProviderKind.ANTHROPIC),
        ]
    )

    assert "c2lnbmVk" in for_itself
    assert "c2lnbmVk" not in for_another
    assert "c2lnbmVk" not in after_a_change
    assert "Something else." in after_a_change


@EVERY
@pytest.mark.requirement("agents:models:wire")
async def test_whoever_is_busy_says_when_to_come_back(doors: Doors, model: str) -> None:
    with pytest.raises(ModelUnavailable, match="slow down") as caught:
        await doors.pieces(asked(model, "busy"))

    assert caught.value.retry_after == timedelta(seconds=7)


@EVERY
@pytest.mark.requirement("agents:models:wire")
async def test_one_question_is_one_try(doors: Doors, mock: MockServer, model: str) -> None:
    with pytest.raises(ModelUnavailable, match="503"):
        await doors.pieces(asked(model, "in trouble"))

    asked_for = [each for each in mock.requests() if "/show" not in each["path"]]
    assert len([each for each in asked_for if each["method"] == "POST"]) == 1


WRONG: dict[str, tuple[type[PorticoError], str]] = {
    "malformed": (ModelBroke, ""),
    "breaks off": (ModelBroke, ""),
    "hangs up": (ModelUnavailable, ""),
    "too long": (ModelOverflow, "fewer words"),
}


@EVERY
@pytest.mark.requirement("agents:models:wire")
@pytest.mark.parametrize("question", WRONG)
async def test_what_is_no_whole_answer_is_none(doors: Doors, model: str, question: str) -> None:
    error, fix = WRONG[question]
    with pytest.raises(error) as caught:
        await doors.pieces(asked(model, question))

    assert fix in (caught.value.fix or "")


@EVERY
async def test_a_no_is_a_no_and_tells_no_secret(doors: Doors, model: str) -> None:
    for question in ("locked", "no such"):
        with pytest.raises(ModelRefused) as caught:
            await doors.pieces(asked(model, question))

        told = f"{caught.value} {caught.value.fix}"
        assert "sk-" not in told


@EVERY
async def test_whoever_takes_too_long_is_not_waited_for(doors: Doors, model: str) -> None:
    patience = timedelta(milliseconds=300)
    with pytest.raises(ModelUnavailable, match=r"no whole answer|in time"):
        await doors.pieces(asked(model, "slowly", timeout=patience))


async def test_a_key_goes_to_its_own_provider_and_is_never_told(
    doors: Doors, mock: MockServer
) -> None:
    for model in MODELS:
        await doors.reply(asked(model, "hello"))

    sent = [each["headers"] for each in mock.requests() if each["method"] == "POST"]
    with_key = [headers for headers in sent if KEY in str(headers)]
    assert len(with_key) <= 3
    assert doors.learnt == [KEY]
    assert KEY not in repr(await doors.connections.to(doors.caller, "openai"))


async def test_whoever_has_no_key_or_is_not_there_cannot_be_asked(doors: Doors) -> None:
    with pytest.raises(ModelKeyMissing, match="env:NOT_SET"):
        await doors.pieces(asked("keyless:gpt-4.1", "hello"))
    with pytest.raises(ProviderNotFound, match="nobody"):
        await doors.pieces(asked("nobody:gpt-4.1", "hello"))


async def test_words_of_people_in_a_row_stay_in_their_order(doors: Doors, mock: MockServer) -> None:
    await doors.reply(asked("openai:gpt-4.1", UserMessage("one"), UserMessage("hello")))

    [request] = mock.requests()
    assert [each["content"] for each in request["body"]["messages"]] == ["one", "hello"]
