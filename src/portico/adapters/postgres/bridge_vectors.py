"""What messages mean, as vectors in PostgreSQL: one graph for each label that has many of them."""

from collections.abc import Sequence
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_graphs import MessageGraphs
from portico.adapters.postgres.bridge_search import vector_text
from portico.adapters.postgres.bridge_walls import CLEAR, cleared
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.messages import MessageId
from portico.bridge.search import ToEmbed
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

_WAITING: Final[LiteralString] = """
    SELECT space_id FROM portico.bridge_spaces_to_embed(%(model)s)
"""
_COMPARTMENTS: Final[LiteralString] = "SELECT portico.bridge_compartments() AS compartments"
_MISSING: Final[LiteralString] = f"""
    SELECT message_id, body, at FROM portico.bridge_unembedded(%(model)s, %(limit)s, {CLEAR})
"""
_PUT: Final[LiteralString] = f"""
    SELECT portico.bridge_embed(%(model)s, %(ids)s::uuid[], %(ats)s::timestamptz[],
                                %(vectors)s::text[], {CLEAR}) AS kept
"""


class PostgresMessageVectors:
    def __init__(
        self,
        transactions: Transactions,
        engine: EnginePool,
        model: str,
        graphs: MessageGraphs | None = None,
    ) -> None:
        """Without graphs, if the owner's address is not known here: then those are made
        elsewhere, or all vectors are compared one by one, and the same is found."""
        self._transactions = transactions
        self._engine = engine
        self._model = model
        self._graphs = graphs

    async def waiting(self) -> Sequence[SpaceId]:
        rows = await self._engine.rows(_WAITING, {"model": self._model})
        return [SpaceId(row["space_id"]) for row in rows]

    async def clearance(self, worker: Principal) -> Label:
        [[row]] = await self._transactions.looked_up(worker, (_COMPARTMENTS, {}))
        return Label(Level.RESTRICTED, frozenset(row["compartments"]))

    async def missing(self, worker: Principal, limit: int) -> Sequence[ToEmbed]:
        asked = {**cleared(worker), "model": self._model, "limit": limit}
        [rows] = await self._transactions.looked_up(worker, (_MISSING, asked))
        return [
            ToEmbed(message=MessageId(row["message_id"]), text=row["body"], at=row["at"])
            for row in rows
        ]

    async def put(
        self, worker: Principal, vectors: Sequence[tuple[ToEmbed, Sequence[float]]]
    ) -> int:
        values = {
            **cleared(worker),
            "model": self._model,
            "ids": [each.message.value for each, _ in vectors],
            "ats": [each.at for each, _ in vectors],
            "vectors": [vector_text(its) if any(its) else None for _, its in vectors],
        }
        [[row]] = await self._transactions.looked_up(worker, (_PUT, values))
        return int(row["kept"])

    async def arrange(self) -> int:
        return 0 if self._graphs is None else await self._graphs.arrange(self._model)
