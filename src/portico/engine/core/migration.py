"""The way from any earlier schema to this one: forward only, each step known by its checksum."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from portico.engine.core.errors import SchemaAhead, SchemaEdited


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    number: int
    name: str
    checksum: str
    applied_at: datetime


def pending(known: Sequence[Migration], applied: Sequence[Applied]) -> Sequence[Migration]:
    """What is left to do, in order. Raises `SchemaEdited`, `SchemaAhead`."""
    by_number = {migration.number: migration for migration in known}
    for step in applied:
        if step.number not in by_number:
            raise SchemaAhead(step.number, max(by_number, default=0))
        if by_number[step.number].checksum != step.checksum:
            raise SchemaEdited(step.name)
    done = {step.number for step in applied}
    return [by_number[number] for number in sorted(by_number) if number not in done]
