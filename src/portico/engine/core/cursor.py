"""Where a reader stands, as bytes: one position a topic, and what it is good for."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Final

from portico.engine.core.errors import BadCursor
from portico.kernel.ids import SpaceId
from portico.kernel.json import canonical

Positions = Mapping[str, int]
"""The number of the last entry that the reader was shown of each topic; 0 if none."""

_WIDTH: Final = 8
"""Always the same: a length that grew with the number would tell of hidden entries."""


def packed(positions: Positions) -> bytes:
    return b"".join(positions[topic].to_bytes(_WIDTH) for topic in sorted(positions))


def unpacked(topics: Collection[str], content: bytes) -> dict[str, int]:
    """Raises `BadCursor`."""
    if len(content) != _WIDTH * len(topics):
        raise BadCursor
    return {
        topic: int.from_bytes(content[place : place + _WIDTH])
        for topic, place in zip(sorted(topics), range(0, len(content), _WIDTH), strict=True)
    }


def bound_to(space: SpaceId, topics: Collection[str]) -> bytes:
    """This space and exactly these topics: elsewhere the cursor opens nothing."""
    return hashlib.sha256(canonical([str(space), *sorted(topics)])).digest()
