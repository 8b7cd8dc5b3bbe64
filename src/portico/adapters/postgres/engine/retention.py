"""Retention in PostgreSQL: by the engine's role, which sees ages and no contents."""

import logging
from typing import Final, LiteralString

from portico.adapters.postgres.engine.event_log import LOGS, PREPARE_MONTHS
from portico.adapters.postgres.transaction import EnginePool
from portico.debate.core.debates import DebateId
from portico.engine.core.retention import Forgotten, Keep
from portico.kernel.ids import RunId

_log: Final = logging.getLogger("portico.postgres")
_AT_ONCE: Final = 500
"""Rows a statement: it should not hold the others up."""
_OVER: Final[LiteralString] = """
    SELECT space_id, run_id FROM (
        SELECT space_id, run_id, finished_at,
               row_number() OVER (PARTITION BY space_id ORDER BY finished_at DESC) AS place
          FROM portico.run WHERE finished_at IS NOT NULL
    ) AS over
     WHERE finished_at < now() - %(runs)s OR place > %(most_runs)s
     LIMIT %(at_once)s
"""
_RUNS: Final[LiteralString] = """
    DELETE FROM portico.run WHERE run_id = ANY(%(gone)s) AND finished_at IS NOT NULL
    RETURNING run_id
"""
_STREAMS: Final[LiteralString] = """
    DELETE FROM portico.stream AS s
     USING unnest(%(spaces)s::uuid[], %(topics)s::text[]) AS gone (space_id, topic)
     WHERE s.space_id = gone.space_id AND s.topic = gone.topic
    RETURNING s.topic
"""
_LEGS: Final[LiteralString] = """
    WITH gone AS (
        DELETE FROM dbos.workflow_status WHERE workflow_uuid IN (
            SELECT workflow_uuid FROM dbos.workflow_status
             WHERE status NOT IN ('ENQUEUED', 'PENDING', 'DELAYED')
               AND updated_at < extract(epoch FROM now() - interval '1 hour') * 1000
             LIMIT %(at_once)s
        )
        RETURNING workflow_uuid
    ), inputs AS (
        DELETE FROM dbos.workflow_input AS i USING gone WHERE i.workflow_uuid = gone.workflow_uuid
    ), outputs AS (
        DELETE FROM dbos.workflow_output AS o USING gone WHERE o.workflow_uuid = gone.workflow_uuid
    )
    SELECT workflow_uuid FROM gone
"""
_MONTHS: Final[LiteralString] = """
    SELECT portico.drop_months(%(log)s, now() - %(age)s) AS months
"""
_EVENTS: Final[LiteralString] = """
    WITH old AS (
        SELECT space_id, topic, number, at FROM portico.event
         WHERE at < now() - %(events)s LIMIT %(at_once)s
    )
    DELETE FROM portico.event AS e USING old
     WHERE e.space_id = old.space_id AND e.topic = old.topic AND e.number = old.number
       AND e.at = old.at
    RETURNING e.topic
"""
_FIRST: Final[LiteralString] = """
    UPDATE portico.stream AS s SET first = kept.first
      FROM (SELECT o.space_id, o.topic,
                   coalesce((SELECT min(e.number) FROM portico.event e
                              WHERE e.space_id = o.space_id AND e.topic = o.topic
                                AND e.at >= now() - %(events)s), o.last + 1) AS first
              FROM portico.stream o WHERE o.created_at < now() - %(events)s) AS kept
     WHERE s.space_id = kept.space_id AND s.topic = kept.topic AND s.first < kept.first
    RETURNING s.topic
"""
_RECEIPTS: Final[LiteralString] = """
    DELETE FROM portico.idempotency_record AS r
     USING (SELECT space_id, principal_id, operation, key FROM portico.idempotency_record
             WHERE created_at < now() - %(receipts)s LIMIT %(at_once)s) AS old
     WHERE r.space_id = old.space_id AND r.principal_id = old.principal_id
       AND r.operation = old.operation AND r.key = old.key
    RETURNING r.key
"""
_CALLS: Final[LiteralString] = """
    DELETE FROM portico.tool_call AS c
     USING (SELECT space_id, call_id, started_at FROM portico.tool_call
             WHERE started_at < now() - %(calls)s LIMIT %(at_once)s) AS old
     WHERE c.space_id = old.space_id AND c.call_id = old.call_id
       AND c.started_at = old.started_at
    RETURNING c.call_id
"""
_RESULTS: Final[LiteralString] = """
    DELETE FROM portico.tool_result AS r
     USING (SELECT space_id, result_id FROM portico.tool_result
             WHERE expires_at < now() LIMIT %(at_once)s) AS old
     WHERE r.space_id = old.space_id AND r.result_id = old.result_id
    RETURNING r.result_id
"""
# What came of it is uncertain until a person has said what it was, however long that takes.
_APPROVALS: Final[LiteralString] = """
    DELETE FROM portico.approval AS a
     USING (SELECT space_id, approval_id FROM portico.approval
             WHERE asked_at < now() - %(calls)s AND outcome IS DISTINCT FROM 'uncertain'
             LIMIT %(at_once)s) AS old
     WHERE a.space_id = old.space_id AND a.approval_id = old.approval_id
    RETURNING a.approval_id
"""
_PAST_PLANS: Final[LiteralString] = """
    DELETE FROM portico.past_plan AS p
     USING (SELECT space_id, plan_id FROM (
                SELECT space_id, plan_id, last_at,
                       row_number() OVER (
                           PARTITION BY space_id, principal_id ORDER BY last_at DESC) AS place
                  FROM portico.past_plan) AS every
             WHERE last_at < now() - %(calls)s OR place > %(most)s LIMIT %(at_once)s) AS old
     WHERE p.space_id = old.space_id AND p.plan_id = old.plan_id
    RETURNING p.plan_id
"""
_SUGGESTIONS: Final[LiteralString] = """
    DELETE FROM portico.suggestion AS s
     USING (SELECT space_id, suggestion_id FROM (
                SELECT space_id, suggestion_id, made_at,
                       row_number() OVER (
                           PARTITION BY space_id, principal_id ORDER BY made_at DESC) AS place
                  FROM portico.suggestion) AS every
             WHERE made_at < now() - %(calls)s OR place > %(most)s LIMIT %(at_once)s) AS old
     WHERE s.space_id = old.space_id AND s.suggestion_id = old.suggestion_id
    RETURNING s.suggestion_id
"""
# The engine may not know which they are, and so deletes all of them at once; how many there can be
# is bounded where they are written.
_EDGES: Final[LiteralString] = """
    DELETE FROM portico.tool_edge WHERE last_seen_at < now() - %(learnt)s RETURNING space_id
"""
_COUNTS: Final[LiteralString] = """
    DELETE FROM portico.prediction_count WHERE last_seen_at < now() - %(learnt)s RETURNING space_id
"""
# One that is still on is kept, however long that takes.
_OLD_TRACES: Final[LiteralString] = """
    SELECT t.space_id, t.run_id FROM portico.agent_run AS t
     WHERE t.started_at < now() - %(traces)s
       AND NOT EXISTS (SELECT FROM portico.run r
                        WHERE r.space_id = t.space_id AND r.run_id = t.run_id
                          AND r.finished_at IS NULL)
     LIMIT %(at_once)s
"""
_TRACES: Final[LiteralString] = """
    DELETE FROM portico.agent_run AS a
     USING unnest(%(spaces)s::uuid[], %(gone)s::uuid[]) AS old (space_id, run_id)
     WHERE a.space_id = old.space_id AND a.run_id = old.run_id
    RETURNING a.run_id
"""
# With their counters, and so in the database itself, which gives neither a word nor a place away.
_MESSAGES: Final[LiteralString] = "SELECT portico.bridge_forget(%(age)s, %(at_once)s) AS gone"
_ATTACHMENTS: Final[LiteralString] = """
    SELECT portico.bridge_forget_attachments(%(age)s, %(at_once)s) AS gone
"""
_MEMORY: Final[LiteralString] = """
    SELECT portico.bridge_forget_memory(%(age)s, %(at_once)s) AS gone
"""
# With their parts: what is said of each goes with it.
_DEBATES: Final[LiteralString] = """
    SELECT space_id, debate_id FROM portico.debate_forget(%(age)s, %(at_once)s)
"""
_DEBATE_TALK: Final = "~debate:"
_TALK: Final = "~talk:"
"""What the topic begins with in which people follow what is said in a run of an agent."""
_ALONE: Final[LiteralString] = """
    SELECT pg_try_advisory_lock(hashtextextended('portico retention', 0)) AS alone
"""


