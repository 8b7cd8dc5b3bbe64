"""The kinds of runs there are: what each does, where it stands in line, who may start it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from portico.engine.core.errors import KindNotFound
from portico.engine.core.run import Place
from portico.kernel.durable import Work
from portico.kernel.json import JsonObject


def anything(_input: JsonObject) -> None:
    """What a kind that takes any input has for a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    work: Work
    place: Place = field(default_factory=Place)
    for_people: bool = False
    """Whether it can be started by its name, from outside; others are started by their rooms."""
    check: Callable[[JsonObject], object] = anything
    """Raises what is wrong with an input, so that no run is begun with one it cannot use."""


class Kinds:
    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_name: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in kinds})

    def __getitem__(self, name: str) -> Kind:
        """Raises `KindNotFound`."""
        if name not in self._by_name:
            raise KindNotFound(name, self._by_name)
        return self._by_name[name]

    def for_people(self, name: str) -> Kind:
        """Raises `KindNotFound`."""
        offered = [kind.name for kind in self._by_name.values() if kind.for_people]
        if name not in offered:
            raise KindNotFound(name, offered)
        return self._by_name[name]
