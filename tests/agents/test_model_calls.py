"""Who is asked for a turn, how often, and with what; models as they are listed and tried."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.agents import model_requests as trying
from portico.agents.core.agents import Limits, ToolMode
from portico.agents.core.errors import (
    ModelBroke,
    ModelKeyMissing,
    ModelNotFound,
    ModelOverflow,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
)
from portico.agents.core.events import RunNotice, TextDelta
from portico.agents.core.model_requests import (
    AssistantMessage,
    Finish,
    ModelAsk,
    ModelRef,
    Price,
    Reply,
    ResponseChunk,
    Support,
    TextChunk,
    ToolArgumentsChunk,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from portico.agents.core.traces import AgentRunStatus
from portico.agents.model_requests import ListModels, ListProviders, ShowModel
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.label import Label, Level
from portico.testing.agents import (
    SMALL,
    MemoryModelRegistry,
    ScriptedModels,
    ScriptedTool,
    ScriptedToolbox,
    a_call,
    a_model,
    a_reply,
    says,
    wants,
)
from portico.testing.guard import a_person
from tests.agents.room import PLENTY, Room
from tests.engine.room import ANA

OTHER = ModelRef("far", "large")
BOTH = (a_model(), a_model(OTHER, local=False))
FILES = ScriptedTool(name="files.read", gives="The letter says hello.")
AWAY = ModelUnavailable("local:small", "it is away.")


def with_fallback(models: ScriptedModels) -> Room:
    return Room(models, book=MemoryModelRegistry(*BOTH), fallbacks=("far:large",), tools=())


async def test_a_model_that_is_away_is_asked_again_after_a_while() -> None:
    room = Room(ScriptedModels(AWAY, AWAY, says("Here I am.")), tools=())

    trace = await room.done()

    assert trace.run.answer == "Here I am."
    assert trace.turns[0].attempts == 3
    assert len(room.pauses) == 2
    assert 0.25 <= room.pauses[0] <= 0.75
    assert 0.5 <= room.pauses[1] <= 1.5


async def test_a_server_that_says_when_to_come_back_is_taken_at_its_word_if_it_is_soon() -> None:
    soon, late = (
        ModelUnavailable("local:small", "too many.", retry_after=after)
        for after in (timedelta(seconds=7), timedelta(hours=1))
    )
    room = Room(ScriptedModels(soon, says("Here I am.")), tools=())
    other = with_fallback(ScriptedModels(late, says("I am the other.")))

    await room.done()
    trace = await other.done()

    assert 7 <= room.pauses[0] <= 7.25
    assert other.pauses == []
    assert trace.turns[0].model == "far:large"


async def test_after_three_tries_the_next_model_is_asked() -> None:
    models = ScriptedModels(AWAY, AWAY, AWAY, says("I am the other."))
    room = with_fallback(models)

    trace = await room.done()

    assert [str(ask.model) for ask in models.asks] == [*["local:small"] * 3, "far:large"]
    assert trace.turns[0].attempts == 4
    notes = [each for each in room.told(trace.run.run) if isinstance(each, RunNotice)]
    assert [note.code for note in notes] == ["retry", "retry", "fallback"]


@pytest.mark.parametrize(
    "problem",
    [
        ModelRefused("local:small", "no."),
        ModelOverflow("local:small", "too long.", fix="Say less."),
        ModelKeyMissing("local", "env:KEY"),
    ],
)
async def test_what_will_not_change_is_not_asked_twice(problem: Exception) -> None:
    models = ScriptedModels(problem, says("I am the other."))

    trace = await with_fallback(models).done()

    assert trace.turns[0].model == "far:large"
    assert len(models.asks) == 2


async def test_if_nobody_answers_the_first_problem_is_told() -> None:
    models = ScriptedModels(ModelRefused("local:small", "no."), AWAY, AWAY, AWAY)
    room = with_fallback(models)

    trace = await room.done()

    assert trace.run.status is AgentRunStatus.FAILED
    assert trace.run.error_code == "model_refused"
    assert room.ended(trace.run.run).error == "local:small refuses this: no."


async def test_a_run_that_failed_and_is_taken_up_again_asks_again() -> None:
    models = ScriptedModels(AWAY, AWAY, AWAY, says("Here I am."))
    room = Room(models, tools=())
    run = await room.start()
    await room.leg(run)

    await room.resume(ANA, run)
    await room.leg(run)

    assert (await room.trace(run)).run.answer == "Here I am."


async def test_what_an_answer_that_broke_off_said_is_void_and_paid() -> None:
    broken: list[ResponseChunk | Exception] = [
        TextChunk("Half an "),
        TextChunk("answer"),
        ModelBroke("local:small", "cut."),
    ]
    room = Room(ScriptedModels(broken, says("Whole.")), tools=())

    trace = await room.done("A question of five words.")

    assert trace.run.answer == "Whole."
    pieces = [each for each in room.told(trace.run.run) if isinstance(each, TextDelta)]
    assert [(piece.attempt, piece.text) for piece in pieces] == [
        (1, "Half an "),
        (1, "answer"),
        (2, "Whole."),
    ]
    assert trace.turns[0].counted > 2 * 5 + 3 + 1


async def test_a_model_that_has_not_read_all_is_asked_once_more_and_then_told() -> None:
    cut = ModelTruncated("local:small", 900, 200, fix="Give it a larger window.")
    models = ScriptedModels(cut, cut, cut)
    room = Room(models, tools=())

    trace = await room.done()

    assert len(models.asks) == 2
    assert trace.run.error_code == "model_truncated"
    assert room.ended(trace.run.run).fix == "Give it a larger window."


async def test_what_is_too_secret_for_a_model_is_not_sent_to_it() -> None:
    models = ScriptedModels(says("I may know."))
    low = a_model(OTHER, clearance=Label(Level.PUBLIC))
    room = Room(
        models,
        book=MemoryModelRegistry(a_model(), low),
        model="far:large",
        fallbacks=("local:small",),
        tools=(),
    )

    trace = await room.done()

    assert [str(ask.model) for ask in models.asks] == ["local:small"]
    assert "may know at most public" in trace.turns[0].notes[0]


async def test_a_model_that_can_call_no_tools_and_keeps_no_form_is_refused() -> None:
    dumb = a_model(tools=Support.NO, structured=Support.NO)
    room = Room(ScriptedModels(says("Hm.")), ScriptedToolbox(FILES), book=MemoryModelRegistry(dumb))

    trace = await room.done()

    assert trace.run.error_code == "model_lacks_tools"


async def test_a_model_without_tools_of_its_own_is_held_to_a_form() -> None:
    models = ScriptedModels(
        says('{"tool": "files__read", "arguments": {"path": "/letter"}}'),
        says('{"say": "It says hello."}'),
    )
    book = MemoryModelRegistry(a_model(tools=Support.NO))
    room = Room(models, ScriptedToolbox(FILES), book=book)

    trace = await room.done()

    assert trace.run.answer == "It says hello."
    assert [use.tool for use in trace.uses] == ["files.read"]
    assert [ask.tools for ask in models.asks] == [(), ()]
    assert models.asks[0].schema is not None
    assert "files__read" in models.asks[0].instructions
    assert list(models.asks[1].messages)[1:] == [
        AssistantMessage('{"tool": "files__read", "arguments": {"path": "/letter"}}'),
        UserMessage("[The tool files__read gave:]\nThe letter says hello."),
    ]
    assert room.talk.texts(trace.run.run) == "It says hello."


async def test_an_answer_that_is_not_of_the_form_is_put_right_once_and_then_an_error() -> None:
    models = ScriptedModels(says("Hello there"), says('{"say": "Hello."}'))
    twice = ScriptedModels(says("Hello there"), says("Hello again"), says("And again"))
    book = MemoryModelRegistry(a_model(tools=Support.NO))

    right = await Room(models, ScriptedToolbox(FILES), book=book).done()
    wrong = await Room(
        twice, ScriptedToolbox(FILES), book=MemoryModelRegistry(a_model()), tool_mode=ToolMode.FORM
    ).done()

    assert right.run.answer == "Hello."
    assert "could not be read" in str(models.asks[1].messages[-1])
    assert (wrong.run.error_code, len(twice.asks)) == ("model_broke_off", 2)


async def test_old_results_are_shortened_to_fit_and_people_are_heard_whole() -> None:
    question = " ".join(["word"] * 300)
    long = ScriptedTool(name="files.read", gives="much " * 1_000)
    calls = [wants(a_call(id_=f"c{n}", path=f"/{n}")) for n in range(4)]
    models = ScriptedModels(*calls, says("Done."))
    room = Room(
        models,
        ScriptedToolbox(long),
        book=MemoryModelRegistry(a_model(window=4_000)),
        max_output_tokens=256,
    )

    trace = await room.done(question)

    assert trace.run.answer == "Done."
    last = models.asks[-1].messages
    assert last[0] == UserMessage(question)
    results = [message for message in last if isinstance(message, ToolMessage)]
    assert "were left out, to make room" in results[0].text
    notes = [each for each in room.told(trace.run.run) if isinstance(each, RunNotice)]
    assert "compacted" in [note.code for note in notes]


async def test_words_of_people_that_do_not_fit_are_refused_and_not_cut() -> None:
    room = Room(
        ScriptedModels(says("Hm.")), book=MemoryModelRegistry(a_model(window=1_000)), tools=()
    )

    trace = await room.done(" ".join(["word"] * 2_000))

    assert trace.run.error_code == "context_too_small"


async def test_what_one_server_wants_back_is_not_shown_to_another() -> None:
    first = [replace(a_reply("", a_call()), stored={"signature": "x"})]
    models = ScriptedModels(first, ModelRefused("local:small", "no."), says("I am the other."))
    room = Room(
        models, ScriptedToolbox(FILES), book=MemoryModelRegistry(*BOTH), fallbacks=("far:large",)
    )

    await room.done()

    kept = [
        [m.provider_data for m in ask.messages if isinstance(m, AssistantMessage)]
        for ask in models.asks
    ]
    assert kept == [[], [{"signature": "x"}], [None]]


async def test_the_answer_that_is_asked_for_shrinks_with_what_is_left_until_nothing_is() -> None:
    models = ScriptedModels(says("Short."))

    await Room(models, tools=(), limits=replace(PLENTY, tokens=300)).done()
    spent = await Room(models, tools=(), limits=replace(PLENTY, tokens=50)).done()

    assert 64 <= models.asks[0].max_output_tokens < 200
    assert spent.run.status is AgentRunStatus.EXHAUSTED
    assert spent.run.error_code == "agent_budget_spent"


async def test_where_one_model_is_too_dear_the_next_may_do_and_an_unknown_price_is_told() -> None:
    dear = a_model(price=Price(input=Decimal(1_000_000), output=Decimal(1_000_000)))
    free = Room(
        ScriptedModels(says("I am free.")),
        book=MemoryModelRegistry(dear, a_model(OTHER)),
        fallbacks=("far:large",),
        tools=(),
        limits=replace(PLENTY, money=Decimal(1)),
    )
    unknown = Room(
        ScriptedModels(says("Hm.")), book=MemoryModelRegistry(a_model(price=None)), tools=()
    )

    assert (await free.done()).turns[0].model == "far:large"
    notes = (await unknown.done()).turns[0].notes
    assert "Nobody knows what local:small costs" in notes[0]


@pytest.mark.parametrize("what", ["text", "arguments"])
async def test_an_answer_longer_than_was_paid_for_is_cut_off_and_charged(what: str) -> None:
    async def endless(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield ToolArgumentsChunk("c1", '{"text": "') if what == "arguments" else TextChunk("much ")
        while True:
            yield ToolArgumentsChunk("c1", "more ") if what == "arguments" else TextChunk("more ")

    models = ScriptedModels(endless, endless, endless)

    trace = await Room(models, limits=replace(PLENTY, tokens=500)).done()

    assert models.closed == len(models.asks)
    assert 400 < trace.run.usage.input + trace.run.usage.output <= 500
    assert trace.uses == ()
    if what == "text":
        assert trace.turns[0].finish is Finish.LENGTH
        assert trace.turns[0].counted <= 500
        assert "was cut off" in trace.turns[0].notes[-1]


async def test_arguments_that_end_are_charged_once() -> None:
    whole = a_call("files__read", path="a b c d e f")
    pieces = [ToolArgumentsChunk("c1", '{"path": "a b c '), ToolArgumentsChunk("c1", "d e ")]
    in_pieces = Room(
        ScriptedModels([*pieces, *wants(whole)], says("Read.")), ScriptedToolbox(FILES)
    )
    at_once = Room(ScriptedModels(wants(whole), says("Read.")), ScriptedToolbox(FILES))

    counted = [(await room.done()).turns[0].counted for room in (in_pieces, at_once)]

    assert counted[0] == counted[1]


async def test_a_server_is_charged_neither_beyond_what_was_reserved_nor_below_our_count() -> None:
    much, nothing = Usage(input=10**9, output=10**9), Usage(input=0, output=0)
    question = "A question of five words."

    large = await Room(
        ScriptedModels(says("Hm.", usage=much)), tools=(), limits=Limits(tokens=2_000)
    ).done()
    small = await Room(ScriptedModels(says("One two three.", usage=nothing)), tools=()).done(
        question
    )

    assert large.turns[0].counted <= 2_000
    assert small.turns[0].counted >= 5 + 3


async def test_a_small_model_is_shown_few_tools_and_a_search() -> None:
    many = [ScriptedTool(name=f"files.tool{n}") for n in range(30)]
    models = ScriptedModels(says("Hm."), says("Hm."))
    book = MemoryModelRegistry(a_model(window=8_000))

    await Room(models, ScriptedToolbox(*many), book=book).done()

    assert len(models.asks[0].tools) == 6
    assert models.asks[0].model == SMALL


async def test_an_agent_that_goes_without_its_tools_says_so() -> None:
    room = Room(ScriptedModels(AWAY, says("Hm.")), ScriptedToolbox(), tools=("files.*",))
    bare = Room(ScriptedModels(says("Hm.")), ScriptedToolbox(), tools=())

    trace = await room.done()

    [without, _again] = trace.turns[0].notes
    assert without.startswith("None of the tools that it may use can be used now")
    told = [each for each in room.told(trace.run.run) if isinstance(each, RunNotice)]
    assert [each.code for each in told] == ["no_tools", "retry"]
    assert (await bare.done()).turns[0].notes == ()


VIEWER = a_person("vi", roles={Role.VIEWER})
STRANGER = a_person("stranger", roles=set())
REF = ModelRef("local", "small")


def said(
    text: str, *pieces: ResponseChunk, calls: tuple[ToolCall, ...] = ()
) -> list[ResponseChunk]:
    reply = Reply(
        text=text,
        usage=Usage(input=9, output=40),
        finish=Finish.STOP,
        model="small",
        first_piece=timedelta(seconds=1),
        took=timedelta(seconds=3),
        calls=calls,
    )
    return [*pieces, reply]


HELLO = said("one two", TextChunk("one "), TextChunk("two"))
CALL = said("", calls=(ToolCall("c1", "get_weather", {"city": "Paris"}),))
FORM = said('{"city": "Paris"}')


def tries(*answers: list[ResponseChunk] | Exception) -> trying.TestModel:
    return trying.TestModel(book=MemoryModelRegistry(a_model(REF)), models=ScriptedModels(*answers))


async def test_models_are_listed_by_name_and_shown_by_it() -> None:
    book = MemoryModelRegistry(a_model(ModelRef("b", "x")), a_model(ModelRef("a", "y")))

    listed = await ListModels(book=book)(VIEWER)
    shown = await ShowModel(book=book)(VIEWER, ModelRef("b", "x"))
    providers = await ListProviders(book=book)(VIEWER)

    assert [str(model.ref) for model in listed] == ["a:y", "b:x"]
    assert shown == listed[1]
    assert [state.name for state in providers] == ["a", "b"]


async def test_whoever_may_not_see_models_sees_none_and_only_who_may_spend_tries_one() -> None:
    book = MemoryModelRegistry()

    for ask in (
        ListModels(book=book)(STRANGER),
        ListProviders(book=book)(STRANGER),
        ShowModel(book=book)(STRANGER, REF),
        tries(HELLO)(VIEWER, REF),
    ):
        with pytest.raises(NotPermitted):
            await ask
    with pytest.raises(ModelNotFound):
        await tries()(ANA, ModelRef("local", "none"))


async def test_a_good_model_does_all_of_it() -> None:
    tested = await tries(HELLO, CALL, FORM)(ANA, REF)

    assert (tested.answers, tested.streams, tested.usage_reported) == (True, True, True)
    assert (tested.calls_tools, tested.holds_to_form) == (Support.YES, Support.YES)
    assert tested.first_piece == timedelta(seconds=1)
    assert tested.tokens_a_second == 20.0


@pytest.mark.parametrize(
    ("call", "form"),
    [
        (said("It rains."), said("Paris")),
        (ModelRefused("local:small", "no tools."), ModelRefused("local:small", "no forms.")),
        (said("", calls=(ToolCall("c1", "other", {}),)), said('["Paris"]')),
    ],
)
async def test_what_a_model_does_not_do_is_found(
    call: list[ResponseChunk] | Exception, form: list[ResponseChunk] | Exception
) -> None:
    tested = await tries(HELLO, call, form)(ANA, REF)

    assert tested.answers
    assert (tested.calls_tools, tested.holds_to_form) == (Support.NO, Support.NO)


async def test_a_model_that_does_not_answer_is_not_asked_further() -> None:
    error = ModelUnavailable("local:small", "nothing answers there.", fix="Start it.")
    tested = await tries(error)(ANA, REF)
    silent = await tries(said(""))(ANA, REF)
    cut = await tries([TextChunk("one")])(ANA, REF)

    assert (tested.answers, tested.fix) == (False, "Start it.")
    assert "nothing answers" in (tested.problem or "")
    assert (silent.answers, silent.problem) == (False, "It says nothing.")
    assert not cut.answers