class PostgresRetention:
    def __init__(self, engine: EnginePool) -> None:
        self._engine = engine

    async def forget(self, keep: Keep) -> Forgotten:
        """Told first where a reader has to begin, then let go of: nobody finds a gap."""
        async with self._engine.alone(_ALONE) as alone:
            if not alone:
                return Forgotten()
            for log in LOGS:
                await self._of_months(PREPARE_MONTHS, log)
            runs = await self._forget_runs(keep)
            await self._engine.rows(_FIRST, {"events": keep.events})
            months = await self._of_months(_MONTHS, "event", age=keep.events)
            months += await self._of_months(_MONTHS, "tool_call", age=keep.calls)
            events = await self._all(_EVENTS, events=keep.events)
            return Forgotten(
                runs=runs,
                legs=await self._all(_LEGS),
                events=events,
                months=months,
                receipts=await self._all(_RECEIPTS, receipts=keep.receipts),
                calls=await self._all(_CALLS, calls=keep.calls),
                results=await self._all(_RESULTS),
                approvals=await self._all(_APPROVALS, calls=keep.calls),
                past_plans=await self._all(
                    _PAST_PLANS, calls=keep.calls, most=keep.most_past_plans
                ),
                suggestions=await self._all(
                    _SUGGESTIONS, calls=keep.calls, most=keep.most_suggestions
                ),
                edges=await self._all(_EDGES, learnt=keep.learned),
                counts=await self._all(_COUNTS, learnt=keep.learned),
                traces=await self._forget_traces(keep),
                messages=await self._counted(_MESSAGES, age=keep.messages),
                attachments=await self._counted(_ATTACHMENTS, age=keep.messages),
                memory=await self._counted(_MEMORY, age=keep.memory),
                debates=await self._forget_debates(keep),
            )

    async def _of_months(self, statement: LiteralString, log: str, **values: object) -> int:
        """How many were made or dropped; none while somebody reads it for long."""
        row = await self._engine.one_if_free(statement, {"log": log, **values})
        if row is None:
            _log.info("%s is being read; its months are seen to the next time", LOGS[log])
            return 0
        return int(row["months"])

    async def _forget_runs(self, keep: Keep) -> int:
        """A run goes with its own topic; what is said of it in the topic of all runs stays."""
        wanted = {"runs": keep.runs, "most_runs": keep.most_runs, "at_once": _AT_ONCE}
        count = 0
        while over := await self._engine.rows(_OVER, wanted):
            spaces = [row["space_id"] for row in over]
            topics = [str(RunId(row["run_id"])) for row in over]
            await self._engine.rows(_STREAMS, {"spaces": spaces, "topics": topics})
            gone = await self._engine.rows(_RUNS, {"gone": [row["run_id"] for row in over]})
            count += len(gone)
        return count

    async def _forget_traces(self, keep: Keep) -> int:
        """With what was said in them while somebody listened."""
        wanted = {"traces": keep.traces, "at_once": _AT_ONCE}
        count = 0
        while old := await self._engine.rows(_OLD_TRACES, wanted):
            spaces = [row["space_id"] for row in old]
            topics = [f"{_TALK}{RunId(row['run_id'])}" for row in old]
            await self._engine.rows(_STREAMS, {"spaces": spaces, "topics": topics})
            doomed = {"spaces": spaces, "gone": [row["run_id"] for row in old]}
            count += len(await self._engine.rows(_TRACES, doomed))
        return count

    async def _forget_debates(self, keep: Keep) -> int:
        """With what was told while somebody followed them."""
        wanted = {"age": keep.debates, "at_once": _AT_ONCE}
        count = 0
        while old := await self._engine.rows(_DEBATES, wanted):
            spaces = [row["space_id"] for row in old]
            topics = [f"{_DEBATE_TALK}{DebateId(row['debate_id'])}" for row in old]
            await self._engine.rows(_STREAMS, {"spaces": spaces, "topics": topics})
            count += len(old)
        return count

    async def _counted(self, statement: LiteralString, **values: object) -> int:
        """Of a statement that says how many it let go of, until there are none."""
        count = 0
        while row := await self._engine.one(statement, {**values, "at_once": _AT_ONCE}):
            if not row["gone"]:
                break
            count += row["gone"]
        return count

    async def _all(self, statement: LiteralString, **values: object) -> int:
        count = 0
        while gone := await self._engine.rows(statement, {**values, "at_once": _AT_ONCE}):
            count += len(gone)
        return count
