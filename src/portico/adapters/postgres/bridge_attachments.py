"""What was added to messages, kept in PostgreSQL: once for each content and label."""

from typing import Final, LiteralString

from portico.adapters.postgres.bridge_walls import cleared
from portico.adapters.postgres.bridge_writes import no_write_down
from portico.adapters.postgres.rows import Row, as_label
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.errors import AttachmentNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

_COLUMNS: Final[LiteralString] = """digest, level, compartments, name, untrusted, media_type,
    length(content) AS size, added_by, added_at"""
_PUT: Final[LiteralString] = """
    INSERT INTO portico.attachment (space_id, digest, level, compartments, name, untrusted,
                                    media_type, content, added_by, added_at)
    VALUES (%(space)s, %(digest)s, %(its_level)s, %(its_compartments)s, %(name)s, %(untrusted)s,
            %(media_type)s, %(content)b, %(by)s, %(at)s)
    ON CONFLICT DO NOTHING
"""
"""The content as it is: its text would be twice as long."""
_SEEN: Final[LiteralString] = """
      FROM portico.attachment
     WHERE space_id = %(space)s AND digest = %(digest)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
     ORDER BY level, cardinality(compartments), array_to_string(compartments, '+') COLLATE "C"
     LIMIT 1
"""
_ABOUT: Final[LiteralString] = f"SELECT {_COLUMNS} {_SEEN}"
_GET: Final[LiteralString] = f"SELECT {_COLUMNS}, content {_SEEN}"


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
            await connection.execute(_PUT, values)

    async def get(self, caller: Principal, digest: Digest) -> tuple[Attachment, bytes]:
        row = await self._row(caller, digest, _GET)
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
