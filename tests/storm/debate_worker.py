"""A whole `portico serve` that names each moment of a debate as it comes to it.

Besides every event of its run: the moment after something was reserved, the moment when a model has
answered and nobody has written that down, and the moments after a note, a settling and the end
were. A switch makes it blind for notes that are written down.
"""

import time
from dataclasses import replace
from typing import Any

import portico.app.debates  # noqa: F401 # one that is forked has it already
from portico.adapters.postgres.debate.budgets import PostgresBudgetLedger
from portico.adapters.postgres.debate.debates import PostgresBlackboard
from portico.debate.core.debates import DebateId, Note, NoteKind
from portico.kernel.principal import Principal
from tests.storm.plan_worker import PlanOrders, Points, served

RESERVED = "reserved"
ANSWERED = "model has answered"
NOTED = "note is written down"
SETTLED = "settled"
ENDED = "end is written down"


class DebatePoints(Points):
    def in_blackboard(self) -> None:
        board: Any = PostgresBlackboard
        note, end = board.note, board.end

        async def noted(
            its: Any, caller: Principal, debate: DebateId, what: Note, *label: Any
        ) -> Note:
            if what.cost.calls:
                await self.at(ANSWERED, what.name)
            written: Note = await note(its, caller, debate, what, *label)
            await self.at(NOTED, what.name, debate=str(debate), when=time.monotonic())
            return written

        async def ended(its: Any, caller: Principal, debate: DebateId, *how: Any, **at: Any) -> Any:
            over = await end(its, caller, debate, *how, **at)
            await self.at(ENDED, str(how[0]))
            return over

        board.note, board.end = noted, ended

    def in_purse(self) -> None:
        purse: Any = PostgresBudgetLedger
        reserve, settle = purse.reserve, purse.settle

        async def reserved(
            its: Any, caller: Principal, debate: DebateId, name: str, *cost: Any
        ) -> Any:
            passed = await reserve(its, caller, debate, name, *cost)
            await self.at(RESERVED, name)
            return passed

        async def settled(
            its: Any, caller: Principal, debate: DebateId, name: str, *cost: Any
        ) -> None:
            await settle(its, caller, debate, name, *cost)
            await self.at(SETTLED, name)

        purse.reserve, purse.settle = reserved, settled


def forgetful() -> None:
    """Until it has written something down itself, it does not see what others have: an answer that
    is there is asked for again."""
    board: Any = PostgresBlackboard
    read, note = board.read, board.note
    written: list[str] = []

    async def without_answers(its: Any, *asked: Any) -> Any:
        whole = await read(its, *asked)
        if written or whole.debate.status.over:
            return whole
        return replace(whole, notes=tuple(n for n in whole.notes if n.kind is not NoteKind.SAID))

    async def noted(its: Any, caller: Principal, debate: DebateId, what: Note, *label: Any) -> Any:
        written.append(what.name)
        return await note(its, caller, debate, what, *label)

    board.read, board.note = without_answers, noted


def main(orders: PlanOrders) -> None:
    if not orders.remembers:
        forgetful()
    points = DebatePoints(orders.conductor)
    points.in_journal()
    points.in_blackboard()
    points.in_purse()
    served(orders)
