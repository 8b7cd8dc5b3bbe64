"""A debate asks for whoever started it, as they are now; whoever is told of it has read it."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import pytest

from portico.bridge.core.projects import Project, ProjectId
from portico.debate.activation import at_budget, at_debate, at_start
from portico.debate.core.debaters import DebaterReply, DebaterRequest
from portico.debate.core.debates import DebateId, DebateSpec, DebateStatus, NoteKind
from portico.debate.core.events import DebaterFailed
from portico.debate.core.questions import Cap
from portico.engine.core.runs import RunStatus
from portico.guard.core.contexts import context_of
from portico.guard.core.keys import Purpose, StoredKey
from portico.guard.core.principals import Role
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.debate_fakes import ScriptedDebater, a_reply, a_vote
from portico.testing.memory_store import BEGINNING, HeldKey, SeededEntropy
from tests.debate.room import ANA, ANA_THERE, CLEARED, Room, put, some

Ending = Callable[[Room], None]


def a_key(room: Room) -> Principal:
    """Ana, with a key of hers that is good for one tool."""
    key = StoredKey(
        id="k1",
        space=ANA.space,
        principal=ANA.id,
        purpose=Purpose.ACCESS,
        name="laptop",
        scopes=None,
        clearance=CLEARED,
        tools=("files.read",),
        created_at=BEGINNING,
    )
    room.world.keys["k1"] = HeldKey(key, b"")
    return replace(ANA, key="k1", tools=(("files.*",),))


def revoked(room: Room) -> None:
    held = room.world.keys["k1"]
    room.world.keys["k1"] = replace(held, key=replace(held.key, revoked_at=BEGINNING))


def disabled(room: Room) -> None:
    gone = replace(ANA_THERE, disabled_at=BEGINNING)
    room.world.identities[gone.space, gone.id] = gone


def demoted(room: Room) -> None:
    less = replace(ANA_THERE, roles=frozenset({Role.VIEWER}))
    room.world.identities[less.space, less.id] = less


def ending(room: Room, end: Ending) -> None:
    """While the first two are heard, who do not agree."""

    async def says(answer: str, _ask: DebaterRequest) -> DebaterReply:
        end(room)
        return a_reply(a_vote(answer))

    for name, answer in (("a:1", "yes"), ("b:1", "no"), ("c:1", "yes")):
        room.voices.debaters[name] = ScriptedDebater(name=name, says=partial(says, answer))


@pytest.mark.parametrize(
    ("end", "code"),
    [(revoked, "key_ended"), (disabled, "key_ended"), (demoted, "not_permitted")],
)
async def test_nobody_is_asked_for_a_starter_who_may_no_more(end: Ending, code: str) -> None:
    room = Room()
    ending(room, end)
    debate = await room.begin(by=a_key(room))

    run = await room.leg(debate)

    whole = await room.whole(debate.id)
    assert [ask.debater.name for ask in room.voices.asks] == ["a:1", "b:1"]
    assert run.status is RunStatus.FAILED
    assert whole.debate.status is DebateStatus.FAILED
    [failed] = [note for note in whole.notes if note.name == "failed"]
    assert failed.body["code"] == code


async def test_an_analysis_asks_nobody_for_them_either() -> None:
    room = Room()
    ending(room, lambda _: None)
    debate = await room.begin(by=a_key(room), analyze=True)
    revoked(room)

    await room.leg(debate)

    assert room.voices.asks == []
    assert (await room.whole(debate.id)).debate.status is DebateStatus.FAILED


async def test_no_guest_is_asked_for_them() -> None:
    room = Room()
    ending(room, lambda _: None)
    debate = await room.begin(by=a_key(room), guests=1)
    await room.leg(debate)
    await room.join(ANA, debate.id)
    revoked(room)

    await room.leg(debate)

    assert room.world.debate_questions == {}
    assert (await room.whole(debate.id)).debate.status is DebateStatus.FAILED


async def test_voices_are_asked_with_the_key_and_the_lists_of_the_starter() -> None:
    room = Room()
    ending(room, lambda _: None)
    asking, askers = room.voices.ask, []

    async def ask(
        caller: Principal, what: DebaterRequest, hear: Callable[[str], None]
    ) -> DebaterReply:
        askers.append(caller)
        return await asking(caller, what, hear)

    put(room.voices, "ask", ask)
    whole = await room.held(by=a_key(room))

    assert [note.voice for note in whole.notes if note.kind is NoteKind.SAID]
    assert {(each.key, each.tools) for each in askers} == {("k1", (("files.read",), ("files.*",)))}
    assert {each.context for each in askers} == {whole.debate.context}


CONFIDENTIAL = Label(Level.CONFIDENTIAL)
AGENT = replace(ANA, kind=PrincipalKind.AGENT, key="k1")


async def test_whoever_follows_it_has_read_what_is_more_secret_before_it_is_told() -> None:
    room = Room(*some("a:1", "b:1"))
    debate = await room.begin(by=AGENT)
    failed = DebaterFailed(voice="a:1", round=1, code="voice_broke", why="It said 'secret'.")
    await room.talk.publish(ANA, debate.id, failed, label=CONFIDENTIAL)

    async with aclosing(room.follow(AGENT, debate.id)) as telling:
        told = await anext(telling)
        mark = await room.tasks.at(AGENT)

    assert (told.event, mark.label) == (failed, CONFIDENTIAL)


async def test_whoever_is_told_what_a_project_has_left_has_read_what_was_spent(room: Room) -> None:
    project = Project(
        id=ProjectId.mint(BEGINNING, SeededEntropy("project")),
        name="apollo",
        label=PUBLIC,
        made_by=ANA.id,
        made_at=BEGINNING,
        active_at=BEGINNING,
    )
    which = str(project.id)
    room.world.projects[ANA.space, project.id] = project
    room.material.projects[which] = PUBLIC
    secret = await room.begin(project=which, label=CONFIDENTIAL)
    await room.purse.reserve(ANA, secret.id, "said", Cost(tokens=Tokens(10)))
    wish = DebateSpec(question="Is it so?", project=which, label=CONFIDENTIAL)

    await room.estimate(AGENT, wish)
    before = await room.tasks.at(AGENT)
    await room.purse.cap_project(replace(ANA, key="clean"), which, Cap(tokens=5_000))
    await room.estimate(AGENT, replace(wish, label=None))
    low = await room.tasks.at(AGENT)
    await room.estimate(AGENT, wish)
    after = await room.tasks.at(AGENT)

    assert (before.label, low.label, after.label) == (PUBLIC, PUBLIC, CONFIDENTIAL)


PERSON = replace(ANA, kind=PrincipalKind.PERSON, key="k1")
ONE, OTHER = (DebateId.mint(BEGINNING, SeededEntropy(seed)) for seed in ("one", "other"))


def test_each_place_of_a_person_is_a_task_of_its_own() -> None:
    places = [
        at_debate(PERSON, ONE),
        at_debate(PERSON, OTHER),
        at_debate(PERSON, None),
        at_start(PERSON, None),
        at_start(PERSON, "prj_x"),
        at_budget(PERSON, "prj_x"),
    ]

    assert len({context_of(each) for each in places}) == len(places)
    assert context_of(at_debate(replace(PERSON, key="k2"), ONE)) == context_of(places[0])


@pytest.mark.parametrize(
    "caller",
    [
        replace(PERSON, kind=PrincipalKind.AGENT),
        replace(PERSON, window=True),
        replace(PERSON, context=ContextId.mint(BEGINNING, SeededEntropy("context"))),
    ],
    ids=["a program", "a model's window", "who says where they are"],
)
def test_others_stay_where_they_are(caller: Principal) -> None:
    assert at_debate(caller, ONE) == at_start(caller, "prj_x") == at_budget(caller, "x") == caller
