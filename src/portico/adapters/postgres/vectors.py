"""Vectors, kept in PostgreSQL as they are in memory: numbers of 32 bits, one after the other."""

from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

import numpy as np
from numpy.typing import NDArray

from portico.adapters.postgres.transaction import Transactions
from portico.kernel.principal import Principal

_GET: Final[LiteralString] = """
    SELECT content_key, vector FROM portico.embedding
     WHERE space_id = %(space)s AND model = %(model)s AND content_key = ANY(%(keys)s)
"""
_PUT: Final[LiteralString] = """
    INSERT INTO portico.embedding (space_id, model, content_key, vector)
    SELECT %(space)s, %(model)s, content_key, vector
      FROM unnest(%(keys)s::text[], %(vectors)s::bytea[]) AS given (content_key, vector)
     ORDER BY content_key
    ON CONFLICT DO NOTHING
"""
_AT_ONCE: Final = 2_000
"""Rows that are taken in without a pause for others."""
_NUMBER: Final = np.dtype("<f4")


class PostgresVectors:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def get(
        self, caller: Principal, model: str, keys: Sequence[str]
    ) -> Mapping[str, NDArray[np.float32]]:
        asked = {"space": caller.space.value, "model": model, "keys": [*keys]}
        found: dict[str, NDArray[np.float32]] = {}
        async with (
            self._transactions.begin(caller) as connection,
            connection.cursor(name="vectors", binary=True) as cursor,
        ):
            await cursor.execute(_GET, asked)
            while rows := await cursor.fetchmany(_AT_ONCE):
                found |= {row["content_key"]: _vector(row["vector"]) for row in rows}
        return found

    async def put(
        self, caller: Principal, model: str, vectors: Mapping[str, NDArray[np.float32]]
    ) -> None:
        values = {
            "space": caller.space.value,
            "model": model,
            "keys": [*vectors],
            "vectors": [vector.astype(_NUMBER).tobytes() for vector in vectors.values()],
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_PUT, values)


def _vector(kept: bytes) -> NDArray[np.float32]:
    return np.frombuffer(kept, _NUMBER).astype(np.float32, copy=False)
