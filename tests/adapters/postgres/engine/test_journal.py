"""What only the database can show of the journal: whose claim counts, and what each role may."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import psycopg
import pytest

from portico.adapters.inline import InlineBus
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.journal import PostgresJournal
from portico.adapters.postgres.engine.retention import PostgresRetention
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.transaction import EnginePool, Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.errors import KeyReused, RunNotFound, TopicNotFound, TopicRefused
from portico.engine.core.event_log import NewEntry
from portico.engine.core.retention import Keep
from portico.engine.core.runs import (
    Activation,
    ClaimedActivation,
    QueuePlacement,
    Run,
    RunStatus,
    Step,
    StepState,
)
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from tests.adapters.postgres.conftest import Install

pytestmark = [pytest.mark.postgres]

CLOCK = SystemClock()


@dataclass(frozen=True)
class Room:
    """The journal of two processes on one database."""

    one: PostgresJournal
    other: PostgresJournal
    runs: PostgresRuns
    book: PostgresRunQueries
    log: PostgresEventLog
    retention: PostgresRetention
    ana: Principal
    addresses: Addresses

    async def queued(self, label: Label = PUBLIC, **changes: object) -> Run:
        now = CLOCK.now()
        run = Run(
            id=RunId.mint(now, system_entropy),
            space=self.ana.space,
            principal=self.ana.id,
            kind="k",
            label=label,
            clearance=self.ana.clearance,
            placement=QueuePlacement(),
            status=RunStatus.QUEUED,
            input={},
            created_at=now,
        )
        added, _ = await self.runs.add(self.ana, replace(run, **changes), "f")  # type: ignore[arg-type] # fields
        return added

    async def taken(self, journal: PostgresJournal, run: Run) -> ClaimedActivation:
        taken = await journal.claim(Activation(run.id, run.leg))
        assert taken is not None
        return taken


@pytest.fixture
async def room(database: Addresses, install: Install) -> AsyncIterator[Room]:
    bus, engine = InlineBus(), EnginePool(str(database.engine))
    async with open_pool(database.app, 4) as pool, engine.pool:
        transactions = Transactions(pool)
        log = PostgresEventLog(transactions, bus, CLOCK, system_entropy)

        def journal(executor: str) -> PostgresJournal:
            return PostgresJournal(
                executor=executor,
                engine=engine,
                transactions=transactions,
                log=log,
                bus=bus,
                clock=CLOCK,
                entropy=system_entropy,
            )

        yield Room(
            journal("one"),
            journal("other"),
            PostgresRuns(transactions, log, bus=bus, clock=CLOCK, entropy=system_entropy),
            PostgresRunQueries(transactions),
            log,
            PostgresRetention(engine),
            await install(transactions),
            database,
        )


def a_step(name: str = "s", number: int = 1, output: str = "given") -> Step:
    now = CLOCK.now()
    return Step(
        name=name,
        number=number,
        state=StepState.DONE,
        started_at=now,
        finished_at=now,
        output=output,
    )


def told(run: Run) -> NewEntry:
    return NewEntry(topic=str(run.id), type="step.done", topic_label=run.label, label=run.label)


@pytest.mark.requirement("engine:claim:one-at-a-time")
async def test_whoever_claimed_last_notes_and_the_one_before_no_longer_can(room: Room) -> None:
    run = await room.queued()
    first = await room.taken(room.one, run)
    second = await room.taken(room.other, run)

    assert not await room.one.finish(first, a_step(), told(run))
    assert not await room.one.announce(first, [told(run)])
    assert await room.one.answer(first, []) is None
    assert await room.one.park(first, ["t"], None) is False
    assert not await room.one.settle(first, RunStatus.DONE, "mine", None)
    assert await room.other.finish(second, a_step(), told(run))
    assert await room.other.settle(second, RunStatus.DONE, "ours", None)
    ended = await room.book.get(room.ana, run.id)
    assert (ended.status, ended.result, ended.attempts) == (RunStatus.DONE, "ours", 2)


async def test_a_step_noted_twice_is_there_once_and_told_once(room: Room) -> None:
    run = await room.queued()
    taken = await room.taken(room.one, run)

    assert await room.one.finish(taken, a_step(output="first"), told(run))
    assert await room.one.finish(taken, a_step(output="second"), told(run))

    assert [step.output for step in await room.book.steps(room.ana, run.id)] == ["first"]
    page = await room.log.read(room.ana, str(run.id), after=0, limit=99)
    assert [entry.type for entry in page.entries] == ["run.queued", "run.started", "step.done"]


async def test_a_later_leg_is_not_carried_out_under_the_name_of_an_earlier_one(room: Room) -> None:
    run = await room.queued()
    taken = await room.taken(room.one, run)
    assert await room.one.park(taken, ["answer"], None) is True

    assert await room.other.claim(Activation(run.id, 1)) is None
    turn = await room.runs.signal(room.ana, run.id, "answer", "yes")
    assert turn is not None
    assert turn.activation == Activation(run.id, 2)
    assert await room.other.claim(turn.activation) is not None


async def test_a_run_does_not_go_to_sleep_over_an_answer_that_is_there(room: Room) -> None:
    run = await room.queued()
    taken = await room.taken(room.one, run)
    assert await room.runs.signal(room.ana, run.id, "answer", "early") is None

    assert await room.one.park(taken, ["answer"], None) is None
    assert await room.one.answer(taken, ["answer"]) == {"answer": "early"}


async def test_an_answer_and_going_to_sleep_at_once_never_miss_each_other(room: Room) -> None:
    for _ in range(30):
        run = await room.queued()
        taken = await room.taken(room.one, run)

        parked, turn = await asyncio.gather(
            room.one.park(taken, ["answer"], None),
            room.runs.signal(room.ana, run.id, "answer", "now"),
        )

        assert (parked is None) != (turn is not None)


async def test_a_run_above_ones_clearance_is_not_there_nor_started_nor_its_id_given_away(
    room: Room,
) -> None:
    run = await room.queued(room.ana.clearance)
    low = replace(room.ana, clearance=PUBLIC)
    above = replace(run, id=RunId.mint(CLOCK.now(), system_entropy), label=Label(Level.TEAM))

    with pytest.raises(TopicRefused):
        await room.runs.add(low, above, "f")
    with pytest.raises(RunNotFound):
        await room.book.get(low, run.id)
    with pytest.raises((KeyReused, TopicRefused)):
        await room.runs.add(low, replace(run, label=PUBLIC), "f")


async def test_a_run_of_somebody_who_may_not_any_more_does_not_go_on(room: Room) -> None:
    """They are disabled, or cleared for less."""
    for change in ("level = 0", "disabled_at = now()"):
        with psycopg.connect(str(room.addresses.owner), autocommit=True) as owner:
            owner.execute("UPDATE principal SET level = 3, disabled_at = NULL")
            run = await room.queued(room.ana.clearance)
            owner.execute(f"UPDATE principal SET {change}".encode())

        taken = await room.taken(room.one, run)

        assert taken.barred is not None
        assert await room.one.settle(taken, RunStatus.FAILED, None, None)


@pytest.mark.requirement("engine:roles:app-knows-no-queue")
def test_the_application_has_no_right_on_the_tables_of_the_line(
    embedded_database: Addresses,
) -> None:
    with psycopg.connect(embedded_database.app, autocommit=True) as app:
        for statement in (
            "SELECT 1 FROM dbos.workflow_status",
            "INSERT INTO dbos.workflow_status (workflow_uuid) VALUES ('x')",
            "SELECT 1 FROM dbos.queues",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(statement.encode())


async def test_old_runs_are_forgotten_with_their_steps_and_events_and_young_ones_kept(
    room: Room,
) -> None:
    runs = [await room.queued() for _ in range(4)]
    for run in runs[:3]:
        taken = await room.taken(room.one, run)
        await room.one.finish(taken, a_step(), told(run))
        await room.one.settle(taken, RunStatus.DONE, None, None)
    with psycopg.connect(str(room.addresses.owner), autocommit=True) as owner:
        owner.execute(
            "UPDATE run SET finished_at = now() - interval '40 days' WHERE run_id = %s",
            [runs[0].id.value],
        )

    gone = await room.retention.forget(Keep(most_runs=1))

    assert gone.runs == 2
    left = await room.book.page(room.ana, statuses=[], kind=None, before=None, limit=9)
    assert {run.id for run in left} == {runs[2].id, runs[3].id}
    for run in runs[:2]:
        with pytest.raises(TopicNotFound):
            await room.log.read(room.ana, str(run.id), after=0, limit=9)
    assert (await room.retention.forget(Keep(most_runs=1))).runs == 0
