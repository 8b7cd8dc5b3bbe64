"""Plans that went well, kept in PostgreSQL."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.rows import Row
from portico.adapters.postgres.transaction import Transactions
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.suggest.kept_plan import KeptPlan, PastPlanId
from portico.learning.core.suggest.threshold import Outcome

_LEARN: Final[LiteralString] = """
    INSERT INTO portico.past_plan AS p (space_id, plan_id, principal_id, level, compartments,
        intent, vector, steps, runs, accepted, rejected, modified, last_at)
    VALUES (%(space)s, %(plan)s, %(principal)s, %(level)s, %(compartments)s, %(intent)s,
        %(vector)s, %(steps)s::json, %(runs)s, %(accepted)s, %(rejected)s, %(modified)s, %(at)s)
    ON CONFLICT (space_id, plan_id) DO UPDATE
       SET runs = p.runs + excluded.runs, accepted = p.accepted + excluded.accepted,
           rejected = p.rejected + excluded.rejected, modified = p.modified + excluded.modified,
           last_at = greatest(p.last_at, excluded.last_at)
"""
_LATEST: Final[LiteralString] = """
    WITH placed AS (
        SELECT plan_id, principal_id = %(principal)s AS own, row_number() OVER (
                   PARTITION BY principal_id ORDER BY last_at DESC, plan_id) AS place
          FROM portico.past_plan WHERE space_id = %(space)s
    )
    SELECT p.plan_id, principal_id, level, compartments, vector, steps::text AS steps, runs,
           accepted, rejected, modified, last_at, CASE WHEN own THEN intent ELSE '' END AS intent
      FROM portico.past_plan AS p JOIN placed USING (plan_id)
     WHERE p.space_id = %(space)s AND (own OR place <= %(each)s)
     ORDER BY last_at DESC, plan_id LIMIT %(most)s
"""
# In the order of their ids, so that two who judge the same ones wait for each other in turn.
_JUDGE: Final[LiteralString] = """
    WITH held AS (
        SELECT plan_id FROM portico.past_plan
         WHERE space_id = %(space)s AND plan_id = ANY(%(plans)s::uuid[])
         ORDER BY plan_id FOR UPDATE
    )
    UPDATE portico.past_plan AS p
       SET accepted = greatest(0, p.accepted + %(accepted)s),
           rejected = greatest(0, p.rejected + %(rejected)s),
           modified = greatest(0, p.modified + %(modified)s)
      FROM held WHERE p.space_id = %(space)s AND p.plan_id = held.plan_id
"""


class PostgresPastPlans:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def learn(self, caller: Principal, plan: KeptPlan) -> None:
        values = {
            "space": caller.space.value,
            "plan": plan.id.value,
            "principal": plan.principal.value,
            "level": int(plan.label.level),
            "compartments": sorted(plan.label.compartments),
            "intent": storable(plan.intent),
            "vector": plan.vector,
            "steps": json.dumps(plan.steps),
            "runs": plan.runs,
            "accepted": plan.accepted,
            "rejected": plan.rejected,
            "modified": plan.modified,
            "at": plan.last_at,
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_LEARN, values)

    async def latest(self, caller: Principal, most: int, of_another: int) -> Sequence[KeptPlan]:
        asked = {
            "space": caller.space.value,
            "principal": caller.id.value,
            "most": most,
            "each": of_another,
        }
        async with self._transactions.begin(caller) as connection:
            return [
                _plan(row) for row in await (await connection.execute(_LATEST, asked)).fetchall()
            ]

    async def judge(
        self,
        caller: Principal,
        plans: Sequence[PastPlanId],
        outcome: Outcome,
        *,
        before: Outcome | None,
    ) -> None:
        values = {
            "space": caller.space.value,
            "plans": [plan.value for plan in plans],
            **_moved(outcome, before),
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_JUDGE, values)


def _moved(outcome: Outcome, before: Outcome | None) -> Mapping[str, int]:
    counted = (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.MODIFIED)
    return {each.value: (each is outcome) - (each is before) for each in counted}


def _plan(row: Row) -> KeptPlan:
    return KeptPlan(
        id=PastPlanId(row["plan_id"]),
        principal=PrincipalId(row["principal_id"]),
        label=Label(Level(row["level"]), frozenset(row["compartments"])),
        intent=row["intent"],
        vector=bytes(row["vector"]),
        steps=json.loads(row["steps"]),
        runs=row["runs"],
        accepted=row["accepted"],
        rejected=row["rejected"],
        modified=row["modified"],
        last_at=row["last_at"],
    )
