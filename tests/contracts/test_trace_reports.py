"""What every way of looking at traces keeps to."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.agents.core.model_requests import Usage
from portico.agents.core.traces import AgentRunStatus, RunTrace, TraceFilter, TracePlace
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.memory_store import BEGINNING
from tests.contracts.doors import Doors

ALL = TraceFilter()
SECRET = Label(Level.CONFIDENTIAL)
FAILED, RUNNING = AgentRunStatus.FAILED, AgentRunStatus.RUNNING
FOUND = [
    (ALL, [3, 2, 1]),
    (TraceFilter(agent="clerk"), [2, 1]),
    (TraceFilter(agent="nobody"), []),
    (TraceFilter(statuses=frozenset({FAILED})), [2]),
    (TraceFilter(statuses=frozenset({FAILED, RUNNING})), [3, 2]),
    (TraceFilter(since=BEGINNING + timedelta(minutes=2)), [3, 2]),
    (TraceFilter(until=BEGINNING + timedelta(minutes=2)), [1]),
    (TraceFilter(tool="web.fetch"), [2]),
    (TraceFilter(tool="web.*"), []),
    (TraceFilter(error="model_unavailable"), [2]),
    (TraceFilter(error="tool_not_allowed"), [2]),
    (TraceFilter(text="ana"), [1]),
    (TraceFilter(text="gearBOX"), [1]),
    (TraceFilter(text="gear"), [1]),
    (TraceFilter(text="box"), []),
    (TraceFilter(text="scribe turn"), [3]),
    (TraceFilter(text="scribe ana"), []),
    (TraceFilter(text="GRüß"), [2]),  # a database of locale C knows no large Ü
    (TraceFilter(text="100%"), [2]),
    (TraceFilter(text="it's"), [3]),
    (TraceFilter(text="an\\"), [1]),
    (TraceFilter(text="%"), []),
    (TraceFilter(text="\0"), []),
    (TraceFilter(agent="clerk", text="turn", tool="files.read"), [1]),
]


async def three(doors: Doors, root: Principal) -> Sequence[RunTrace]:
    """Of two agents; the second failed, the third is on."""
    runs = [an_agent_run(root, 1), an_agent_run(root, 2), an_agent_run(root, 3, agent="scribe")]
    words = ["Write to Ana.", "Grüß 100%_gott", "Sum it up."]
    for run, said in zip(runs, words, strict=True):
        await doors.traces.add(root, run, a_saying(run, said))
        await doors.traces.add_turn(root, a_turn(run, text=f"Turn of {run.agent_name}"))
    await doors.traces.add_use(root, a_use(runs[0], tool="files.read", text="The Gearbox."))
    await doors.traces.add_use(root, a_use(runs[1], tool="web.fetch", code="tool_not_allowed"))
    await doors.traces.end(root, replace(runs[0], status=AgentRunStatus.COMPLETED, turns=1))
    failed = replace(runs[1], status=FAILED, error_code="model_unavailable")
    await doors.traces.end(root, failed)
    return runs


async def numbers(doors: Doors, root: Principal, which: TraceFilter) -> list[int]:
    found = await doors.trace_reports.page(root, which, of=None, before=None, limit=10)
    return [int(run.trace_id, 16) for run in found]


async def test_runs_are_found_by_what_is_known_of_them(doors: Doors, root: Principal) -> None:
    await three(doors, root)

    for which, found in FOUND:
        assert await numbers(doors, root, which) == found, which


async def test_a_page_goes_on_where_the_one_before_ended(doors: Doors, root: Principal) -> None:
    runs = [an_agent_run(root, number, at=BEGINNING) for number in range(5)]
    for run in runs:
        await doors.traces.add(root, run, a_saying(run))

    found: list[RunTrace] = []
    while page := await doors.trace_reports.page(
        root, ALL, of=None, before=TracePlace.of(found[-1]) if found else None, limit=2
    ):
        found += page

    assert {run.run for run in found} == {run.run for run in runs}
    assert len(found) == 5


async def test_ones_own_are_those_that_one_has_started(doors: Doors, root: Principal) -> None:
    other = await doors.joined(root, "other")
    await three(doors, root)

    assert await doors.trace_reports.page(root, ALL, of=other.id, before=None, limit=9) == []
    assert len(await doors.trace_reports.page(root, ALL, of=root.id, before=None, limit=9)) == 3
    assert await doors.trace_reports.tools(root, ALL, of=other.id) == []
    assert await doors.trace_reports.models(root, ALL, of=other.id) == []


async def test_a_list_says_how_what_was_asked_begins_and_nothing_that_was_said_before(
    doors: Doors, root: Principal
) -> None:
    long = an_agent_run(root, 4)
    run, *_ = await three(doors, root)
    await doors.traces.add(root, long, a_saying(long, f"  A\n\tlong {'word ' * 100}"))
    await doors.traces.say(root, long.run, "And quickly.", BEGINNING)

    found = await doors.trace_reports.page(root, ALL, of=None, before=None, limit=9)

    assert [run.asked for run in found[1:]] == ["Sum it up.", "Grüß 100%_gott", "Write to Ana."]
    assert found[0].asked.startswith("A long word word")
    assert len(found[0].asked) == 80
    assert (found[-1].answer, found[-1].history) == (run.answer, ())


async def test_above_ones_clearance_nothing_is_found_or_counted(
    doors: Doors, root: Principal
) -> None:
    cleared = replace(root, clearance=SECRET)
    low = replace(root, clearance=Label(Level.TEAM))
    run = an_agent_run(root)
    await doors.traces.add(cleared, run, a_saying(run))
    await doors.traces.add_turn(cleared, a_turn(run, label=SECRET))

    assert await numbers(doors, low, ALL) == []
    assert await numbers(doors, cleared, TraceFilter(text="look")) == [1]
    assert await doors.trace_reports.models(low, ALL, of=None) == []


async def test_tools_are_counted(doors: Doors, root: Principal) -> None:
    run = an_agent_run(root)
    await doors.traces.add(root, run, a_saying(run))
    uses = [a_use(run, place=place) for place in range(4)]
    uses[0] = replace(uses[0], early=True)
    uses[1] = replace(uses[1], failed=True, code="tool_failed")
    uses[2] = replace(uses[2], failed=True)
    for use in [*uses, a_use(run, 2, tool="files.write")]:
        await doors.traces.add_use(root, use)

    found = await doors.trace_reports.tools(root, ALL, of=None)
    only = await doors.trace_reports.tools(root, TraceFilter(tool="files.write"), of=None)

    read, write = found
    assert [write] == only
    assert (read.tool, read.uses, read.failures, read.early) == ("files.read", 4, 2, 1)
    assert read.codes == {"tool_failed": 1}
    assert (read.p50, read.p95) == (timedelta(milliseconds=25), timedelta(microseconds=38_500))
    assert (write.uses, write.last_at) == (1, run.started_at + timedelta(seconds=2))


async def test_models_are_counted(doors: Doors, root: Principal) -> None:
    run = an_agent_run(root)
    await doors.traces.add(root, run, a_saying(run))
    silent = replace(
        a_turn(run, 2),
        attempts=3,
        first_piece=None,
        usage=Usage(input=5),
        took=timedelta(seconds=2),
    )
    nothing = replace(a_turn(run, 3), model="x:none", first_piece=None, took=timedelta(0))
    for turn in [a_turn(run), silent, nothing]:
        await doors.traces.add_turn(root, turn)

    small, other = await doors.trace_reports.models(root, ALL, of=None)

    assert (small.model, small.turns, small.retried) == ("local:small", 2, 1)
    assert (small.input, small.output, small.cached) == (105, 20, 10)
    assert small.money == Decimal("0.004")
    assert small.p50 == timedelta(milliseconds=1450)
    assert small.first_piece == timedelta(milliseconds=400)
    assert small.tokens_a_second == pytest.approx(40)
    assert small.last_at == silent.started_at
    assert (other.model, other.turns) == ("x:none", 1)
    assert (other.first_piece, other.tokens_a_second) == (None, None)
