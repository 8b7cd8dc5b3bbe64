"""Models as voices: held to what was reserved, charged with what was read."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.cross_domain.debaters import ModelVoices, family_of
from portico.agents.core.errors import (
    ModelBroke,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
)
from portico.agents.core.model_requests import (
    Finish,
    ModelAsk,
    ModelInfo,
    ModelRef,
    Piece,
    Price,
    Support,
    TextPiece,
    ThoughtPiece,
    Usage,
)
from portico.debate.core.debaters import Tariff, VoiceKind, VoiceReply
from portico.debate.core.errors import (
    VoiceAway,
    VoiceBroke,
    VoiceNotCleared,
    VoiceNotFound,
    VoiceRefused,
    VoiceSilent,
)
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agents import MemoryBook, Said, ScriptedModels, Words, a_model, a_reply, says
from portico.testing.guard import a_person
from portico.testing.memory_store import TickingClock
from tests.adapters.cross_domain.debate_asks import FORM, a_voice, an_ask

ANA = a_person("ana")
PRICE = Price(input=Decimal(1), output=Decimal(2))


def tokens_of(silent: VoiceSilent) -> int:
    assert silent.cost is not None
    return silent.cost.tokens


class Scene:
    def __init__(self, *said: Said, **model: Any) -> None:
        self.models, self.heard = ScriptedModels(*said), list[str]()
        self.voices = ModelVoices(
            book=MemoryBook(a_model(**model)),
            models=self.models,
            tokenizer=Words(),
            clock=TickingClock(),
        )

    async def ask(self, **changes: Any) -> VoiceReply:
        voice = await self.voices.named(ANA, "local:small")
        return await self.voices.ask(ANA, an_ask(voice, **changes), self.heard.append)


async def test_a_model_is_a_voice_that_is_held_to_a_maximum() -> None:
    scene = Scene(price=PRICE, clearance=Label(Level.TEAM), most_output=500)

    voice = await scene.voices.named(ANA, "local:small")

    assert [state.voice for state in await scene.voices.all(ANA)] == [voice]
    assert (voice.name, voice.kind, voice.target) == ("local:small", VoiceKind.MODEL, "local:small")
    assert (voice.bounded, voice.most_output, voice.clearance) == (True, 500, Label(Level.TEAM))
    assert voice.tariff == Tariff(input=Decimal(1), output=Decimal(2))


async def test_what_it_says_is_heard_as_it_comes_and_charged_as_it_was_read() -> None:
    scene = Scene(says("it is Paris", usage=Usage(input=12, output=3)), price=PRICE)

    reply = await scene.ask()

    assert scene.heard == ["it ", "is ", "Paris"]
    assert (reply.text, reply.prompt_tokens, reply.output_tokens) == ("it is Paris", 12, 3)
    assert (reply.cost.tokens, reply.cost.calls, reply.cut) == (15, 1, False)
    assert reply.cost.money == PRICE.of(input_tokens=12, output_tokens=3)


async def test_its_system_prompt_is_its_own_and_its_answer_at_most_what_was_reserved() -> None:
    scene = Scene(says("Paris"))

    await scene.ask(most_output=7)

    [asked] = scene.models.asks
    assert (asked.instructions, asked.most_output) == ("You are a critic.", 7)
    assert asked.schema == FORM


@pytest.mark.parametrize("structured", [Support.NO, Support.UNKNOWN])
async def test_only_a_model_that_can_be_held_to_a_form_is_given_one(structured: Support) -> None:
    scene = Scene(says("Paris"), structured=structured)

    await scene.ask()

    assert scene.models.asks[0].schema is None


async def test_a_model_that_goes_on_is_cut_at_its_maximum_and_hung_up_on() -> None:
    scene = Scene(says("one two three four five six"))

    reply = await scene.ask(most_output=4)

    assert reply.text.split() == ["one", "two", "three", "four"]
    assert (reply.cut, reply.output_tokens, scene.models.closed) == (True, 4, 1)


async def test_of_one_long_piece_as_much_is_taken_as_there_is_room_for() -> None:
    scene = Scene([TextPiece("one two three four five"), a_reply("one two three four five")])

    reply = await scene.ask(most_output=3)

    assert (reply.text.split(), reply.cut) == (["one", "two", "three"], True)
    assert "".join(scene.heard) == reply.text


async def test_what_it_thinks_aloud_is_paid_for_and_no_part_of_its_answer() -> None:
    long: list[Piece | Exception] = [ThoughtPiece("let me see now"), TextPiece("Paris")]
    scene = Scene(long, says("Paris", thought="hm hm", usage=Usage(reported=False)))

    with pytest.raises(VoiceBroke) as caught:
        await scene.ask(most_output=3)
    reply = await scene.ask()

    assert tokens_of(caught.value) == 13
    assert (reply.text, reply.output_tokens, scene.heard[-1]) == ("Paris", 3, "Paris")


@pytest.mark.parametrize(
    ("said", "told", "charged"),
    [
        ("Paris", Usage(input=10**9, output=10**9), (40, 8)),
        ("it is Paris", Usage(input=0, output=0), (10, 3)),
    ],
)
async def test_a_server_is_not_believed_beyond_what_can_be_nor_that_it_used_nothing(
    said: str, told: Usage, charged: tuple[int, int]
) -> None:
    reply = await Scene(says(said, usage=told)).ask(most_output=8)

    assert (reply.prompt_tokens, reply.output_tokens) == charged


@pytest.mark.parametrize(
    ("heard", "problem", "kind", "paid"),
    [
        ((), ModelUnavailable("small", "it is down."), VoiceAway, 0),
        (("it is ",), ModelUnavailable("small", "it went."), VoiceAway, 12),
        ((), ModelRefused("small", "no."), VoiceRefused, 0),
        ((), ModelOverflow("small", "too long.", fix="Cut it."), VoiceRefused, 0),
        ((), ModelBroke("small", "it broke off."), VoiceBroke, 10),
    ],
)
async def test_why_it_gave_no_answer_is_said_with_what_it_cost(
    heard: Sequence[str], problem: Exception, kind: type[VoiceBroke], paid: int
) -> None:
    scene = Scene([*map(TextPiece, heard), problem])

    with pytest.raises(kind) as caught:
        await scene.ask()

    assert (caught.value.voice, tokens_of(caught.value)) == ("local:small", paid)
    assert str(problem) in str(caught.value)


async def test_an_answer_that_is_filtered_or_empty_is_none_and_one_that_was_ended_is_cut() -> None:
    filtered, ended = (a_reply("it", finish=each) for each in (Finish.FILTERED, Finish.LENGTH))
    text = TextPiece("it")
    scene = Scene([text, filtered], [a_reply(" ")], [text], [text, ended])

    for told, error in (
        ("filter", VoiceRefused),
        ("empty", VoiceBroke),
        ("without an end", VoiceBroke),
    ):
        with pytest.raises(error, match=told):
            await scene.ask()

    assert (await scene.ask()).cut


async def test_one_that_stalls_is_left_when_its_time_is_over_or_its_waiter_goes() -> None:
    begun = asyncio.Event()

    async def stalls(_ask: ModelAsk) -> AsyncIterator[Piece]:
        yield TextPiece("it is ")
        begun.set()
        await asyncio.Event().wait()

    scene = Scene(stalls, stalls)

    with pytest.raises(VoiceBroke, match="within 0 seconds") as caught:
        await scene.ask(timeout=0.05)
    assert (tokens_of(caught.value), scene.models.closed) == (12, 1)

    begun.clear()
    asking = asyncio.create_task(scene.ask())
    await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert scene.models.closed == 2


async def test_what_is_too_secret_for_a_model_is_not_sent_to_it() -> None:
    scene = Scene(says("Paris"), clearance=Label(Level.TEAM))

    with pytest.raises(VoiceNotCleared):
        await scene.ask(label=Label(Level.CONFIDENTIAL))

    assert scene.models.asks == []


async def test_a_model_that_is_not_there_is_not_found() -> None:
    scene = Scene()

    for target in ("local:none", "nothing", "openai:"):
        with pytest.raises(VoiceNotFound):
            await scene.voices.named(ANA, target)
    with pytest.raises(VoiceAway):
        await scene.voices.ask(ANA, an_ask(a_voice("local:gone")), scene.heard.append)


class AwayBook(MemoryBook):
    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        raise ModelUnavailable(str(ref), "nobody listens there.", fix="Start it.")


def voices_of(book: MemoryBook) -> ModelVoices:
    return ModelVoices(book=book, models=ScriptedModels(), tokenizer=Words(), clock=TickingClock())


async def test_a_model_whose_server_is_away_is_away_or_not_found_if_others_are_named() -> None:
    with pytest.raises(VoiceAway, match=r"nobody listens there\. Start it\."):
        await voices_of(AwayBook(a_model(ModelRef("other", "large")))).named(ANA, "local:small")
    with pytest.raises(VoiceNotFound):
        await voices_of(AwayBook(a_model())).named(ANA, "local:smal")


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openai:gpt-5", "openai"),
        ("router:openai/gpt-4.1", "openai"),
        ("openai:o3-mini", "openai"),
        ("claude:claude-opus-5", "anthropic"),
        ("router:google/gemini-3-pro", "google"),
        ("ollama:gemma3:4b", "google"),
        ("ollama:llama3.2:3b", "llama"),
        ("router:meta-llama/Meta-Llama-3-8B", "llama"),
        ("ollama:qwen3", "qwen"),
        ("router:mistralai/mixtral-8x7b", "mistral"),
        ("router:deepseek/deepseek-r1", "deepseek"),
        ("llama:smollm2-135m", "smollm"),
        ("plain:some-model", "plain"),
        ("two1:proto3", "two1"),
    ],
)
def test_models_of_one_maker_are_one_family_wherever_they_are_served(
    model: str, family: str
) -> None:
    ref = ModelRef.parse(model)

    assert family_of(ref.provider, ref.name) == family


@given(
    pieces=st.lists(st.text(alphabet="ab \n", max_size=12), max_size=20),
    most=st.integers(min_value=1, max_value=12),
    usage=st.builds(
        Usage, input=st.integers(0, 10**12), output=st.integers(0, 10**12), reported=st.booleans()
    ),
)
async def test_no_answer_is_longer_or_dearer_than_what_was_reserved(
    pieces: list[str], most: int, usage: Usage
) -> None:
    scene = Scene([*map(TextPiece, pieces), a_reply("".join(pieces), usage=usage)], price=PRICE)

    with suppress(VoiceBroke):
        reply = await scene.ask(most_output=most)

        assert Words().count(reply.text) <= most
        assert reply.output_tokens <= most
        assert reply.cost.tokens <= 40 + most
        assert reply.cost.money <= PRICE.of(input_tokens=40, output_tokens=most)
