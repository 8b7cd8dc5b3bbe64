"""Whom somebody means who names people, as one does in talk, and not by their ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.ports import People
from portico.guard.core.errors import PrincipalNotFound
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePeople:
    people: People

    async def __call__(self, caller: Principal, names: Sequence[str]) -> tuple[PrincipalId, ...]:
        """In this order, each once; an `@` before a name is no part of it. Raises `NotPermitted`,
        `PrincipalNotFound`."""
        permit(caller, Scope.BRIDGE_WRITE)
        wanted = [name.removeprefix("@") for name in names]
        found = await self.people.named(caller, wanted) if wanted else {}
        for name in wanted:
            if name not in found:
                raise PrincipalNotFound(name)
        return tuple(dict.fromkeys(found[name] for name in wanted))
