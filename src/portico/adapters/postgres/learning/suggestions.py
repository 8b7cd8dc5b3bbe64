"""Suggestions and past plans in PostgreSQL."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.mapping import Row, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.calls import ResultId
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.intents import Outcome
from portico.learning.core.past_plans import PastPlanId, StoredPlan
from portico.learning.core.suggestions import (
    Mode,
    NothingSuggested,
    StoredSuggestion,
    SuggestionNotFound,
)
from portico.workflows.core.plan_learning import SuggestionId

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

    async def learn(self, caller: Principal, plan: StoredPlan) -> None:
        values = {
            "space": caller.space.value,
            "plan": plan.id.value,
            "principal": plan.principal.value,
            "level": int(plan.label.level),
            "compartments": sorted(plan.label.compartments),
            "intent": strip_nul(plan.intent),
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

    async def latest(self, caller: Principal, most: int, of_another: int) -> Sequence[StoredPlan]:
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


def _plan(row: Row) -> StoredPlan:
    return StoredPlan(
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


_COLUMNS: Final[LiteralString] = """suggestion_id, principal_id, level, compartments, mode, raw,
    backing, confidence, past, result_id, made_at, expires_at, run_id, outcome, settled_at"""
_OWN: Final[LiteralString] = "WHERE space_id = %(space)s AND principal_id = %(principal)s"
_KEEP: Final[LiteralString] = """
    INSERT INTO portico.suggestion (space_id, suggestion_id, principal_id, level, compartments,
        mode, raw, backing, confidence, past, result_id, made_at, expires_at, run_id, outcome)
    VALUES (%(space)s, %(suggestion)s, %(principal)s, %(level)s, %(compartments)s, %(mode)s,
        %(raw)s, %(backing)s, %(confidence)s, %(past)s::uuid[], %(result)s, %(made)s, %(expires)s,
        %(run)s, %(outcome)s)
"""
_GET: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.suggestion {_OWN} AND suggestion_id = %(suggestion)s
"""
_OF_RUN: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.suggestion {_OWN} AND run_id = %(run)s
     ORDER BY made_at DESC LIMIT 1
"""
_SUGGESTIONS_LATEST: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.suggestion {_OWN}
     ORDER BY made_at DESC, suggestion_id DESC LIMIT %(most)s
"""
# All that lean on them are held, in one order, so that what somebody says at once counts once.
_WORDS: Final[LiteralString] = f"""
    SELECT past, outcome, settled_at FROM portico.suggestion
    {_OWN} AND past && %(plans)s::uuid[] ORDER BY suggestion_id FOR UPDATE
"""
_SETTLE: Final[LiteralString] = f"""
    UPDATE portico.suggestion
       SET outcome = %(outcome)s, settled_at = %(at)s, run_id = coalesce(run_id, %(run)s)
    {_OWN} AND suggestion_id = %(suggestion)s RETURNING {_COLUMNS}
"""


class PostgresSuggestions:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def keep(self, caller: Principal, suggestion: StoredSuggestion) -> None:
        values = {
            "space": caller.space.value,
            "suggestion": suggestion.id.value,
            "principal": suggestion.principal.value,
            "level": int(suggestion.label.level),
            "compartments": sorted(suggestion.label.compartments),
            "mode": suggestion.mode.value,
            "raw": suggestion.raw,
            "backing": suggestion.backing,
            "confidence": suggestion.confidence,
            "past": [plan.value for plan in suggestion.past],
            "result": suggestion.plan.value,
            "made": suggestion.made_at,
            "expires": suggestion.expires_at,
            "run": None if suggestion.run is None else suggestion.run.value,
            "outcome": None if suggestion.outcome is None else suggestion.outcome.value,
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_KEEP, values)

    async def get(self, caller: Principal, suggestion: SuggestionId) -> StoredSuggestion:
        found = await self._one(caller, _GET, {"suggestion": suggestion.value})
        if found is None:
            raise SuggestionNotFound(str(suggestion))
        return found

    async def of_run(self, caller: Principal, run: RunId) -> StoredSuggestion:
        found = await self._one(caller, _OF_RUN, {"run": run.value})
        if found is None:
            raise NothingSuggested(str(run))
        return found

    async def latest(self, caller: Principal, most: int) -> Sequence[StoredSuggestion]:
        asked = {**_whose(caller), "most": most}
        async with self._transactions.begin(caller) as connection:
            return [
                _kept(row)
                for row in await (await connection.execute(_SUGGESTIONS_LATEST, asked)).fetchall()
            ]

    async def words_on(
        self, caller: Principal, plans: Sequence[PastPlanId]
    ) -> Mapping[PastPlanId, Outcome]:
        asked = {**_whose(caller), "plans": [plan.value for plan in plans]}
        async with self._transactions.begin(caller) as connection:
            rows = await (await connection.execute(_WORDS, asked)).fetchall()
        said = sorted((row for row in rows if row["outcome"]), key=lambda row: row["settled_at"])
        return {PastPlanId(plan): Outcome(row["outcome"]) for row in said for plan in row["past"]}

    async def settle(
        self,
        caller: Principal,
        suggestion: SuggestionId,
        outcome: Outcome,
        at: datetime,
        run: RunId | None = None,
    ) -> StoredSuggestion:
        values = {
            "suggestion": suggestion.value,
            "outcome": outcome.value,
            "at": at,
            "run": None if run is None else run.value,
        }
        found = await self._one(caller, _SETTLE, values)
        if found is None:
            raise SuggestionNotFound(str(suggestion))
        return found

    async def _one(
        self, caller: Principal, query: LiteralString, asked: Mapping[str, object]
    ) -> StoredSuggestion | None:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(query, {**_whose(caller), **asked})).fetchone()
        return None if row is None else _kept(row)


def _whose(caller: Principal) -> dict[str, object]:
    return {"space": caller.space.value, "principal": caller.id.value}


def _kept(row: Row) -> StoredSuggestion:
    return StoredSuggestion(
        id=SuggestionId(row["suggestion_id"]),
        principal=PrincipalId(row["principal_id"]),
        label=Label(Level(row["level"]), frozenset(row["compartments"])),
        mode=Mode(row["mode"]),
        raw=row["raw"],
        backing=row["backing"],
        confidence=row["confidence"],
        past=tuple(PastPlanId(plan) for plan in row["past"]),
        plan=ResultId(row["result_id"]),
        made_at=row["made_at"],
        expires_at=row["expires_at"],
        run=None if row["run_id"] is None else RunId(row["run_id"]),
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
        settled_at=row["settled_at"],
    )
