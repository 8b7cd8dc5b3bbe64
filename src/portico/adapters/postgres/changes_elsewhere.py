"""What other processes are changing, by the record of calls: each is there before it is made."""

from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.calls import KNOWN, MARGIN, OLDEST, REST, SKEW, UNBOUNDED
from portico.guard.core.access_request import Act
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect

_SEE_ALL: Final[LiteralString] = """
    SELECT set_config('portico.level', '3', true),
           set_config('portico.compartments', coalesce(string_agg(DISTINCT its, ','), ''), true)
      FROM (SELECT unnest(t.compartments) AS its FROM portico.taint_context t
             WHERE t.space_id = %(space)s AND t.compartments <> '{}'
             UNION
            SELECT unnest(s.label_compartments) FROM portico.server s
             WHERE s.space_id = %(space)s) AS every
"""
"""It is asked whether there is something, not what: a change counts whoever may know of it."""
_CHANGED: Final[LiteralString] = """
    SELECT EXISTS (
        SELECT FROM portico.tool_call
         WHERE space_id = %(space)s AND started_at >= %(oldest)s
           AND incarnation <> %(incarnation)s
           AND (principal_id = %(principal)s OR server = %(server)s
                OR (%(here)s AND NOT EXISTS (
                    SELECT FROM portico.server s
                     WHERE s.space_id = %(space)s AND s.name = tool_call.server
                       AND s.launch ->> 'type' = 'http')))
           AND effect = ANY(%(changing)s)
           AND CASE WHEN outcome IS NULL
                    THEN coalesce(due_at, started_at + %(unbounded)s) + %(margin)s >= %(now)s
                    WHEN outcome = ANY(%(known)s) THEN started_at + coalesce(took, '0') >= %(since)s
                    ELSE started_at + coalesce(took, '0') + %(rest)s >= %(since)s
               END) AS changed
"""
_CHANGING: Final = [str(effect) for effect in Effect if not effect.reads_only]


class PostgresElsewhere:
    """`incarnation`: of this process, whose own changes are known without asking."""

    def __init__(self, transactions: Transactions, clock: Clock, incarnation: str) -> None:
        self._transactions = transactions
        self._clock = clock
        self._incarnation = incarnation

    async def changed_since(self, act: Act, since: datetime) -> bool:
        now, caller = self._clock.now(), act.caller
        asked = {
            "space": caller.space.value,
            "principal": caller.id.value,
            "server": act.aim.server,
            "here": act.aim.here,
            "incarnation": self._incarnation,
            "changing": _CHANGING,
            "known": [*map(str, KNOWN)],
            "oldest": now - OLDEST,
            "unbounded": UNBOUNDED,
            "margin": MARGIN,
            "rest": REST,
            "since": since - SKEW,
            "now": now,
        }
        _, [found] = await self._transactions.stroke(caller, (_SEE_ALL, asked), (_CHANGED, asked))
        return bool(found["changed"])
