"""Counters of what could be foreseen: of which kind, of what, and how often it came true."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self
from uuid import UUID

from portico.gateway.core.servers import ServerId

LONGEST_KEY: Final = 4_000
LONGEST_KIND: Final = 32
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID: Final = re.compile(r"srv_[0-7][0-9a-hjkmnp-tv-z]{25}")
"""Wherever they stand: in JSON the sign before one can be a letter, as in `\\t`."""
_UNWRITABLE: Final = re.compile("[\x00\ud800-\udfff]")
"""What the database takes in no text."""


@dataclass(frozen=True, slots=True)
class CountKey:
    """`key` is canonical JSON; `servers` are those that it names, and with any of which it goes."""

    kind: str
    key: str
    servers: frozenset[ServerId]

    @classmethod
    def of(cls, kind: str, key: str) -> Self:
        """Whatever in it looks like the id of a server is taken for one."""
        plain = {ServerId(UUID(text)) for text in _UUID.findall(key)}
        return cls(kind, key, frozenset(plain | {*map(ServerId.parse, _ID.findall(key))}))

    @property
    def fits(self) -> bool:
        """Whether it can be kept."""
        sized = 0 < len(self.kind) <= LONGEST_KIND and 0 < len(self.key) <= LONGEST_KEY
        return sized and not _UNWRITABLE.search(self.kind + self.key)


@dataclass(frozen=True, slots=True)
class Count:
    tried: int
    hit: int
    last_seen: datetime

    def and_then(self, other: "Count") -> "Count":
        return Count(
            self.tried + other.tried,
            self.hit + other.hit,
            max(self.last_seen, other.last_seen),
        )
