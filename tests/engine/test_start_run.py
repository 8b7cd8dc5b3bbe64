"""The story of a run that is asked for."""

from dataclasses import replace

import pytest

from portico.engine.core.errors import BadInput, KeyReused, KindNotFound, RunWriteDown, TopicRefused
from portico.engine.core.run import Place, RunStatus
from portico.engine.kinds import Kind
from portico.engine.start_run import RunWish
from portico.guard.core.errors import NotPermitted
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import an_identity
from tests.engine.room import ANA, BEN, OLGA, VERA, Room, nothing

WISH = RunWish(kind="work", input={"a": 1}, key="k1")


async def test_a_run_begins_as_its_starters_and_stands_in_line(room: Room) -> None:
    run = await room.start_run(ANA, WISH)

    assert (run.principal, run.space, run.clearance) == (ANA.id, ANA.space, ANA.clearance)
    assert (run.status, run.leg, run.attempts, run.input) == (RunStatus.QUEUED, 1, 0, {"a": 1})
    assert [entry.type for entry in await room.told(run.id)] == ["run.queued"]
    async with room.working():
        await room.until(run.id, RunStatus.DONE)


@pytest.mark.requirement("runs:start:once")
async def test_asking_twice_under_one_key_starts_one_run_which_is_answered_as_it_is_by_now(
    room: Room,
) -> None:
    first = await room.start_for_people(ANA, WISH)
    second = await room.start_for_people(ANA, WISH)
    await room.leg(first.run.id)
    third = await room.start_for_people(ANA, WISH)

    assert first.run.id == second.run.id == third.run.id
    assert [each.replayed for each in (first, second, third)] == [False, True, True]
    assert third.run.status is RunStatus.DONE
    assert len(await room.list_runs(ANA, limit=10)) == 1
    without = [await room.start_for_people(ANA, replace(WISH, key=None)) for _ in range(2)]
    assert without[0].run.id != without[1].run.id
    assert [each.replayed for each in without] == [False, False]


@pytest.mark.requirement("runs:start:once")
async def test_a_key_that_comes_back_with_another_wish_or_less_clearance_is_refused(
    room: Room,
) -> None:
    await room.start_run(ANA, WISH)

    for who, wish in (
        (ANA, replace(WISH, input={"a": 2})),
        (ANA, replace(WISH, label=PUBLIC)),
        (replace(ANA, clearance=PUBLIC), WISH),
    ):
        with pytest.raises(KeyReused):
            await room.start_run(who, wish)


@pytest.mark.requirement("runs:start:once")
async def test_nobody_can_claim_anothers_run() -> None:
    room = Room(Kind(name="other", work=nothing))

    mine = await room.start_run(ANA, WISH)
    theirs = await room.start_run(BEN, WISH)
    of_another_kind = await room.start_run(ANA, replace(WISH, kind="other"))

    assert len({mine.id, theirs.id, of_another_kind.id}) == 3


@pytest.mark.parametrize(
    ("clearance", "asked", "given"),
    [
        ("restricted+finance", None, "team"),
        ("team", None, "team"),
        ("public", None, "public"),
        ("restricted+finance", "restricted+finance", "restricted+finance"),
        ("restricted", "public", "public"),
    ],
)
async def test_a_run_is_as_secret_as_asked_or_the_teams(
    clearance: str, asked: str | None, given: str
) -> None:
    caller = replace(ANA, clearance=Label.parse(clearance))
    label = None if asked is None else Label.parse(asked)

    run = await Room().start_run(caller, replace(WISH, label=label))

    assert str(run.label) == given


@pytest.mark.parametrize("label", [Label(Level.CONFIDENTIAL), Label(Level.TEAM, frozenset({"x"}))])
async def test_nobody_starts_a_run_above_their_clearance(label: Label) -> None:
    with pytest.raises(TopicRefused):
        await Room().start_run(ANA, replace(WISH, label=label))


@pytest.mark.parametrize("caller", [VERA, replace(ANA, scopes=frozenset({"runs:read"}))])
async def test_starting_one_needs_the_scope(caller: Principal) -> None:
    with pytest.raises(NotPermitted):
        await Room().start_for_people(caller, WISH)


async def test_people_start_only_the_kinds_that_are_for_them_and_that_there_are() -> None:
    room = Room(Kind(name="inner", work=nothing))

    with pytest.raises(KindNotFound) as hidden:
        await room.start_for_people(OLGA, RunWish(kind="inner"))
    with pytest.raises(KindNotFound) as unknown:
        await room.start_run(ANA, RunWish(kind="?"))

    assert hidden.value.fix == "The kinds are: work"
    assert unknown.value.fix == "The kinds are: inner, work"
    assert (await room.start_run(OLGA, RunWish(kind="inner"))).kind == "inner"


async def test_an_input_that_its_kind_cannot_use_starts_nothing() -> None:
    def check(given: JsonObject) -> None:
        raise BadInput("picky", [])

    room = Room(Kind(name="picky", work=nothing, check=check))

    with pytest.raises(BadInput):
        await room.start_run(ANA, RunWish(kind="picky"))

    assert await room.list_runs(ANA, limit=10) == []


async def test_a_run_stands_where_its_kind_says_unless_it_is_told_otherwise() -> None:
    place = Place(queue="slow", partition="a", priority=3)
    room = Room(Kind(name="slow", work=nothing, place=place))

    usual = await room.start_run(ANA, RunWish(kind="slow"))
    special = await room.start_run(ANA, RunWish(kind="slow", place=Place(priority=-1)))

    assert (usual.place, special.place) == (place, Place(priority=-1))


async def test_what_was_read_in_a_task_is_under_a_run_that_is_started_in_it(room: Room) -> None:
    room.world.identities.insert((OLGA.space, OLGA.id), an_identity("olga"))
    secret = Label(Level.CONFIDENTIAL)
    olga = replace(OLGA, clearance=secret)
    await room.contexts.rise(olga, secret, untrusted=False)

    started = await room.start_for_people(olga, replace(WISH, label=None))
    with pytest.raises(RunWriteDown) as caught:
        await room.start_for_people(olga, replace(WISH, key="other", label=PUBLIC))

    assert started.run.label == secret
    assert "is confidential; the run is public" in str(caught.value)
