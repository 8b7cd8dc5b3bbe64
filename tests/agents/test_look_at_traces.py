"""Whose runs one sees, and that what is seen counts as read."""

from dataclasses import replace

import pytest

from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.trace import AgentRunStatus
from portico.agents.core.trace_filter import TraceFilter, TracePlace
from portico.engine.core.errors import BadCursor
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from tests.agents.data_room import DataRoom, data_room

ALL = TraceFilter()
SECRET = Label(Level.CONFIDENTIAL)


@pytest.fixture
async def room() -> DataRoom:
    return await data_room()


async def test_members_see_their_own_and_operators_everybodys(room: DataRoom) -> None:
    ana, bob = await room.joined("ana", Role.MEMBER), await room.joined("bob", Role.OPERATOR)
    run = an_agent_run(ana)
    await room.traces.begin(ana, run, a_saying(run))
    await room.traces.add_turn(ana, a_turn(run))
    await room.traces.add_use(ana, a_use(run))
    cy = await room.joined("cy", Role.MEMBER)

    for whoever, count in ((ana, 1), (bob, 1), (cy, 0)):
        assert len(await room.use.list_traces(whoever, ALL, before=None, limit=9)) == count
        assert len(await room.use.show_tool_stats(whoever, ALL)) == count
        assert len(await room.use.show_model_stats(whoever, ALL)) == count
    mine = TraceFilter(mine=True)
    assert await room.use.list_traces(bob, mine, before=None, limit=9) == []
    assert (await room.use.show_trace(bob, run.run)).run.run == run.run
    for look in (room.use.show_trace, room.use.export_trace):
        with pytest.raises(AgentRunNotFound):
            await look(cy, run.run)


async def test_what_is_seen_of_a_run_counts_as_read_and_as_a_strangers(room: DataRoom) -> None:
    run = an_agent_run(room.root, label=SECRET)
    await room.traces.begin(room.root, run, a_saying(run))
    await room.use.show_tool_stats(room.root, ALL)
    before = await room.contexts.get(room.root)

    await room.use.list_traces(room.root, ALL, before=None, limit=9)

    after = await room.contexts.get(room.root)
    assert (before.label, before.untrusted) == (PUBLIC, False)
    assert (after.label, after.untrusted) == (SECRET, True)


async def test_a_run_that_could_not_say_that_it_ended_is_shown_as_it_is(room: DataRoom) -> None:
    broken, unknown, on = runs = [an_agent_run(room.root, number) for number in (1, 2, 3)]
    for run in runs:
        await room.traces.begin(room.root, run, a_saying(run))
    room.settling.broken.add(broken.run)
    room.settling.unknown.add(unknown.run)

    listed = await room.use.list_traces(room.root, ALL, before=None, limit=9)
    shown = await room.use.show_trace(room.root, broken.run)

    assert {run.run: run.status for run in listed} == {
        broken.run: "failed",
        unknown.run: "running",
        on.run: "running",
    }
    assert shown.run.status == "failed"
    assert {run.asked for run in listed} == {"Write to Ana."}


async def test_a_run_that_ends_while_it_is_looked_at_is_shown_whole(room: DataRoom) -> None:
    run = an_agent_run(room.root)
    await room.traces.begin(room.root, run, a_saying(run))
    await room.traces.add_turn(room.root, a_turn(run))

    async def ends() -> None:
        await room.traces.add_turn(room.root, a_turn(run, 2, label=SECRET))
        ended = replace(run, status=AgentRunStatus.COMPLETED, turns=2, label=SECRET)
        assert await room.traces.end(room.root, ended)

    room.settling.meanwhile.append(ends)
    shown = await room.use.show_trace(room.root, run.run)

    assert shown.run.status == "completed"
    assert [turn.number for turn in shown.turns] == [1, 2]
    assert (await room.contexts.get(room.root)).label == SECRET


async def test_a_list_goes_on_from_a_place_and_from_nothing_else(room: DataRoom) -> None:
    runs = [an_agent_run(room.root, number) for number in (1, 2)]
    for run in runs:
        await room.traces.begin(room.root, run, a_saying(run))

    rest = await room.use.list_traces(room.root, ALL, before=str(TracePlace.of(runs[1])), limit=9)

    assert [run.run for run in rest] == [runs[0].run]
    with pytest.raises(BadCursor):
        await room.use.list_traces(room.root, ALL, before="x", limit=9)


async def test_without_the_scope_there_is_no_list(room: DataRoom) -> None:
    nobody = replace(room.root, scopes=frozenset())

    with pytest.raises(NotPermitted):
        await room.use.list_traces(nobody, ALL, before=None, limit=9)
    with pytest.raises(NotPermitted):
        await room.use.show_tool_stats(nobody, ALL)
    with pytest.raises(NotPermitted):
        await room.use.show_model_stats(nobody, ALL)
