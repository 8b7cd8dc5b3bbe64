"""A call without its values: which tool, which arguments it was given; and an edge between two."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Self

from portico.gateway.core.inferred_schema import ToolPlace, names_a_field
from portico.gateway.core.servers import ServerId
from portico.kernel.ids import BadId
from portico.kernel.json import JsonObject

START: Final = "start"
_MOST_NAMES: Final = 16
_LONGEST_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class CallForm:
    tool: ToolPlace
    names: tuple[str, ...]
    """Of its arguments, in their order."""

    def __str__(self) -> str:
        return form_text(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` for what `str` did not write."""
        match _texts(text):
            case [place, *names]:
                return cls(place_of(place), tuple(names))
            case _:
                raise ValueError(text)


@dataclass(frozen=True, slots=True)
class EdgeKey:
    """From where a task stood to what it was thought to call."""

    before: ToolPlace | None
    """What was called before the last; None as well where that is not looked at."""
    last: ToolPlace | None
    failed: bool
    form: CallForm
    band: int
    """Of fifths, how sure it was at first sight."""

    def __str__(self) -> str:
        where = [_or_start(self.before), _or_start(self.last)]
        return _written([*where, "!" if self.failed else "", str(self.form), str(self.band)])

    @property
    def way(self) -> "EdgeKey":
        """The same, however sure each single time was."""
        return replace(self, band=0)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` for what `str` did not write."""
        match _texts(text):
            case [before, last, failed, form, band]:
                places = [None if it == START else place_of(it) for it in (before, last)]
                return cls(places[0], places[1], failed == "!", CallForm.parse(form), int(band))
            case _:
                raise ValueError(text)


def form_of(tool: ToolPlace, arguments: JsonObject) -> CallForm:
    return CallForm(tool, tuple(sorted(arguments)))


def learnable(form: CallForm) -> bool:
    """Names of arguments that are data, or more than anybody gives, are not written down."""
    short = len(form.names) <= _MOST_NAMES and len(form.tool.tool) <= _LONGEST_NAME
    return short and all(map(names_a_field, form.names))


@lru_cache(maxsize=4_096)
def form_text(form: CallForm) -> str:
    return _written([place_text(form.tool), *form.names])


@lru_cache(maxsize=4_096)
def place_text(place: ToolPlace) -> str:
    return f"{place.server}/{place.tool}"


def place_of(text: str) -> ToolPlace:
    """Raises `ValueError` for what `place_text` did not write."""
    server, slash, tool = text.partition("/")
    if not slash or not tool:
        raise ValueError(text)
    try:
        return ToolPlace(ServerId.parse(server), tool)
    except BadId as error:
        raise ValueError(text) from error


def _or_start(place: ToolPlace | None) -> str:
    return START if place is None else place_text(place)


def _written(texts: list[str]) -> str:
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def _texts(text: str) -> list[str]:
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(it, str) for it in found):
        raise ValueError(text)
    return found
