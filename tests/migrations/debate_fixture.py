"""A little of everything that is kept of debates, for the database fixtures."""

from dataclasses import replace
from datetime import timedelta

from portico.adapters.postgres.bridge.conversations import PostgresProjects
from portico.adapters.postgres.debate.budgets import PostgresBudgetLedger
from portico.adapters.postgres.debate.debates import PostgresBlackboard
from portico.adapters.postgres.debate.outcomes import PostgresOutcomes, PostgresPersonas
from portico.adapters.postgres.debate.seats import PostgresSeats
from portico.adapters.postgres.transaction import Transactions
from portico.debate.core.debaters import Persona
from portico.debate.core.debates import DebateStatus
from portico.debate.core.questions import Cap
from portico.kernel.principal import Principal
from portico.testing.memory_store import TickingClock
from tests.contracts.debate_table import (
    a_debate,
    a_guest,
    a_reply,
    an_ask,
    an_outcome,
    cost,
    decided,
    said,
)


async def fill_debates(transactions: Transactions, admin: Principal, clock: TickingClock) -> None:
    """About the project that is there."""
    blackboard, purse = PostgresBlackboard(transactions), PostgresBudgetLedger(transactions)
    seats, now, label = PostgresSeats(transactions), clock.now(), admin.clearance
    [project] = await PostgresProjects(transactions).page(
        admin, archived=False, after=None, limit=1
    )
    debate = a_debate(
        admin,
        label=label,
        project=str(project.id),
        guests=1,
        started_at=now,
        deadline=now + timedelta(minutes=5),
    )
    await purse.cap_project(admin, str(project.id), Cap(tokens=10_000))
    await blackboard.add(admin, debate)
    await purse.reserve(admin, debate.id, "said:1", cost(120))
    await blackboard.note(admin, debate.id, replace(said(), at=now), label)
    guest = await blackboard.join(admin, debate.id, a_guest(admin))
    await seats.ask(admin, debate.id, replace(an_ask(guest), label=label))
    await seats.answer(admin, debate.id, "said:1", a_reply())
    await blackboard.end(admin, debate.id, DebateStatus.DECIDED, decided(), at=now)
    await PostgresOutcomes(transactions).mark(admin, an_outcome(admin, debate))
    zoe = Persona(name="zoe", instructions="Zweifle.", made_by=admin.id, changed_at=now)
    await PostgresPersonas(transactions).put(admin, zoe)
