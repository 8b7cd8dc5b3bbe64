"""Entries of the event log as part of a larger statement: told if, and only if, it did something.

The topic's row is then held for the time of that statement alone, and not until a process gets
around to its next one: the topic of all runs is everybody's.
"""

from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

from psycopg.types.json import Json

from portico.engine.core.event_log import NewEntry
from portico.kernel.ids import EventId
from portico.kernel.principal import Principal

_NAMES: Final[tuple[LiteralString, ...]] = ("own", "all")


def telling(source: LiteralString, count: int = 1) -> LiteralString:
    """The parts of a WITH that append `count` entries if `source` has a row. Each waits for the
    one before it, so that all who write the same topics hold them in the same order."""
    parts: list[LiteralString] = []
    for name in _NAMES[:count]:
        parts.append(_append(name, source))
        source = f"{name}_told"
    return ", ".join(parts)


def told_values(
    caller: Principal, entries: Sequence[NewEntry], events: Sequence[EventId]
) -> Mapping[str, object]:
    """For a statement that was written with `telling`, as many entries as that."""
    values: dict[str, object] = {}
    for name, entry, event in zip(_NAMES, entries, events, strict=False):
        for field, value in append_values(caller, entry, event).items():
            values[f"{name}_{field}"] = value
    return values


def append_values(caller: Principal, entry: NewEntry, event: EventId) -> Mapping[str, object]:
    return {
        "space": caller.space.value,
        "topic": entry.topic,
        "topic_level": int(entry.topic_label.level),
        "topic_compartments": sorted(entry.topic_label.compartments),
        "event": event.value,
        "type": entry.type,
        "principal": caller.id.value,
        "level": int(entry.label.level),
        "compartments": sorted(entry.label.compartments),
        "facts": Json(entry.facts),
    }


def asking(caller: Principal) -> Mapping[str, object]:
    """Who asks, for a statement that says so itself."""
    return {
        "asking_level": int(caller.clearance.level),
        "asking_compartments": ",".join(sorted(caller.clearance.compartments)),
    }


def _append(name: LiteralString, source: LiteralString) -> LiteralString:
    return f"""
    {name}_held AS (
        INSERT INTO portico.stream AS s (space_id, topic, level, compartments, last)
        SELECT %({name}_space)s::uuid, %({name}_topic)s, %({name}_topic_level)s,
               %({name}_topic_compartments)s::text[], 1
          FROM {source}
        ON CONFLICT (space_id, topic) DO UPDATE SET last = s.last + 1
        RETURNING space_id, topic, last, level, compartments
    ), {name}_told AS (
        INSERT INTO portico.event (
            space_id, topic, number, event_id, type, principal_id, level, compartments, facts
        )
        SELECT space_id, topic, last, %({name}_event)s::uuid, %({name}_type)s,
               %({name}_principal)s::uuid, greatest(level, %({name}_level)s),
               ARRAY(SELECT DISTINCT unnest(compartments || %({name}_compartments)s::text[])
                      ORDER BY 1),
               %({name}_facts)s::json
          FROM {name}_held
        RETURNING number
    )"""
