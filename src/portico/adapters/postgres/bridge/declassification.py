"""Declassified copies in PostgreSQL, each together with its record."""

from collections.abc import Sequence
from typing import Final, LiteralString

from portico.adapters.postgres.bridge.visibility import WALL, cleared
from portico.adapters.postgres.mapping import Row, as_label
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.declassification import Declassification, DeclassificationId, Lowered
from portico.bridge.core.errors import Archived, NotApproved
from portico.bridge.core.messages import MessageId
from portico.kernel.ids import ApprovalId, PrincipalId
from portico.kernel.principal import Principal

_ADD: Final[LiteralString] = f"""
    SELECT portico.bridge_declassify(
        %(record)s, %(approval)s, %(source)s, %(copy)s, %(to_level)s::smallint,
        %(to_compartments)s::text[], %(text)s, %(sender)s, %(rules)s::text[], %(signature)s, %(at)s,
        {WALL}) AS outcome
"""
_OF: Final[LiteralString] = """
    SELECT record_id, source_id, copy_id, level, compartments, after_level, after_compartments,
           rules, asked_by, approved_by, approval_id, at, digest, signature
      FROM portico.declassification
     WHERE space_id = %(space)s AND (source_id = %(message)s OR copy_id = %(message)s)
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
     ORDER BY at, record_id
"""


class PostgresDeclassifications:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, record: Declassification, copy: Lowered) -> None:
        values = {
            "record": record.id.value,
            "approval": record.approval.value,
            "source": record.source.value,
            "copy": record.copy.value,
            "to_level": int(record.after.level),
            "to_compartments": sorted(record.after.compartments),
            "text": copy.text,
            "sender": caller.name,
            "rules": [*record.rules],
            "signature": record.signature,
            "at": record.at,
            **cleared(caller),
        }
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_ADD, values)).fetchone()
            match None if row is None else row["outcome"]:
                case "sent":
                    return
                case "archived":
                    raise Archived(str(copy.conversation))
                case _:
                    raise NotApproved(str(record.source))

    async def of(self, caller: Principal, message: MessageId) -> Sequence[Declassification]:
        values = {"message": message.value, **cleared(caller)}
        async with self._transactions.begin(caller) as connection:
            return [
                _record(row) for row in await (await connection.execute(_OF, values)).fetchall()
            ]


def _record(row: Row) -> Declassification:
    return Declassification(
        id=DeclassificationId(row["record_id"]),
        source=MessageId(row["source_id"]),
        copy=MessageId(row["copy_id"]),
        before=as_label(row["level"], row["compartments"]),
        after=as_label(row["after_level"], row["after_compartments"]),
        rules=tuple(row["rules"]),
        asked_by=PrincipalId(row["asked_by"]),
        approved_by=PrincipalId(row["approved_by"]),
        approval=ApprovalId(row["approval_id"]),
        at=row["at"],
        digest=row["digest"],
        signature=row["signature"],
    )
