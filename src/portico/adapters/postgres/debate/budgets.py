"""Budgets of debates in PostgreSQL: what would pass a cap is refused by the statement that
takes it.
"""

from collections.abc import Mapping
from typing import Final, LiteralString

from portico.adapters.postgres.bridge.visibility import WALL, cleared, no_write_down
from portico.adapters.postgres.debate.mapping import cost_columns, cost_from
from portico.adapters.postgres.debate.seats import which
from portico.adapters.postgres.mapping import as_label, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.errors import ProjectNotFound
from portico.bridge.core.projects import ProjectId
from portico.debate.core.debates import DebateId
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.questions import Cap
from portico.kernel.budget import Cost
from portico.kernel.ids import InvalidId
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal

_AMOUNT: Final[LiteralString] = f"""%(debate)s, %(name)s, %(tokens)s, %(money)s, %(time)s,
        %(calls)s, {WALL}"""
_RESERVE: Final[LiteralString] = f"SELECT portico.debate_reserve({_AMOUNT}) AS over"
_SETTLE: Final[LiteralString] = f"SELECT portico.debate_settle({_AMOUNT}) AS there"
_COMMITTED: Final[LiteralString] = """
    SELECT coalesce(sum(r.tokens), 0) AS tokens, coalesce(sum(r.money), 0) AS money,
           coalesce(sum(r.time), interval '0') AS time, coalesce(sum(r.calls), 0) AS calls
      FROM portico.debate_reservation r JOIN portico.debate d USING (space_id, debate_id)
     WHERE r.space_id = %(space)s AND (r.debate_id = %(debate)s OR r.whole_id = %(debate)s)
       AND d.level <= %(level)s AND d.compartments <@ %(compartments)s::text[]
       AND (%(everyone)s OR NOT d.private OR d.started_by = %(principal)s)
"""
_OUTSTANDING: Final[LiteralString] = """
    SELECT r.name, r.tokens, r.money, r.time, r.calls
      FROM portico.debate_reservation r JOIN portico.debate d USING (space_id, debate_id)
     WHERE r.space_id = %(space)s AND r.debate_id = %(debate)s AND NOT r.settled
       AND d.level <= %(level)s AND d.compartments <@ %(compartments)s::text[]
       AND (%(everyone)s OR NOT d.private OR d.started_by = %(principal)s)
     ORDER BY r.name COLLATE "C"
"""
_PROJECT: Final[LiteralString] = """
    SELECT level, compartments FROM portico.project
     WHERE space_id = %(space)s AND project_id = %(project)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
"""
_PUT: Final[LiteralString] = """
    INSERT INTO portico.debate_cap (space_id, project_id, level, compartments, tokens, money)
    VALUES (%(space)s, %(project)s, %(its_level)s, %(its_compartments)s, %(tokens)s, %(money)s)
    ON CONFLICT (space_id, project_id) DO UPDATE SET tokens = %(tokens)s, money = %(money)s
"""
_CAP: Final[LiteralString] = """
    SELECT tokens, money FROM portico.debate_cap
     WHERE space_id = %(space)s AND project_id = %(project)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
"""
_SPENT: Final[LiteralString] = """
    SELECT level, compartments, tokens, money, time, calls FROM portico.debate_spending
     WHERE space_id = %(space)s AND project_id = %(project)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
     ORDER BY level, compartments
"""


class PostgresBudgetLedger:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def reserve(
        self, caller: Principal, debate: DebateId, name: str, cost: Cost
    ) -> tuple[str, ...]:
        [rows] = await self._transactions.stroke(
            caller, (_RESERVE, _amount(caller, debate, name, cost))
        )
        over = rows[0]["over"]
        if over is None:
            raise DebateNotFound(str(debate))
        return tuple(over)

    async def settle(self, caller: Principal, debate: DebateId, name: str, cost: Cost) -> None:
        [rows] = await self._transactions.stroke(
            caller, (_SETTLE, _amount(caller, debate, name, cost))
        )
        if not rows[0]["there"]:
            raise DebateNotFound(str(debate))

    async def committed(self, caller: Principal, debate: DebateId) -> Cost:
        [rows] = await self._transactions.looked_up(caller, (_COMMITTED, which(caller, debate)))
        return cost_from(rows[0])

    async def outstanding(self, caller: Principal, debate: DebateId) -> Mapping[str, Cost]:
        [rows] = await self._transactions.looked_up(caller, (_OUTSTANDING, which(caller, debate)))
        return {row["name"]: cost_from(row) for row in rows}

    async def cap_project(self, caller: Principal, project: str, cap: Cap) -> None:
        asked = _inside(caller, project)
        label = await self._label(caller, project)
        values = {
            **asked,
            "its_level": int(label.level),
            "its_compartments": sorted(label.compartments),
            "tokens": cap.tokens,
            "money": cap.money,
        }
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_PUT, values)

    async def project(self, caller: Principal, project: str) -> tuple[Cap, Cost, Label]:
        asked = _inside(caller, project)
        label = await self._label(caller, project)
        caps, spent = await self._transactions.looked_up(caller, (_CAP, asked), (_SPENT, asked))
        cap = Cap(tokens=caps[0]["tokens"], money=caps[0]["money"]) if caps else Cap()
        labels = [as_label(row["level"], row["compartments"]) for row in spent]
        return cap, sum(map(cost_from, spent), start=Cost()), join([label, *labels])

    async def _label(self, caller: Principal, project: str) -> Label:
        """Raises `ProjectNotFound`."""
        [rows] = await self._transactions.looked_up(caller, (_PROJECT, _inside(caller, project)))
        if not rows:
            raise ProjectNotFound(project)
        return as_label(rows[0]["level"], rows[0]["compartments"])


def _amount(caller: Principal, debate: DebateId, name: str, cost: Cost) -> dict[str, object]:
    return {**which(caller, debate), "name": strip_nul(name), **cost_columns(cost)}


def _inside(caller: Principal, project: str) -> dict[str, object]:
    """Raises `ProjectNotFound`."""
    try:
        return {**cleared(caller), "project": ProjectId.parse(project).value}
    except InvalidId as error:
        raise ProjectNotFound(project) from error
