"""Debates that were promoted, kept in PostgreSQL: each copy together with the record of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_walls import WALL, cleared
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.declassification import DeclassificationId
from portico.bridge.core.errors import NotApproved
from portico.debate.core.debates import DebateId
from portico.kernel.ids import ApprovalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_ADD: Final[LiteralString] = f"""
    SELECT portico.debate_promote(
        %(record)s, %(approval)s, %(source)s, %(copy)s, %(to_level)s::smallint,
        %(to_compartments)s::text[], %(content)s, %(rules)s::text[], %(signature)s, %(at)s,
        {WALL}) AS outcome
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """Kept for ever, and signed: what was let out, from where to where, and on whose word."""

    id: DeclassificationId
    source: DebateId
    copy: DebateId
    before: Label
    after: Label
    rules: tuple[str, ...]
    approval: ApprovalId
    at: datetime
    digest: str
    signature: str = ""


class PostgresPromotions:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, record: Promoted, content: str) -> None:
        """Both or neither. The store looks by itself whether a person has said yes to exactly
        this. Raises `NotApproved`."""
        values = {
            "record": record.id.value,
            "approval": record.approval.value,
            "source": record.source.value,
            "copy": record.copy.value,
            "to_level": int(record.after.level),
            "to_compartments": sorted(record.after.compartments),
            "content": content,
            "rules": [*record.rules],
            "signature": record.signature,
            "at": record.at,
            **cleared(caller),
        }
        async with self._transactions.begin(caller) as connection:
            [row] = await (await connection.execute(_ADD, values)).fetchall()
        if row["outcome"] != "promoted":
            raise NotApproved(str(record.source))
