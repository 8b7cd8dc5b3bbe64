"""Personas shape what a voice is told to look at, never what its answer weighs."""

from dataclasses import dataclass
from datetime import datetime

from portico.kernel.ids import PrincipalId


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    name: str
    instructions: str
    specialist: bool = False
    built_in: bool = False
    made_by: PrincipalId | None = None
    changed_at: datetime | None = None
