"""What changed between two versions of an agent, field by field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Final

from portico.agents.core.agent import AgentSpec
from portico.agents.core.agent_text import spec_json
from portico.kernel.json import JsonObject, JsonValue

_TEXTS: Final = ("description", "instructions")


@dataclass(frozen=True, slots=True)
class Change:
    field: str
    before: JsonValue
    """None where it was not set."""
    after: JsonValue
    lines: tuple[str, ...] = ()
    """Of texts: what went (`-`), what came (`+`), and a little of what is around that."""


def changes(before: AgentSpec, after: AgentSpec) -> Sequence[Change]:
    """In the order in which an agent is written."""
    was, now = dict(_fields(spec_json(before))), dict(_fields(spec_json(after)))
    return [
        Change(name, was.get(name), now.get(name), _lines(name, was.get(name), now.get(name)))
        for name in dict.fromkeys([*was, *now])
        if was.get(name) != now.get(name)
    ]


def _fields(spec: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    for name, value in spec.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{its}", each) for its, each in value.items())
        else:
            yield name, value


def _lines(name: str, before: JsonValue, after: JsonValue) -> tuple[str, ...]:
    if name not in _TEXTS:
        return ()
    was, now = str(before).splitlines(), str(after).splitlines()
    return tuple(unified_diff(was, now, lineterm="", n=2))[2:]
