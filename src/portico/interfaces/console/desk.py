"""Whoever sits before a page: who they are, and what they can call."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from starlette.requests import Request

from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.guard.core.principals import Scope
from portico.interfaces.console.house import House
from portico.kernel.principal import Principal, PrincipalKind

ENTRY: Final = "portico.console.entry"
AGAIN: Final = "portico.console.again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    house: House
    entry: Entry
    again: Callable[[], Awaitable[Entry]]
    """Who the same session makes of its bearer by now. Raises `NotAuthenticated`."""
    now: datetime

    @property
    def caller(self) -> Principal:
        return self.entry.principal

    def at(self, place: str) -> Principal:
        """The caller, at a task of its own for this place: what a person sees in one of them is
        not held against what they do in another. Only for whoever may open tasks."""
        caller = self.caller
        free = caller.kind is PrincipalKind.PERSON and caller.may(Scope.CONTEXTS_OPEN)
        return replace(caller, place=f"console {place}") if free else caller


def house_of(request: Request) -> House:
    found: House = request.app.state.house
    return found


def desk_of(request: Request) -> Desk:
    """Raises `NotAuthenticated`."""
    entry = request.scope.get(ENTRY)
    if not isinstance(entry, Entry):
        raise NotAuthenticated
    house = house_of(request)
    return Desk(house=house, entry=entry, again=request.scope[AGAIN], now=house.clock.now())
