"""Bugs to plant in the bridge's doors, to see whether the oracles find them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from portico.bridge.core.errors import ProjectNotFound
from portico.kernel.principal import Principal
from tests.storm.walled_house import TOP, WalledHouse


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


@dataclass(frozen=True)
class Bug:
    door: str
    names: Sequence[str]

    def in_(self, house: WalledHouse) -> WalledHouse:
        was = getattr(house.doors, self.door)
        wrong: Any = AsAnother(was, self.names, cleared_for_all)
        if self.door == "projects" and self.names == ("get",):
            wrong = TellingProjects(was)
        return replace(house, doors=replace(house.doors, **{self.door: wrong}))


BUGS = {
    "a page over all labels": Bug("messages", ("after",)),
    "one message of any label": Bug("messages", ("get",)),
    "versions of any label": Bug("messages", ("get", "versions")),
    "what is overdue, of any label": Bug("messages", ("overdue",)),
    "words are looked for in all labels": Bug("search", ("by_words",)),
    "meaning is looked for in all labels": Bug("search", ("by_meaning",)),
    "an error that tells names": Bug("projects", ("get",)),
    "a list of all projects": Bug("projects", ("page",)),
    "a list of all conversations": Bug("conversations", ("page",)),
    "a count over all labels": Bug("read_state", ("unread",)),
    "a total over all labels": Bug("read_state", ("total",)),
    "names of what is remembered": Bug("memory", ("page",)),
    "attachments by their content alone": Bug("attachments", ("get",)),
    "work of any label": Bug("works", ("page",)),
}
