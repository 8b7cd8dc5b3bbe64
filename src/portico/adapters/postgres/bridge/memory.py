"""Memory of projects and attachments of messages in PostgreSQL."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.bridge.visibility import cleared, no_write_down
from portico.adapters.postgres.mapping import Row, as_label, strip_nul
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.errors import AttachmentNotFound, MemoryNotFound, ProjectNotFound
from portico.bridge.core.memory import MemoryEntry, ToRemember, next_version
from portico.bridge.core.projects import ProjectId
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_COLUMNS: Final[LiteralString] = """project_id, key, level, compartments, version,
    value::text AS value, untrusted, forgotten, expires_at, written_by, written_at"""
_SEEN: Final[LiteralString] = """space_id = %(space)s AND project_id = %(project)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]"""
_THERE: Final[LiteralString] = "NOT forgotten AND (expires_at IS NULL OR expires_at > %(now)s)"
_HIGHEST: Final[LiteralString] = """level DESC, cardinality(compartments) DESC,
           array_to_string(compartments, '+') COLLATE "C" DESC"""
_LOCK: Final[LiteralString] = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0))
"""
"""One writer of a key and label at a time: the next one sees what this one has written."""
_PROJECT: Final[LiteralString] = f"SELECT project_id FROM portico.project WHERE {_SEEN}"
_LAST: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.memory
     WHERE {_SEEN} AND key = %(key)s AND level = %(its_level)s
       AND compartments = %(its_compartments)s::text[]
     ORDER BY version DESC LIMIT 1
"""
_PUT: Final[LiteralString] = """
    INSERT INTO portico.memory (space_id, project_id, key, level, compartments, version, value,
                                untrusted, forgotten, expires_at, written_by, written_at)
    VALUES (%(space)s, %(project)s, %(key)s, %(its_level)s, %(its_compartments)s, %(version)s,
            %(value)s::json, %(untrusted)s, %(forgotten)s, %(expires)s, %(by)s, %(at)s)
"""
_LASTS: Final[LiteralString] = f"""
    SELECT DISTINCT ON (key, level, compartments) * FROM portico.memory
     WHERE {_SEEN} AND key ^@ %(prefix)s AND key > %(after)s
     ORDER BY key, level, compartments, version DESC
"""
_GET: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM (
        SELECT DISTINCT ON (level, compartments) * FROM portico.memory
         WHERE {_SEEN} AND key = %(key)s ORDER BY level, compartments, version DESC) AS last
     WHERE {_THERE} ORDER BY {_HIGHEST} LIMIT 1
"""
_PAGE: Final[LiteralString] = f"""
    SELECT DISTINCT ON (key) {_COLUMNS} FROM ({_LASTS}) AS last
     WHERE {_THERE} ORDER BY key, {_HIGHEST} LIMIT %(limit)s
"""
_FIND: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.bridge_find_memory(
               %(words)s, %(project)s, %(level)s::smallint, %(compartments)s::text[], %(now)s,
               %(limit)s) WITH ORDINALITY AS found (key, level, compartments, version, place)
      JOIN portico.memory USING (key, level, compartments, version)
     WHERE {_SEEN} ORDER BY place
"""
_VERSIONS: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.memory WHERE {_SEEN} AND key = %(key)s
     ORDER BY {_HIGHEST}, version DESC LIMIT %(limit)s
"""


