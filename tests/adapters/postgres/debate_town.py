"""A little of every table of debates, for the town of many spaces."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import psycopg

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEBATE_TABLES = [
    "debate",
    "debate_note",
    "debate_seat",
    "debate_question",
    "debate_outcome",
    "debate_persona",
    "debate_reservation",
    "debate_cap",
    "debate_spending",
]


def fill_debates(cursor: psycopg.Cursor, space: UUID, principal: UUID, ids: Sequence[UUID]) -> None:
    """In projects of the same ids."""
    cursor.executemany(
        "INSERT INTO debate (space_id, debate_id, level, private, untrusted, project_id, analysis,"
        " started_by, run_id, status, question, body, guests, unbounded, deadline, started_at)"
        " VALUES (%s, %s, 1, false, false, %s, false, %s, %s, 'running', 'why?', '{}', 1, false,"
        " %s, %s)",
        [(space, one, one, principal, one, NOW, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO debate_note (space_id, debate_id, name, place, level, kind, round, body, at)"
        " VALUES (%s, %s, 'said', 1, 1, 'said', 1, '{}', %s)",
        [(space, one, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO debate_seat VALUES (%s, %s, %s, 1, '{}', 1, 'a guest', '{}')",
        [(space, one, principal) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO debate_question VALUES (%s, %s, 'said', %s, 1, '{}', 1, '{}')",
        [(space, one, principal) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO debate_outcome"
        " VALUES (%s, %s, 1, 1, '{}', 'null', 'null', true, 'test', '', %s, %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.execute("INSERT INTO debate_persona VALUES (%s, 'zoe', 'Doubt it.', false)", [space])
    cursor.executemany(
        "INSERT INTO debate_reservation VALUES (%s, %s, 'said', %s, %s, 1, '{}', 1, 1, '1s', 1)",
        [(space, one, one, one) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO debate_cap VALUES (%s, %s, 1, '{}', 9, 9)", [(space, one) for one in ids]
    )
    cursor.executemany(
        "INSERT INTO debate_spending VALUES (%s, %s, 1, '{}', 1, 1, '1s', 1)",
        [(space, one) for one in ids],
    )
