"""Look at debates, follow them, stop them, share, promote and remove them."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.bridge.core.errors import ProjectNotFound
from portico.bridge.core.projects import Project, ProjectId
from portico.debate.core.debaters import DebaterReply, DebaterRequest
from portico.debate.core.debates import DebateStatus, Note, NoteKind, Why
from portico.debate.core.errors import (
    BudgetTooSmall,
    DebateNotFound,
    DebateOver,
    InvalidDebate,
    PersonaExists,
    PersonaNotFound,
)
from portico.debate.core.events import DebateEnded, DebaterAnswered
from portico.debate.core.questions import Cap
from portico.debate.debaters import ListDebaters
from portico.debate.replay import KeepLogs
from portico.guard.core.errors import NotPermitted
from portico.kernel.label import Label, Level
from portico.testing.debate_fakes import ScriptedDebater, a_reply, a_vote
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.debate.room import ANA, BEN, VERA, Room, decision_of, put, some
from tests.debate.virtual_time import LoopClock, in_no_time

TEAM, SECRET = Label(Level.TEAM), Label(Level.CONFIDENTIAL)


def a_project(room: Room) -> str:
    project = Project(
        id=ProjectId.mint(BEGINNING, SeededEntropy("project")),
        name="tower",
        label=TEAM,
        made_by=ANA.id,
        made_at=BEGINNING,
        active_at=BEGINNING,
    )
    room.world.projects[ANA.space, project.id] = project
    room.material.projects[str(project.id)] = TEAM
    return str(project.id)


async def test_a_debate_is_its_starters_alone_until_it_is_shared(room: Room) -> None:
    project = a_project(room)
    whole = await room.held(project=project)
    which = whole.debate.id

    with pytest.raises(DebateNotFound):
        await room.look.one(BEN, which)
    assert await room.look.page(BEN) == []
    await room.share(ANA, which)

    assert (await room.look.one(BEN, which)).debate.id == which
    assert [each.id for each in await room.look.page(BEN, project=project)] == [which]
    with pytest.raises(DebateNotFound):
        await room.share(BEN, which)
    with pytest.raises(DebateNotFound):
        await room.remove(BEN, which)


async def test_whoever_looks_has_read_it(room: Room) -> None:
    whole = await room.held(label=SECRET)
    at_a_key = replace(ANA, key="k7", window=True)

    await room.look.page(at_a_key)

    marks = [known.label for known in room.world.contexts.values() if known.name is None]
    assert SECRET in marks
    assert (await room.look.parts(ANA, whole.debate.id)) == []
    assert (await room.look.turned_out(ANA, whole.debate.id)) == []


async def test_following_tells_everything_to_its_end_and_each_answer_once(room: Room) -> None:
    whole = await room.held()
    told = room.talk.told[whole.debate.id]
    [first, *_] = [each for each in told if isinstance(each, DebaterAnswered)]
    told.insert(-1, first)  # as if somebody had told it again after a crash

    heard = [each async for each in room.follow(ANA, whole.debate.id)]

    answers = [each.event for each in heard if isinstance(each.event, DebaterAnswered)]
    assert [each.voice for each in answers] == ["a:1", "b:1"]
    assert isinstance(heard[-1].event, DebateEnded)
    later = [each async for each in room.follow(ANA, whole.debate.id, heard[-2].cursor)]
    assert isinstance(later[-1].event, DebateEnded)
    assert len(later) < len(heard)


async def test_one_whose_run_broke_without_saying_so_is_told_as_failed(room: Room) -> None:
    debate = await room.begin()
    assert (await room.follow.settled(ANA, debate)).status is DebateStatus.RUNNING
    await room.runs.cancel(ANA, debate.run)

    for _ in range(2):
        assert (await room.follow.settled(ANA, debate)).status is DebateStatus.FAILED


async def test_one_whose_run_broke_when_it_was_decided_is_decided(room: Room) -> None:
    decision = (await room.held()).debate.decision
    debate = await room.begin()
    acting = replace(ANA, context=debate.context)
    assert decision is not None
    note = Note(
        name="decision", kind=NoteKind.DECISION, body=decision.as_json(), at=debate.started_at
    )
    await room.blackboard.note(acting, debate.id, note, debate.label)
    await room.runs.cancel(ANA, debate.run)

    settled = await room.follow.settled(ANA, debate)

    assert (settled.status, settled.decision) == (DebateStatus.DECIDED, decision)


async def test_a_stream_that_ends_by_itself_still_ends_with_how_it_came_out(room: Room) -> None:
    whole = await room.held()
    room.talk.told[whole.debate.id].clear()

    async def over(*_: object, **__: object) -> object:
        return
        yield

    put(room.talk, "follow", over)  # a stream that was trimmed
    heard = [each async for each in room.follow(ANA, whole.debate.id)]

    assert [type(each.event) for each in heard] == [DebateEnded]


def test_stopping_hangs_up_on_whoever_is_speaking() -> None:
    async def story() -> None:
        async def slow(_ask: DebaterRequest) -> DebaterReply:
            await asyncio.sleep(1_000)
            return a_reply(a_vote("yes"))

        room = Room(ScriptedDebater(name="a:1", says=slow), *some("b:1"), clock=LoopClock())
        debate = await room.begin(deadline=timedelta(hours=1))
        carrying = asyncio.ensure_future(room.leg(debate))
        await asyncio.sleep(3)

        await room.stop(ANA, debate.id)
        await carrying

        whole = await room.whole(debate.id)
        assert whole.debate.status is DebateStatus.STOPPED
        assert decision_of(whole).why is Why.STOPPED
        assert whole.debate.ended_at is not None
        assert whole.debate.ended_at - whole.debate.started_at < timedelta(seconds=5)
        [failed] = [note for note in whole.notes if note.name == "said:1:a:1"]
        assert failed.body["code"] == "stopped"
        with pytest.raises(DebateOver):
            await room.stop(ANA, debate.id)

    in_no_time(story())


def test_a_stop_that_nobody_rang_for_is_noticed_all_the_same() -> None:
    async def story() -> None:
        async def slow(_ask: DebaterRequest) -> DebaterReply:
            await asyncio.sleep(1_000)
            return a_reply(a_vote("yes"))

        room = Room(
            *[ScriptedDebater(name=n, says=slow) for n in ("a:1", "b:1")], clock=LoopClock()
        )
        debate = await room.begin(deadline=timedelta(hours=1))
        carrying = asyncio.ensure_future(room.leg(debate))
        await asyncio.sleep(1)
        put(room.bus, "wake", lambda *_: None)  # deaf
        await room.stop(ANA, debate.id)
        await carrying

        assert (await room.whole(debate.id)).debate.status is DebateStatus.STOPPED
        assert asyncio.get_running_loop().time() < 10

    in_no_time(story())


async def test_only_its_starter_stops_or_shares_a_debate(room: Room) -> None:
    debate = await room.begin()

    with pytest.raises(DebateNotFound):
        await room.stop(BEN, debate.id)
    with pytest.raises(NotPermitted):
        await room.stop(VERA, debate.id)

    whole = await room.held()

    with pytest.raises(InvalidDebate, match="no project"):
        await room.share(ANA, whole.debate.id)
    with pytest.raises(ProjectNotFound):
        await room.look.page(ANA, project="nowhere")


async def test_a_debate_is_promoted_only_on_another_persons_word(room: Room) -> None:
    debate = await room.begin(label=SECRET)

    with pytest.raises(InvalidDebate, match="not over yet"):
        await room.promote(ANA, debate.id, TEAM)
    await room.leg(debate)
    await room.promote(ANA, debate.id, TEAM)

    assert room.promotion.asked == [(debate.id, TEAM)]
    assert (await room.whole(debate.id)).debate.label == SECRET


async def test_a_removed_debate_is_gone_with_its_log(room: Room) -> None:
    debate = await room.begin()
    with pytest.raises(InvalidDebate, match="not over yet"):
        await room.remove(ANA, debate.id)
    await room.leg(debate)

    await room.remove(ANA, debate.id)

    assert room.logs.files == {}
    with pytest.raises(DebateNotFound):
        await room.look.one(ANA, debate.id)


async def test_no_more_logs_are_kept_than_is_set(room: Room) -> None:
    for _ in range(3):
        await room.held()
    room.logs.limit = 2

    assert await KeepLogs(logs=room.logs, clock=room.clock)() == 1
    assert len(room.logs.files) == 2


async def test_personas_of_a_space_are_made_and_used_and_removed(room: Room) -> None:
    await room.personas.put(ANA, "lawyer", "You look at the law.", specialist=True)
    whole = await room.held(roles=("lawyer",))

    assert whole.debate.debaters[0].specialist
    [told] = [ask.system for ask in room.voices.asks if ask.debater.name == "a:1"]
    assert "You look at the law." in told
    names = [each.name for each in await room.personas.all(VERA)]
    assert names == ["architect", "critic", "pragmatist", "security", "lawyer"]
    await room.personas.remove(ANA, "lawyer")
    with pytest.raises(PersonaNotFound):
        await room.personas.remove(ANA, "lawyer")


async def test_a_persona_has_a_name_of_its_own(room: Room) -> None:
    for name in ("critic", "Big", "", "x" * 50):
        with pytest.raises((PersonaExists, InvalidDebate)):
            await room.personas.put(ANA, name, "You look.", specialist=False)
    with pytest.raises(InvalidDebate):
        await room.personas.put(ANA, "empty", " ", specialist=False)
    with pytest.raises(PersonaExists):
        await room.personas.remove(ANA, "critic")
    with pytest.raises(NotPermitted):
        await room.personas.put(VERA, "fine", "You look.", specialist=False)


async def test_a_project_has_a_budget_that_no_debate_of_it_passes() -> None:
    room = Room(*some("a:1", "b:1", answer="yes"), ScriptedDebater(name="c:1", answer="no"))
    project = a_project(room)
    first = await room.held(project=project)
    spent = first.debate.spent

    cap = Cap(tokens=spent.tokens + 10)
    assert await room.budget.put(ANA, project, cap) == (cap, spent)
    assert await room.budget.show(VERA, project) == (cap, spent)
    with pytest.raises(BudgetTooSmall):
        await room.begin(project=project)
    with pytest.raises(NotPermitted):
        await room.budget.put(VERA, project, cap)
    with pytest.raises(InvalidDebate):
        await room.budget.put(ANA, project, Cap(money=Decimal(-1)))
    assert await room.budget.put(ANA, project, Cap()) == (Cap(), spent)


async def test_a_project_that_others_emptied_meanwhile_ends_it_with_the_votes_in_hand() -> None:
    async def all_of_it(ask: DebaterRequest) -> DebaterReply:
        answer = "no" if ask.debater.name == "b:1" else "yes"
        return a_reply(a_vote(answer), prompt=10**6, output=10**6)

    room = Room(*[ScriptedDebater(name=f"{family}:1", says=all_of_it) for family in "abc"])
    project = a_project(room)
    debate = await room.begin(project=project)
    needed = 2 * (room.voices.debaters["a:1"].debater.max_output_tokens + 250)
    await room.budget.put(ANA, project, Cap(tokens=needed))
    await room.leg(debate)

    whole = await room.whole(debate.id)
    assert decision_of(whole).why in (Why.TIE, Why.BUDGET)
    [skipped] = [note for note in whole.notes if note.name == "skipped:said:1:c:1"]
    assert skipped.body["passed"] == ["project.tokens"]
    assert whole.debate.spent.tokens <= needed


async def test_who_could_be_asked_is_listed_with_why_not() -> None:
    room = Room(*some("a:1"), ScriptedDebater(name="b:1", available=False))

    states = await ListDebaters(debaters=room.voices)(VERA)

    assert [(each.debater.name, each.available) for each in states] == [
        ("a:1", True),
        ("b:1", False),
    ]
    assert states[1].why == "It is switched off. Switch it on."


async def test_a_debate_can_be_followed_while_it_is_held(room: Room) -> None:
    debate = await room.begin()
    heard: list[object] = []

    async def listen() -> None:
        async with aclosing(room.follow(ANA, debate.id)) as telling:
            heard.extend([each.event async for each in telling])

    async with asyncio.TaskGroup() as group:
        group.create_task(listen())
        await asyncio.sleep(0)
        await room.leg(debate)

    assert isinstance(heard[-1], DebateEnded)
