"""The versions of an agent, and what changed from one to another, as they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from portico.agents.core.agents import AgentVersion, Change
from portico.interfaces.console.wording import NOTHING, as_json
from portico.kernel.json import JsonValue


@dataclass(frozen=True, slots=True)
class Line:
    sign: str
    """`+` came, `-` went, `…` is a place further down; else it stayed."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    field: str
    before: str
    after: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    number: int
    by: str
    at: datetime
    model: str
    latest: bool


@dataclass(frozen=True, slots=True)
class Versions:
    found: tuple[Version, ...]
    changes: tuple[Changed, ...]


def versions_of(found: Sequence[AgentVersion], changes: Sequence[Change]) -> Versions:
    latest = max((each.number for each in found), default=0)
    return Versions(
        tuple(
            Version(
                number=each.number,
                by=each.by_name,
                at=each.at,
                model=each.spec.model,
                latest=each.number == latest,
            )
            for each in found
        ),
        tuple(
            Changed(
                field=each.field,
                before=_text(each.before),
                after=_text(each.after),
                lines=tuple(_line(line) for line in each.lines[1:]),
            )
            for each in changes
        ),
    )


def _line(line: str) -> Line:
    """The first of them only says where it begins."""
    if line.startswith("@@"):
        return Line("…", "")
    return Line(line[:1] if line[:1] in {"+", "-"} else " ", line[1:])


def _text(value: JsonValue) -> str:
    match value:
        case None | "" | []:
            return NOTHING
        case str():
            return value
        case list() | tuple():
            return "\n".join(str(each) for each in value)
        case _:
            return as_json(value)
