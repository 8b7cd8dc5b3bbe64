"""Which runs there are, for whom, and how far they have come."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.engine.core.errors import RunNotFound
from portico.engine.core.run import RunPosition, RunStatus
from portico.engine.kinds import Kind
from portico.engine.start_run import RunWish
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NotPermitted
from portico.kernel.durable import Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import a_space, an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.engine.room import ANA, BEN, OLGA, VERA, Room, nothing

SOON, AT_ONCE = timedelta(seconds=4), timedelta(0)
NOBODY = replace(ANA, scopes=frozenset[str]())
STRANGER = as_principal(an_identity("zoe", space=a_space("elsewhere")))
UNKNOWN = RunId.mint(BEGINNING, SeededEntropy("unknown"))


async def three_steps(durable: Durable, given: JsonObject) -> JsonValue:
    async def action(key: str) -> JsonValue:
        return key

    for number in range(3):
        await durable.step(f"s{number}", action)
    return await durable.wait_for_signal("go")


async def listed(
    room: Room,
    caller: Principal = ANA,
    *,
    statuses: Sequence[RunStatus] = (),
    kind: str | None = None,
    before: RunPosition | None = None,
) -> list[RunId]:
    found = await room.list_runs(caller, statuses=statuses, kind=kind, before=before, limit=10)
    return [run.id for run, _ in found]


async def test_runs_are_listed_newest_first_from_where_one_stands() -> None:
    room, runs = Room(), []
    for _ in range(4):
        room.clock.turn(timedelta(seconds=1))
        runs.append(await room.start())

    assert await listed(room) == runs[::-1]
    stands = (await room.seen(runs[2])).position
    assert await listed(room, before=stands) == [runs[1], runs[0]]
    assert await listed(room, before=replace(stands, run=UNKNOWN)) == [runs[1], runs[0]]
    assert len(await room.list_runs(ANA, limit=2)) == 2


async def test_runs_are_found_by_status_and_by_kind() -> None:
    room = Room(Kind(name="other", work=nothing))
    done, queued, other = await room.start(), await room.start(), await room.start("other")
    await room.leg(done)

    assert set(await listed(room, statuses=[RunStatus.QUEUED])) == {queued, other}
    assert await listed(room, statuses=[RunStatus.DONE, RunStatus.FAILED]) == [done]
    assert await listed(room, kind="other") == [other]


async def test_what_is_above_a_caller_is_not_there(room: Room) -> None:
    above = replace(ANA, clearance=Label.parse("confidential"))
    wish = RunWish(kind="work", label=Label.parse("confidential"))
    hidden, open_ = (await room.start_run(above, wish)).id, await room.start()

    assert await listed(room, BEN) == [open_]
    assert await listed(room, STRANGER) == []
    for run in (hidden, UNKNOWN):
        with pytest.raises(RunNotFound):
            await room.show_run(BEN, run)
    with pytest.raises(RunNotFound):
        await room.show_run(STRANGER, open_)


async def test_a_listed_run_says_how_many_of_its_steps_are_over() -> None:
    room = Room(work=three_steps)
    run, _queued = await room.start(), await room.start()
    await room.leg(run)

    found = {each.id: over for each, over in await room.list_runs(ANA, limit=10)}

    assert found == {run: 3, _queued: 0}


async def test_a_run_is_shown_with_its_steps_in_the_order_in_which_they_ended() -> None:
    room = Room(work=three_steps)
    run = await room.start()
    await room.leg(run)

    found, steps = await room.show_run(VERA, run)

    assert found.status is RunStatus.WAITING
    assert [(step.name, step.number) for step in steps] == [
        ("s0", 1),
        ("s1", 2),
        ("s2", 3),
        ("signal:go", 0),
    ]
    assert steps[0].output == f"{run}:s0"


async def test_looking_needs_the_scope(room: Room) -> None:
    run = await room.start()

    with pytest.raises(NotPermitted):
        await room.list_runs(NOBODY, limit=10)
    with pytest.raises(NotPermitted):
        await room.show_run(NOBODY, run)


async def test_whoever_waits_for_a_run_gets_it_when_it_has_ended(room: Room) -> None:
    run = await room.start()

    async with room.working():
        found = await room.wait_for_run(ANA, run, SOON)

    assert found.status is RunStatus.DONE


async def test_whoever_waits_is_told_at_once_and_not_by_looking_again_and_again() -> None:
    room = Room(work=three_steps)
    run = await room.start()

    async with asyncio.timeout(0.9), room.working():
        waiting = asyncio.ensure_future(room.wait_for_run(ANA, run, SOON))
        await room.until(run, RunStatus.WAITING)
        await room.cancel_run(ANA, run)
        found = await waiting

    assert found.status is RunStatus.CANCELLED


async def test_patience_has_an_end(room: Room) -> None:
    run = await room.start()

    found = [await room.wait_for_run(ANA, run, patience) for patience in (AT_ONCE, SOON / 100)]

    assert [each.status for each in found] == [RunStatus.QUEUED, RunStatus.QUEUED]


async def test_one_waits_for_ones_own_without_a_scope_and_for_anothers_with_it(room: Room) -> None:
    run = await room.start()

    assert (await room.wait_for_run(NOBODY, run, AT_ONCE)).id == run
    assert (await room.wait_for_run(OLGA, run, AT_ONCE)).id == run
    with pytest.raises(NotPermitted):
        await room.wait_for_run(replace(BEN, scopes=frozenset()), run, AT_ONCE)


@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.PERSON])
async def test_a_program_that_reads_a_run_has_read_what_it_is_about(kind: PrincipalKind) -> None:
    room = Room()
    run = await room.seen(await room.start())
    reader = replace(ANA, kind=kind)
    room.world.identities.insert((ANA.space, ANA.id), an_identity("ana"))

    await room.show_run(reader, run.id)

    task = await room.contexts.get(reader)
    read = kind is PrincipalKind.AGENT
    assert (task.label, task.untrusted) == ((run.label, True) if read else (PUBLIC, False))
