"""Rows of the bridge for the spaces of a town: a few in every table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import psycopg

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BRIDGE_TABLES: Final = [
    "bridge_label",
    "project",
    "conversation",
    "message",
    "message_version",
    "message_ack",
    "message_vector",
    "vector_reach",
    "participant",
    "read_apart",
    "mention",
    "memory",
    "attachment",
    "lease",
    "work",
    "presence",
    "declassification",
]


def fill_bridge(cursor: psycopg.Cursor, space: UUID, principal: UUID, ids: Sequence[UUID]) -> None:
    cursor.execute("INSERT INTO bridge_label VALUES (%s, 1, 1, '{}')", [space])
    cursor.executemany(
        "INSERT INTO project (space_id, project_id, name, level, made_by, made_at)"
        " VALUES (%s, %s, %s, 1, %s, %s)",
        [(space, one, f"project {n}", principal, NOW) for n, one in enumerate(ids)],
    )
    _fill_talk(cursor, space, principal, ids)
    _fill_things(cursor, space, principal, ids)


def _fill_talk(cursor: psycopg.Cursor, space: UUID, principal: UUID, ids: Sequence[UUID]) -> None:
    cursor.executemany(
        "INSERT INTO conversation (space_id, conversation_id, project_id, title, level, made_by,"
        " made_at, last_seq, said) VALUES (%s, %s, %s, 'plans', 1, %s, %s, 1, '{1}')",
        [(space, one, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO message (space_id, conversation_id, seq, message_id, level, label, closed,"
        " sender, sender_name, body, sent_at)"
        " VALUES (%s, %s, 1, %s, 1, 1, false, %s, 'a', 'b', %s)",
        [(space, one, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO message_version VALUES (%s, %s, 1, 1, '{}', 'before', %s, %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO message_ack VALUES (%s, %s, %s, 1, '{}', %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO message_vector VALUES (%s, %s, %s, 1, '{}', 1, false, 'm', '[1,2]')",
        [(space, one, one) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO vector_reach VALUES (%s, %s, 'm', 1)", [(space, one) for one in ids]
    )
    cursor.executemany(
        "INSERT INTO participant VALUES (%s, %s, %s, %s, false, 0, '{}')",
        [(space, one, principal, NOW) for one in ids],
    )
    for table in ("read_apart", "mention"):
        cursor.executemany(
            f"INSERT INTO {table} VALUES (%s, %s, %s, 1, 1)".encode(),
            [(space, principal, one) for one in ids],
        )


def _fill_things(cursor: psycopg.Cursor, space: UUID, principal: UUID, ids: Sequence[UUID]) -> None:
    cursor.executemany(
        "INSERT INTO memory (space_id, project_id, key, level, version, value, written_by,"
        " written_at) VALUES (%s, %s, 'k', 1, 1, '1', %s, %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO attachment (space_id, digest, level, name, media_type, content, added_by,"
        " added_at) VALUES (%s, %s, 1, 'n', 'text/plain', 'x', %s, %s)",
        [(space, one.hex * 2, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO lease (space_id, lease_id, project_id, level, resource, principal_id, since,"
        " expires_at) VALUES (%s, %s, %s, 1, 'src/**', %s, %s, %s)",
        [(space, one, one, principal, NOW, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO work (space_id, work_id, project_id, title, level, state, made_by, made_at,"
        " changed_at) VALUES (%s, %s, %s, 'do', 1, 'open', %s, %s, %s)",
        [(space, one, one, principal, NOW, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO presence (space_id, project_id, principal_id, level, doing, until)"
        " VALUES (%s, %s, %s, 1, 'there', %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO declassification (space_id, record_id, level, source_id, copy_id, after_level,"
        " asked_by, approved_by, approval_id, at, digest, signature)"
        " VALUES (%s, %s, 1, %s, %s, 0, %s, %s, %s, %s, 'd', 's')",
        [(space, one, one, one, principal, principal, one, NOW) for one in ids],
    )
