"""Debaters that are models, agents or programs, and material for debates from the bridge."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from re import finditer
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.cross_domain import event_sinks
from portico.adapters.cross_domain.debaters import DebateMaterial, ModelDebaters, family_of
from portico.adapters.cross_domain.event_sinks import WORDING, DebateEventLog
from portico.adapters.cross_domain.promotion import LetOut, let_out
from portico.adapters.cross_domain.run_contexts import DebateTasks
from portico.adapters.crypto import AesSivSeal
from portico.adapters.postgres.debate.mapping import talk_topic, voice_from
from portico.agents.core.errors import ModelBroke, ModelOverflow, ModelRefused, ModelUnavailable
from portico.agents.core.model_requests import (
    Finish,
    ModelAsk,
    ModelInfo,
    ModelRef,
    Price,
    ReasoningChunk,
    ResponseChunk,
    Support,
    TextChunk,
    Usage,
)
from portico.bridge.core.declassification import ScanMatch, found
from portico.bridge.core.errors import MemoryNotFound, ProjectNotFound
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.projects import ProjectId
from portico.debate.core.debaters import DebaterKind, DebaterReply, Tariff
from portico.debate.core.debates import (
    Debate,
    DebateStatus,
    GuestAnswer,
    Note,
    NoteKind,
    ReplaySpec,
    WholeDebate,
)
from portico.debate.core.errors import (
    DebaterInterrupted,
    DebaterNotCleared,
    DebaterNotFound,
    DebaterRefused,
    DebaterSilent,
    DebaterUnavailable,
)
from portico.debate.core.events import (
    DebateEnded,
    DebateEvent,
    DebaterFailed,
    DebaterSpoke,
    DebateStreamItem,
    RoundStarted,
)
from portico.debate.core.questions import Preset, QuestionKind
from portico.engine.core.errors import InvalidCursor
from portico.engine.event_log import Tails, WatchTopics
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, Level, join
from portico.kernel.principal import Principal
from portico.testing.agents import (
    MemoryModelRegistry,
    ScriptedModels,
    ScriptedReply,
    Words,
    a_model,
    a_reply,
    says,
)
from portico.testing.debate_fakes import ScriptedDebater
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy, TickingClock
from tests.adapters.cross_domain.debate_asks import FORM, a_voice, an_ask
from tests.contracts.bridge_people import FINANCE, LAW, SECRET, TEAM, a_project, cleared_root
from tests.contracts.debate_table import a_debate
from tests.contracts.doors import Doors, memory_doors
from tests.debate.room import ANA as ROOM_ANA
from tests.debate.room import BEN, Room, put, some

ANA = a_person("ana")
PRICE = Price(input=Decimal(1), output=Decimal(2))


def tokens_of(silent: DebaterSilent) -> int:
    assert silent.cost is not None
    return silent.cost.tokens


class Scene:
    def __init__(self, *said: ScriptedReply, **model: Any) -> None:
        self.models, self.heard = ScriptedModels(*said), list[str]()
        self.voices = ModelDebaters(
            book=MemoryModelRegistry(a_model(**model)),
            models=self.models,
            tokenizer=Words(),
            clock=TickingClock(),
        )

    async def ask(self, **changes: Any) -> DebaterReply:
        voice = await self.voices.named(ANA, "local:small")
        return await self.voices.ask(ANA, an_ask(voice, **changes), self.heard.append)


async def test_a_model_is_a_voice_that_is_held_to_a_maximum() -> None:
    scene = Scene(price=PRICE, clearance=Label(Level.TEAM), max_output_tokens=500)

    voice = await scene.voices.named(ANA, "local:small")

    assert [state.debater for state in await scene.voices.all(ANA)] == [voice]
    assert (voice.name, voice.kind, voice.target) == (
        "local:small",
        DebaterKind.MODEL,
        "local:small",
    )
    assert (voice.bounded, voice.max_output_tokens, voice.clearance) == (
        True,
        500,
        Label(Level.TEAM),
    )
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

    await scene.ask(max_output_tokens=7)

    [asked] = scene.models.asks
    assert (asked.instructions, asked.max_output_tokens) == ("You are a critic.", 7)
    assert asked.schema == FORM


@pytest.mark.parametrize("structured", [Support.NO, Support.UNKNOWN])
async def test_only_a_model_that_can_be_held_to_a_form_is_given_one(structured: Support) -> None:
    scene = Scene(says("Paris"), structured=structured)

    await scene.ask()

    assert scene.models.asks[0].schema is None


async def test_a_model_that_goes_on_is_cut_at_its_maximum_and_hung_up_on() -> None:
    scene = Scene(says("one two three four five six"))

    reply = await scene.ask(max_output_tokens=4)

    assert reply.text.split() == ["one", "two", "three", "four"]
    assert (reply.cut, reply.output_tokens, scene.models.closed) == (True, 4, 1)


async def test_of_one_long_piece_as_much_is_taken_as_there_is_room_for() -> None:
    scene = Scene([TextChunk("one two three four five"), a_reply("one two three four five")])

    reply = await scene.ask(max_output_tokens=3)

    assert (reply.text.split(), reply.cut) == (["one", "two", "three"], True)
    assert "".join(scene.heard) == reply.text


async def test_what_it_thinks_aloud_is_paid_for_and_no_part_of_its_answer() -> None:
    long: list[ResponseChunk | Exception] = [ReasoningChunk("let me see now"), TextChunk("Paris")]
    scene = Scene(long, says("Paris", thought="hm hm", usage=Usage(reported=False)))

    with pytest.raises(DebaterInterrupted) as caught:
        await scene.ask(max_output_tokens=3)
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
    reply = await Scene(says(said, usage=told)).ask(max_output_tokens=8)

    assert (reply.prompt_tokens, reply.output_tokens) == charged


@pytest.mark.parametrize(
    ("heard", "problem", "kind", "paid"),
    [
        ((), ModelUnavailable("small", "it is down."), DebaterUnavailable, 0),
        (("it is ",), ModelUnavailable("small", "it went."), DebaterUnavailable, 12),
        ((), ModelRefused("small", "no."), DebaterRefused, 0),
        ((), ModelOverflow("small", "too long.", fix="Cut it."), DebaterRefused, 0),
        ((), ModelBroke("small", "it broke off."), DebaterInterrupted, 10),
    ],
)
async def test_why_it_gave_no_answer_is_said_with_what_it_cost(
    heard: Sequence[str], problem: Exception, kind: type[DebaterInterrupted], paid: int
) -> None:
    scene = Scene([*map(TextChunk, heard), problem])

    with pytest.raises(kind) as caught:
        await scene.ask()

    assert (caught.value.voice, tokens_of(caught.value)) == ("local:small", paid)
    assert str(problem) in str(caught.value)


async def test_an_answer_that_is_filtered_or_empty_is_none_and_one_that_was_ended_is_cut() -> None:
    filtered, ended = (a_reply("it", finish=each) for each in (Finish.FILTERED, Finish.LENGTH))
    text = TextChunk("it")
    scene = Scene([text, filtered], [a_reply(" ")], [text], [text, ended])

    for told, error in (
        ("filter", DebaterRefused),
        ("empty", DebaterInterrupted),
        ("without an end", DebaterInterrupted),
    ):
        with pytest.raises(error, match=told):
            await scene.ask()

    assert (await scene.ask()).cut


async def test_one_that_stalls_is_left_when_its_time_is_over_or_its_waiter_goes() -> None:
    begun = asyncio.Event()

    async def stalls(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield TextChunk("it is ")
        begun.set()
        await asyncio.Event().wait()

    scene = Scene(stalls, stalls)

    with pytest.raises(DebaterInterrupted, match="within 0 seconds") as caught:
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

    with pytest.raises(DebaterNotCleared):
        await scene.ask(label=Label(Level.CONFIDENTIAL))

    assert scene.models.asks == []


async def test_a_model_that_is_not_there_is_not_found() -> None:
    scene = Scene()

    for target in ("local:none", "nothing", "openai:"):
        with pytest.raises(DebaterNotFound):
            await scene.voices.named(ANA, target)
    with pytest.raises(DebaterUnavailable):
        await scene.voices.ask(ANA, an_ask(a_voice("local:gone")), scene.heard.append)


class AwayBook(MemoryModelRegistry):
    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        raise ModelUnavailable(str(ref), "nobody listens there.", fix="Start it.")


def voices_of(book: MemoryModelRegistry) -> ModelDebaters:
    return ModelDebaters(
        book=book, models=ScriptedModels(), tokenizer=Words(), clock=TickingClock()
    )


async def test_a_model_whose_server_is_away_is_away_or_not_found_if_others_are_named() -> None:
    with pytest.raises(DebaterUnavailable, match=r"nobody listens there\. Start it\."):
        await voices_of(AwayBook(a_model(ModelRef("other", "large")))).named(ANA, "local:small")
    with pytest.raises(DebaterNotFound):
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
    scene = Scene([*map(TextChunk, pieces), a_reply("".join(pieces), usage=usage)], price=PRICE)

    with suppress(DebaterInterrupted):
        reply = await scene.ask(max_output_tokens=most)

        assert Words().count(reply.text) <= most
        assert reply.output_tokens <= most
        assert reply.cost.tokens <= 40 + most
        assert reply.cost.money <= PRICE.of(input_tokens=40, output_tokens=most)


async def remember(
    doors: Doors, root: Principal, project: ProjectId, label: Label, **what: JsonValue
) -> None:
    for key, value in what.items():
        wanted = ToRemember(project=project, key=key, value=value)
        await doors.memory.put(root, wanted, label, BEGINNING, untrusted=label == LAW)


async def test_what_is_remembered_is_read_as_one_text_and_as_secret_as_all_of_it() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await remember(doors, root, project.id, FINANCE, plan="Zürich first.")
    await remember(doors, root, project.id, TEAM, ports={"ö": [80]})
    await remember(doors, root, project.id, LAW, letter="Dear all")
    material = DebateMaterial(projects=doors.projects, memory=doors.memory)

    text, label, untrusted = await material.of(root, project.name, ["plan", "ports", "plan"])

    assert text == '## plan\n\nZürich first.\n\n## ports\n\n{\n  "ö": [\n    80\n  ]\n}'
    assert (label, untrusted) == (FINANCE, False)
    strange = await material.of(root, str(project.id), ["letter"])
    assert strange[1:] == (join([TEAM, LAW]), True)
    assert await material.of(root, str(project.id), []) == ("", TEAM, False)


async def test_what_somebody_may_not_read_is_not_there() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    hidden = await a_project(doors, root, "hidden", FINANCE)
    await remember(doors, root, project.id, FINANCE, plan="x")
    material = DebateMaterial(projects=doors.projects, memory=doors.memory)
    low = replace(root, clearance=TEAM)

    assert await material.project(low, project.name) == (str(project.id), TEAM)
    with pytest.raises(ProjectNotFound):
        await material.project(low, str(hidden.id))
    with pytest.raises(ProjectNotFound):
        await material.of(low, "hidden", [])
    with pytest.raises(MemoryNotFound):
        await material.of(low, str(project.id), ["plan"])


async def test_a_debate_begins_with_what_its_starter_has_read_and_goes_its_own_way() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    tasks = DebateTasks(
        book=doors.contexts,
        contexts=doors.contexts,
        clock=doors.clock,
        entropy=SeededEntropy("tasks"),
    )
    await tasks.read(root, TEAM, untrusted=True)

    inside = replace(root, context=await tasks.open(root, "debate", FINANCE))
    await tasks.read(root, LAW, untrusted=False)

    task = await tasks.at(inside)
    assert (task.label, task.untrusted) == (join([TEAM, FINANCE]), True)
    fresh = await tasks.at(replace(root, key="another"))
    assert fresh.label == PUBLIC


BEGAN = RoundStarted(round=1, voices=("a",))
NEXT = RoundStarted(round=2, voices=("a",))
ENDED = DebateEnded(decision=None, status="stopped", tokens=1, money=Decimal(0), seconds=0.5)
SEAL = AesSivSeal.from_pepper(b"pepper")


@dataclass
class Table:
    doors: Doors
    talk: DebateEventLog
    root: Principal
    debate: Debate

    async def tell(self, *happenings: DebateEvent, label: Label = TEAM) -> None:
        await self.talk.publish(self.root, self.debate.id, *happenings, label=label)

    async def told(
        self, who: Principal | None = None, after: str | None = None
    ) -> list[DebateStreamItem]:
        """All of it, of one that is over."""
        following = self.talk.follow(who or self.root, self.debate.id, after=after)
        return [each async for each in following]

    async def end(self) -> None:
        await self.doors.debates.end(
            self.root, self.debate.id, DebateStatus.STOPPED, None, at=BEGINNING
        )


@pytest.fixture
async def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr(event_sinks, "_LOOK", 0.01)
    doors = memory_doors()
    root = await cleared_root(doors)
    debate = a_debate(root, private=False)
    await doors.debates.add(root, debate)
    talk = DebateEventLog(
        log=doors.event_log,
        tails=Tails(log=doors.event_log, bus=doors.bus, seal=SEAL, wording=WORDING),
        encrypt=SEAL,
        blackboard=doors.debates,
        clock=doors.clock,
    )
    return Table(doors, talk, root, debate)


async def test_whoever_comes_later_is_told_all_of_it_to_its_end_or_from_where_they_left_off(
    table: Table,
) -> None:
    """What no database holds is marked as unknown; and nobody watches it by its name."""
    odd = DebaterFailed(voice="a\0", round=1, code="voice_broke", why="half \ud800")
    await table.tell(BEGAN)
    await table.tell(NEXT, odd, ENDED)

    first, *rest = await table.told()

    marked = replace(odd, voice="a\ufffd", why="half ?")
    assert first.event == BEGAN
    assert [each.event for each in rest] == [NEXT, marked, ENDED]
    assert await table.told(after=first.cursor) == rest
    with pytest.raises(InvalidCursor):
        await table.told(after="AAAA")
    assert WatchTopics(seal=SEAL)(table.root, [talk_topic(table.debate.id)], None) == {}


async def test_it_ends_with_the_debate_also_if_nobody_says_so_or_one_may_not_read_it_any_more(
    table: Table,
) -> None:
    await table.tell(BEGAN)
    low = replace(table.root, clearance=Label.parse("public"))

    assert await table.told(low) == []

    await table.end()

    assert [each.event for each in await table.told()] == [BEGAN]


async def test_a_piece_is_heard_while_it_is_spoken_and_not_kept(table: Table) -> None:
    piece = DebaterSpoke(voice="a", round=1, text="Hm.")
    following = table.talk.follow(table.root, table.debate.id, after=None)
    await table.tell(BEGAN)

    async with aclosing(following) as telling:
        began = await anext(telling)
        table.talk.speak(table.root, table.debate.id, piece, label=TEAM)
        spoken = await anext(telling)

    assert spoken == DebateStreamItem(began.cursor, piece, TEAM)
    await table.end()
    assert [each.event for each in await table.told()] == [BEGAN]


async def test_nobody_hears_what_is_above_them(table: Table) -> None:
    await table.tell(BEGAN)
    await table.tell(NEXT, label=FINANCE)
    await table.tell(ENDED)
    low = replace(table.root, clearance=TEAM)

    assert [each.event for each in await table.told(low)] == [BEGAN, ENDED]
    assert len(await table.told(replace(table.root, clearance=SECRET))) == 3


PASSWORD = "swordfish"


def knowing(text: str) -> Sequence[ScanMatch]:
    """A scanner that knows of one secret."""
    return found(text, lambda each: [(hit.start(), hit.end()) for hit in finditer(PASSWORD, each)])


def copy_of(whole: WholeDebate, out: LetOut) -> WholeDebate:
    """As the store makes it."""
    content = cast("dict[str, Any]", out.content)
    body = content["body"]
    debate = replace(
        whole.debate,
        question=replace(whole.debate.question, material=body["question"]["material"]),
        debaters=tuple(voice_from(each) for each in body["voices"]),
        guests=0,
        seed=body["seed"],
        start_label=None,
    )
    notes = [
        Note(
            name=each["name"],
            kind=NoteKind(each["kind"]),
            voice=each["voice"],
            round=each["round"],
            body=each["body"],
            at=datetime.fromisoformat(each["at"]),
        )
        for each in content["notes"]
    ]
    assert len({note.name for note in notes}) == len(notes)
    return WholeDebate(debate, tuple(notes))


async def held_text(*answers: str, near: bool = True, **voice: Any) -> tuple[Room, WholeDebate]:
    voices = [
        ScriptedDebater(name=f"{family}:1", answer=answer, **voice)
        for family, answer in zip("abcd", answers, strict=False)
    ]
    room = Room(*voices)
    room.meaning.on = near
    return room, await room.held("Where was it?", kind=QuestionKind.TEXT)


async def held_with_a_guest() -> tuple[Room, WholeDebate]:
    room = Room(ScriptedDebater(name="a:1"), ScriptedDebater(name="b:1", answer="no"))
    debate = await room.begin("Is it so?", guests=1)
    await room.join(BEN, debate.id)
    await room.leg(debate)
    await room.answer(BEN, debate.id, GuestAnswer(answer="yes"))
    await room.leg(debate)
    return room, await room.whole(debate.id)


async def held_open() -> tuple[Room, WholeDebate]:
    async def better_is_longer(ask: Any) -> Any:
        return await ScriptedDebater(name="x", answer=f"by {ask.debater.name}", better="B").reply(
            ask
        )

    room = Room(*[ScriptedDebater(name=f"{n}:1", says=better_is_longer) for n in "abc"])
    return room, await room.held("What now?", kind=QuestionKind.OPEN)


async def held_with_one_that_broke() -> tuple[Room, WholeDebate]:
    broken = ScriptedDebater(name="a:1", says=DebaterInterrupted("a:1", "it broke."))
    room = Room(broken, *some("b:1", "c:1"))
    return room, await room.held("Is it so?", preset=Preset.VOTE)


@pytest.mark.parametrize(
    "held",
    [
        lambda: held_text("the municipal library", "the municipal librarys", "a school"),
        lambda: held_text("NYC", "New York City", near=False),
        lambda: held_text("NYC", "New York City", near=False, same=False),
        held_with_a_guest,
        held_open,
        held_with_one_that_broke,
    ],
)
async def test_whoever_replays_the_copy_decides_the_same(held: Any) -> None:
    room, whole = await held()
    its = await room.replay(ROOM_ANA, whole.debate.id, ReplaySpec())
    copy = copy_of(whole, await let_out(found, whole))

    async def read(*_: object) -> WholeDebate:
        return copy

    put(room.blackboard, "read", read)
    again = await room.replay(ROOM_ANA, copy.debate.id, ReplaySpec())

    assert (again.now, again.notes) == (its.now, its.notes)


async def test_what_is_said_of_two_answers_is_named_after_them_as_they_are_in_the_copy() -> None:
    _, whole = await held_text(f"a big {PASSWORD}", "a small shark", f"another {PASSWORD}")

    out = await let_out(knowing, whole)

    copy = copy_of(whole, out)
    near = [note for note in copy.notes if note.kind is NoteKind.SAME]
    said = {str(note.body["key"]) for note in copy.notes if note.kind is NoteKind.SAID}
    assert PASSWORD not in out.text
    assert near
    assert {str(note.body[side]) for note in near for side in ("one", "other")} <= said
    assert not {note.name for note in near} & {note.name for note in whole.notes}


async def test_what_it_cost_and_its_seed_are_not_let_out() -> None:
    _, whole = await held_text("NYC", "New York City", near=False)

    out = await let_out(found, whole)

    assert "paid" not in out.text
    assert str(whole.debate.seed) not in out.text
