"""Bugs to plant in the bridge's doors, and walls to take away, to see that an oracle finds it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest
from psycopg import sql

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge import visibility
from portico.bridge.core.errors import ProjectNotFound
from portico.bridge.ports import MessageRange
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.adapters.postgres.bridge_town import BRIDGE_TABLES
from tests.storm.walled_house import TOP


class AsAnother:
    """A door that somebody forgot to knock at as themselves."""

    def __init__(
        self, door: Any, names: Sequence[str], who: Callable[[Principal], Principal]
    ) -> None:
        self._door, self._names, self._who = door, names, who

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._door, name)
        if name not in self._names:
            return found

        def asked(caller: Principal, *given: Any, **more: Any) -> Any:
            return found(self._who(caller), *given, **more)

        return asked


def cleared_for_all(caller: Principal) -> Principal:
    return replace(caller, clearance=TOP)


class TellingProjects(AsAnother):
    """Tells the name of what is hidden."""

    def __init__(self, door: Any) -> None:
        super().__init__(door, (), cleared_for_all)

    async def get(self, caller: Principal, which: str) -> Any:
        try:
            return await self._door.get(caller, which)
        except ProjectNotFound:
            hidden = await self._door.get(cleared_for_all(caller), which)
            raise ProjectNotFound(hidden.name) from None


class LateCursors(AsAnother):
    """A page ends where the conversation does, and not at what was shown."""

    def __init__(self, door: Any) -> None:
        super().__init__(door, (), cleared_for_all)

    async def after(self, caller: Principal, *given: Any, **more: Any) -> MessageRange:
        its: MessageRange = await self._door.after(caller, *given, **more)
        if not its.found or its.more:
            return its
        last = replace(its.found[-1], position=its.end)
        return replace(its, found=[*its.found[:-1], last])


@dataclass(frozen=True)
class Bug:
    """Asked by one of these names, a door of a house answers as it would somebody who may see all;
    or it is `wrong` in a way of its own."""

    door: str
    names: Sequence[str] = ()
    wrong: Callable[[Any], Any] | None = None

    def in_(self, house: Any) -> Any:
        was = getattr(house.doors, self.door)
        by_name = AsAnother(was, self.names, cleared_for_all)
        wrong = by_name if self.wrong is None else self.wrong(was)
        return replace(house, doors=replace(house.doors, **{self.door: wrong}))


BUGS = {
    "a page over all labels": Bug("messages", ("after",)),
    "one message of any label": Bug("messages", ("get",)),
    "versions of any label": Bug("messages", ("get", "versions")),
    "what is overdue, of any label": Bug("messages", ("overdue",)),
    "words are looked for in all labels": Bug("search", ("by_words",)),
    "meaning is looked for in all labels": Bug("search", ("by_meaning",)),
    "an error that tells names": Bug("projects", wrong=TellingProjects),
    "a list of all projects": Bug("projects", ("page",)),
    "a list of all conversations": Bug("conversations", ("page",)),
    "a count over all labels": Bug("read_state", ("unread",)),
    "a total over all labels": Bug("read_state", ("total",)),
    "names of what is remembered": Bug("memory", ("page",)),
    "attachments by their content alone": Bug("attachments", ("get",)),
    "work of any label": Bug("works", ("page",)),
}
BROKEN_TWINS = {
    "counts over all labels": Bug("read_state", ("unread",)),
    "cursors that tell of what was not shown": Bug("messages", wrong=LateCursors),
    "order by all that was said": Bug("conversations", ("page",)),
    "names that are one over all labels": Bug("projects", ("get",)),
    "words found in all labels": Bug("search", ("by_words",)),
    "meaning found in all labels": Bug("search", ("by_meaning",)),
    "memory of all labels": Bug("memory", ("get",)),
    "wake-ups by what is hidden": Bug("messages", ("after",)),
    "what is overdue in all labels": Bug("messages", ("overdue",)),
}
"""By which a low reader is told something else if there is something above."""


_SEES_ALL = """
    CREATE OR REPLACE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[])
        RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true';
    CREATE OR REPLACE FUNCTION portico.own_conversations()
        RETURNS uuid[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
        AS 'SELECT coalesce(array_agg(c.conversation_id), ''{}'') FROM portico.conversation c';
"""
_MARK_OFF = """
    CREATE OR REPLACE FUNCTION portico.mark_covered(its_level smallint, its_compartments text[])
        RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true';
"""


def without_the_second_wall(addresses: Addresses) -> None:
    """No row-level security, and functions that ask nothing of their own."""
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        for table in BRIDGE_TABLES:
            off = sql.SQL("ALTER TABLE portico.{} DISABLE ROW LEVEL SECURITY")
            admin.execute(off.format(sql.Identifier(table)))
        admin.execute(_SEES_ALL.encode())


def without_the_first_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement says that its caller may see all, closed conversations too."""

    def all_of_it(caller: Principal) -> tuple[Label, bool]:  # anybody's
        return TOP, True

    monkeypatch.setattr(visibility, "first_wall", all_of_it)


def without_the_wall_below(addresses: Addresses) -> None:
    """The database takes what is less secret than what its writer has read."""
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        admin.execute(_MARK_OFF.encode())
