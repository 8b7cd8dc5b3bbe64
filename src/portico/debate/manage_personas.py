"""See the personas of a space, make one, take one away. Those that are built in stay."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.debate.core.errors import BadDebate, PersonaExists
from portico.debate.core.persona import Persona
from portico.debate.core.personas import BUILT_IN
from portico.debate.places import at_debate, at_start
from portico.debate.ports import Personas
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_LONGEST: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagePersonas:
    personas: Personas
    audit: Audit
    clock: Clock

    async def all(self, caller: Principal) -> Sequence[Persona]:
        """The built-in ones first. Raises `NotPermitted`."""
        permit(caller, Scope.DEBATES_READ)
        return [*BUILT_IN.values(), *await self.personas.all(at_debate(caller, None))]

    async def put(
        self, caller: Principal, name: str, instructions: str, specialist: bool
    ) -> Persona:
        """A new one, or another text for one. Raises `NotPermitted`, `BadDebate`,
        `PersonaExists`, `WriteDown`."""
        permit(caller, Scope.DEBATES_RUN)
        _check(name, instructions)
        persona = Persona(
            name=name,
            instructions=instructions.strip(),
            specialist=specialist,
            made_by=caller.id,
            changed_at=self.clock.now(),
        )
        await self.personas.put(_apart(caller), persona)
        await self.audit.note(caller, AuditEntry(action="persona.put", subject=name))
        return persona

    async def remove(self, caller: Principal, name: str) -> None:
        """Raises `NotPermitted`, `PersonaExists`, `PersonaNotFound`, `WriteDown`."""
        permit(caller, Scope.DEBATES_RUN)
        if name in BUILT_IN:
            raise PersonaExists(name)
        await self.personas.remove(_apart(caller), name)
        await self.audit.note(caller, AuditEntry(action="persona.removed", subject=name))


def _apart(caller: Principal) -> Principal:
    """A person writes them apart from what they have read elsewhere: all of a space read them."""
    return at_start(caller, "personas")


def _check(name: str, instructions: str) -> None:
    """Raises `BadDebate`, `PersonaExists`."""
    if name in BUILT_IN:
        raise PersonaExists(name)
    if not _NAME.fullmatch(name):
        raise BadDebate(
            f"{name[:60]!r} is no name for a persona.",
            "Use small letters, digits, - and _, at most 40 of them.",
        )
    if not instructions.strip() or len(instructions) > _LONGEST or "\x00" in instructions:
        raise BadDebate(
            f"A persona has instructions of 1 to {_LONGEST:,} characters.",
            "Say what it looks at, in a few sentences.",
        )