class PostgresMemory:
    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    async def put(
        self,
        caller: Principal,
        wanted: ToRemember,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> MemoryEntry:
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            last = await _last(connection, caller, wanted.project, wanted.key, label)
            return await _add(
                connection,
                caller,
                MemoryEntry(
                    project=wanted.project,
                    key=wanted.key,
                    value=wanted.value,
                    label=label,
                    version=next_version(wanted, last, at),
                    expires_at=wanted.expires_at,
                    untrusted=untrusted,
                    by=caller.id,
                    at=at,
                ),
            )

    async def get(self, caller: Principal, project: ProjectId, key: str) -> MemoryEntry:
        rows = await self._rows(caller, project, _GET, key=strip_nul(key))
        if not rows:
            raise MemoryNotFound(key)
        return rows[0]

    async def forget(
        self, caller: Principal, project: ProjectId, key: str, label: Label, at: datetime
    ) -> None:
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            last = await _last(connection, caller, project, key, label)
            if last is None or not last.there(at):
                raise MemoryNotFound(key)
            await _add(
                connection,
                caller,
                MemoryEntry(
                    project=project,
                    key=key,
                    value=None,
                    label=label,
                    version=last.version + 1,
                    forgotten=True,
                    by=caller.id,
                    at=at,
                ),
            )

    async def page(
        self, caller: Principal, project: ProjectId, *, prefix: str, after: str | None, limit: int
    ) -> Sequence[MemoryEntry]:
        return await self._rows(
            caller,
            project,
            _PAGE,
            prefix=strip_nul(prefix),
            after=strip_nul(after or ""),
            limit=limit,
        )

    async def find(
        self, caller: Principal, project: ProjectId, words: str, limit: int
    ) -> Sequence[MemoryEntry]:
        return await self._rows(caller, project, _FIND, words=strip_nul(words), limit=limit)

    async def versions(
        self, caller: Principal, project: ProjectId, key: str, limit: int
    ) -> Sequence[MemoryEntry]:
        return await self._rows(caller, project, _VERSIONS, key=strip_nul(key), limit=limit)

    async def _rows(
        self, caller: Principal, project: ProjectId, statement: LiteralString, **asked: object
    ) -> Sequence[MemoryEntry]:
        values = {**_where(caller, project), "now": self._clock.now(), **asked}
        [rows] = await self._transactions.looked_up(caller, (statement, values))
        return [_remembered(row) for row in rows]


async def _last(
    connection: Connection, caller: Principal, project: ProjectId, key: str, label: Label
) -> MemoryEntry | None:
    """Nobody writes a later one before the end of this transaction. Raises `ProjectNotFound`."""
    values = {**_where(caller, project), "key": strip_nul(key), **_label(label)}
    values["lock"] = f"portico memory {caller.space} {project} {label} {key}"
    await connection.execute(_LOCK, values)
    if await (await connection.execute(_PROJECT, values)).fetchone() is None:
        raise ProjectNotFound(str(project))
    row = await (await connection.execute(_LAST, values)).fetchone()
    return None if row is None else _remembered(row)


async def _add(connection: Connection, caller: Principal, its: MemoryEntry) -> MemoryEntry:
    values = {
        **_where(caller, its.project),
        **_label(its.label),
        "key": its.key,
        "version": its.version,
        "value": None if its.forgotten else json.dumps(its.value, allow_nan=False),
        "untrusted": its.untrusted,
        "forgotten": its.forgotten,
        "expires": its.expires_at,
        "by": its.by.value,
        "at": its.at,
    }
    await connection.execute(_PUT, values)
    return its


def _where(caller: Principal, project: ProjectId) -> dict[str, object]:
    return {**cleared(caller), "project": project.value}


def _label(label: Label) -> dict[str, object]:
    return {"its_level": int(label.level), "its_compartments": sorted(label.compartments)}


def _remembered(row: Row) -> MemoryEntry:
    return MemoryEntry(
        project=ProjectId(row["project_id"]),
        key=row["key"],
        value=None if row["value"] is None else json.loads(row["value"]),
        label=as_label(row["level"], row["compartments"]),
        version=row["version"],
        expires_at=row["expires_at"],
        forgotten=row["forgotten"],
        untrusted=row["untrusted"],
        by=PrincipalId(row["written_by"]),
        at=row["written_at"],
    )


_ATTACHMENTS_COLUMNS: Final[
    LiteralString
] = """digest, level, compartments, name, untrusted, media_type,
    length(content) AS size, added_by, added_at"""
_ATTACHMENTS_PUT: Final[LiteralString] = """
    INSERT INTO portico.attachment (space_id, digest, level, compartments, name, untrusted,
                                    media_type, content, added_by, added_at)
    VALUES (%(space)s, %(digest)s, %(its_level)s, %(its_compartments)s, %(name)s, %(untrusted)s,
            %(media_type)s, %(content)b, %(by)s, %(at)s)
    ON CONFLICT DO NOTHING
"""
"""The content as it is: its text would be twice as long."""
_ATTACHMENTS_SEEN: Final[LiteralString] = """
      FROM portico.attachment
     WHERE space_id = %(space)s AND digest = %(digest)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
     ORDER BY level, cardinality(compartments), array_to_string(compartments, '+') COLLATE "C"
     LIMIT 1
"""
_ABOUT: Final[LiteralString] = f"SELECT {_ATTACHMENTS_COLUMNS} {_ATTACHMENTS_SEEN}"
_ATTACHMENTS_GET: Final[LiteralString] = (
    f"SELECT {_ATTACHMENTS_COLUMNS}, content {_ATTACHMENTS_SEEN}"
)


class PostgresAttachments:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def put(self, caller: Principal, attachment: Attachment, content: bytes) -> None:
        values = {
            "space": caller.space.value,
            "digest": str(attachment.digest),
            "its_level": int(attachment.label.level),
            "its_compartments": sorted(attachment.label.compartments),
            "name": attachment.name,
            "untrusted": attachment.untrusted,
            "media_type": attachment.media_type,
            "content": content,
            "by": attachment.by.value,
            "at": attachment.at,
        }
        async with (
            no_write_down(self._transactions, caller, attachment.label),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_ATTACHMENTS_PUT, values)

    async def get(self, caller: Principal, digest: Digest) -> tuple[Attachment, bytes]:
        row = await self._row(caller, digest, _ATTACHMENTS_GET)
        return _attachment(row), bytes(row["content"])

    async def about(self, caller: Principal, digest: Digest) -> Attachment:
        return _attachment(await self._row(caller, digest, _ABOUT))

    async def _row(self, caller: Principal, digest: Digest, statement: LiteralString) -> Row:
        values = {**cleared(caller), "digest": str(digest)}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(statement, values, binary=True)).fetchone()
        if row is None:
            raise AttachmentNotFound(str(digest))
        return row


def _attachment(row: Row) -> Attachment:
    return Attachment(
        digest=Digest(row["digest"]),
        label=as_label(row["level"], row["compartments"]),
        name=row["name"],
        media_type=row["media_type"],
        size=row["size"],
        untrusted=row["untrusted"],
        by=PrincipalId(row["added_by"]),
        at=row["added_at"],
    )
