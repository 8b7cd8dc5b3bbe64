"""What was suggested to whom, and what became of it, kept in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.rows import Row
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.calls import ResultId
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.suggest.kept_plan import PastPlanId
from portico.learning.core.suggest.kept_suggestion import (
    KeptSuggestion,
    NothingSuggested,
    SuggestionNotFound,
)
from portico.learning.core.suggest.mode import Mode
from portico.learning.core.suggest.threshold import Outcome
from portico.workflows.core.plan_learning import SuggestionId

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
_LATEST: Final[LiteralString] = f"""
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

    async def keep(self, caller: Principal, suggestion: KeptSuggestion) -> None:
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

    async def get(self, caller: Principal, suggestion: SuggestionId) -> KeptSuggestion:
        found = await self._one(caller, _GET, {"suggestion": suggestion.value})
        if found is None:
            raise SuggestionNotFound(str(suggestion))
        return found

    async def of_run(self, caller: Principal, run: RunId) -> KeptSuggestion:
        found = await self._one(caller, _OF_RUN, {"run": run.value})
        if found is None:
            raise NothingSuggested(str(run))
        return found

    async def latest(self, caller: Principal, most: int) -> Sequence[KeptSuggestion]:
        asked = {**_whose(caller), "most": most}
        async with self._transactions.begin(caller) as connection:
            return [
                _kept(row) for row in await (await connection.execute(_LATEST, asked)).fetchall()
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
    ) -> KeptSuggestion:
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
    ) -> KeptSuggestion | None:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(query, {**_whose(caller), **asked})).fetchone()
        return None if row is None else _kept(row)


def _whose(caller: Principal) -> dict[str, object]:
    return {"space": caller.space.value, "principal": caller.id.value}


def _kept(row: Row) -> KeptSuggestion:
    return KeptSuggestion(
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
