"""Whoever takes up a leg finds its run as it was left, and whoever is woken by the bus what it was
woken for."""

import asyncio
from uuid import UUID

import pytest

from portico.adapters.inline import InlineBus
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.transaction import BusAfterCommit, EnqueueAfterCommit, Transactions
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.errors import RunNotFound
from portico.engine.core.runs import Activation, QueuedActivation, QueuePlacement, RunStatus
from portico.engine.runs import Kind, Kinds, RunSpec, StartRun
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.testing.guard import a_person
from tests.engine.room import nothing

pytestmark = [pytest.mark.postgres]
TURN = QueuedActivation(Activation(RunId(UUID(int=1)), 1), QueuePlacement())


class Joined:
    """A line that remembers who came."""

    def __init__(self) -> None:
        self.turns: list[QueuedActivation] = []
        self.left: list[Activation] = []
        self.came = asyncio.Event()

    async def join(self, turn: QueuedActivation) -> None:
        self.turns.append(turn)
        self.came.set()

    async def leave(self, leg: Activation) -> None:
        self.left.append(leg)


async def test_inside_a_transaction_it_is_joined_after_it(transactions: Transactions) -> None:
    ana, inner = a_person(), Joined()
    line = EnqueueAfterCommit(inner, transactions)
    running = asyncio.create_task(line.run())

    async with transactions.begin(ana):
        await line.join(TURN)
        await asyncio.sleep(0)
        assert inner.turns == []
    await inner.came.wait()
    running.cancel()

    assert inner.turns == [TURN]


async def test_what_was_taken_back_never_joins(transactions: Transactions) -> None:
    ana, inner = a_person(), Joined()
    line = EnqueueAfterCommit(inner, transactions)

    with pytest.raises(RuntimeError):
        async with transactions.begin(ana):
            await line.join(TURN)
            raise RuntimeError
    running = asyncio.create_task(line.run())
    for _ in range(5):
        await asyncio.sleep(0)
    running.cancel()

    assert inner.turns == []


async def test_outside_of_one_it_is_joined_and_left_at_once(transactions: Transactions) -> None:
    inner = Joined()
    line = EnqueueAfterCommit(inner, transactions)

    await line.join(TURN)
    await line.leave(TURN.activation)

    assert (inner.turns, inner.left) == ([TURN], [TURN.activation])


async def test_a_run_that_is_started_or_cancelled_inside_is_so_with_it_or_not_at_all(
    transactions: Transactions, ana: Principal
) -> None:
    clock, bus = SystemClock(), InlineBus()
    log = PostgresEventLog(transactions, bus, clock, system_entropy)
    runs = PostgresRuns(transactions, log, bus=bus, clock=clock, entropy=system_entropy)
    start = StartRun(
        runs=runs,
        queue=EnqueueAfterCommit(Joined(), transactions),
        kinds=Kinds([Kind(name="some", work=nothing)]),
        clock=clock,
        entropy=system_entropy,
    )
    book = PostgresRunQueries(transactions)

    async with transactions.begin(ana):
        kept = await start(ana, RunSpec(kind="some", key="kept"))
    with pytest.raises(RuntimeError):
        async with transactions.begin(ana):
            lost = await start(ana, RunSpec(kind="some", key="lost"))
            raise RuntimeError
    with pytest.raises(RuntimeError):
        async with transactions.begin(ana):
            await runs.cancel(ana, kept.id)
            raise RuntimeError

    assert (await book.get(ana, kept.id)).status is RunStatus.QUEUED
    with pytest.raises(RunNotFound):
        await book.get(ana, lost.id)


async def test_a_change_is_told_when_it_can_be_seen_and_not_if_it_came_to_nothing(
    transactions: Transactions,
) -> None:
    ana, inner = a_person(), InlineBus()
    bus = BusAfterCommit(inner, transactions)

    with inner.listen(ana.space, "catalogue") as ear:
        with pytest.raises(RuntimeError):
            async with transactions.begin(ana):
                bus.wake(ana.space, "catalogue")
                raise RuntimeError
        in_vain = ear.rung
        async with transactions.begin(ana):
            bus.wake(ana.space, "catalogue")
            early = ear.rung
        assert (in_vain, early, ear.rung) == (False, False, True)

    with bus.listen(ana.space, "catalogue") as wakeups:
        bus.wake(ana.space, "catalogue")  # outside of anything
        await wakeups.wait()
