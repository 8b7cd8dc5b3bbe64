"""The corpus of `just bench bridge`, put into a database at once: every row and every count as
they would be, had all of it been said and read one after the other."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql

from benchmarks.bridge_cast import LABELS
from benchmarks.bridge_corpus import Corpus, Line, Reading
from portico.kernel.label import Label

_EVERY: Final = 25_000
_TABLES: Final[dict[str, LiteralString]] = {
    "principal": "space_id, principal_id, kind, name, roles, level, compartments, created_at",
    "bridge_label": "space_id, number, level, compartments",
    "project": "space_id, project_id, name, level, compartments, made_by, made_at",
    "message": "space_id, conversation_id, seq, message_id, level, compartments, label, closed,"
    " sender, sender_name, body, reply_to, thread, mentions, sent_at, deleted_at",
    "conversation": "space_id, conversation_id, project_id, title, level, compartments, closed,"
    " made_by, made_at, last_seq, said, newest",
    "participant": "space_id, conversation_id, principal_id, joined_at, muted, last_seq, seen,"
    " apart",
    "read_message": "space_id, principal_id, conversation_id, seq, label",
    "mention": "space_id, principal_id, conversation_id, seq, label",
}

Value = str | int | bool | float | UUID | datetime | Sequence[object] | None


def load(
    admin: psycopg.Connection, corpus: Corpus, keep: int, progress: Callable[[str], None]
) -> Sequence[Line]:
    """All or nothing. Gives so many of the messages, by lot."""
    chosen = Random(7).sample(range(corpus.messages), min(keep, corpus.messages))  # noqa: S311 # no secret
    wanted, kept = frozenset(chosen), []
    with admin.transaction():
        # What refers to what is right by how it is made; and nothing is sorted in one by one.
        admin.execute("SET LOCAL session_replication_role = replica")
        admin.execute("SET LOCAL maintenance_work_mem = '512MB'")
        again = without_indexes(admin)

        def rows() -> Iterator[Sequence[Value]]:
            for number, line in enumerate(corpus.lines()):
                if number in wanted and not line.deleted:
                    kept.append(line)
                if number % _EVERY == 0:
                    progress(f"making {corpus.messages:,} messages: {number:,}")
                yield _message(corpus, line)

        _copy(admin, "principal", _people(corpus))
        _copy(admin, "bridge_label", _labels(corpus))
        _copy(admin, "project", _projects(corpus))
        _copy(admin, "message", rows())
        _copy(admin, "conversation", _conversations(corpus))
        readings = list(corpus.readings())
        _copy(admin, "participant", (_participant(corpus, each) for each in readings))
        _copy(admin, "read_message", (row for each in readings for row in _apart(corpus, each)))
        _copy(admin, "mention", (row for each in readings for row in _named(corpus, each)))
        progress("making indexes")
        for statement in again:
            admin.execute(statement.encode())
    progress("having the planner look at it")
    admin.execute("VACUUM ANALYZE")
    return kept


def without_indexes(admin: psycopg.Connection) -> Sequence[str]:
    """Of messages; gives what makes them again."""
    found = admin.execute(
        "SELECT indexname, indexdef FROM pg_indexes i WHERE schemaname = 'portico'"
        " AND tablename = 'message' AND NOT EXISTS (SELECT FROM pg_constraint c"
        " WHERE c.conname = i.indexname OR c.confrelid = 'portico.message'::regclass"
        " AND c.conindid = to_regclass('portico.' || i.indexname))"
    ).fetchall()
    for name, _ in found:
        admin.execute(sql.SQL("DROP INDEX portico.{}").format(sql.Identifier(name)))
    return [definition for _, definition in found]


def _copy(admin: psycopg.Connection, table: str, rows: Iterable[Sequence[Value]]) -> None:
    into = sql.SQL("COPY portico.{} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(_TABLES[table])
    )
    with admin.cursor() as cursor, cursor.copy(into) as copy:
        for row in rows:
            copy.write("\t".join(map(_told, row)) + "\n")


def _told(value: Value) -> str:
    """As COPY wants it; no text here has anything in it that would have to be quoted."""
    match value:
        case None:
            return "\\N"
        case bool():
            return "t" if value else "f"
        case str() | int() | float() | UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case _:
            return "{" + ",".join("NULL" if each is None else str(each) for each in value) + "}"


def _of(label: Label) -> tuple[int, Sequence[str]]:
    return int(label.level), sorted(label.compartments)


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


_BEGAN: Final = _at(1_690_000_000)


def _people(corpus: Corpus) -> Iterator[Sequence[Value]]:
    for each in corpus.cast.everybody:
        clearance = _of(each.clearance)
        yield each.space.value, each.id.value, each.kind, each.name, ["member"], *clearance, _BEGAN


def _labels(corpus: Corpus) -> Iterator[Sequence[Value]]:
    for number, label in enumerate(LABELS, 1):
        yield corpus.cast.space.value, number, *_of(label)


def _projects(corpus: Corpus) -> Iterator[Sequence[Value]]:
    cast = corpus.cast
    for number, project in enumerate(cast.projects):
        maker = cast.everybody[0].id.value
        yield cast.space.value, project, f"project {number}", *_of(LABELS[0]), maker, _BEGAN


def _message(corpus: Corpus, line: Line) -> Sequence[Value]:
    cast, talk = corpus.cast, corpus.cast.talks[line.talk]
    sender = cast.everybody[line.sender]
    named = [] if line.named is None else [cast.everybody[line.named].id.value]
    return (
        cast.space.value,
        talk.id,
        line.seq,
        line.id,
        *_of(LABELS[line.label]),
        line.label + 1,
        talk.closed,
        sender.id.value,
        sender.name,
        line.body,
        line.reply_to,
        line.reply_to,
        named,
        _at(line.at),
        _at(line.at) if line.deleted else None,
    )


def _conversations(corpus: Corpus) -> Iterator[Sequence[Value]]:
    cast = corpus.cast
    for where, talk in enumerate(cast.talks):
        told = corpus.told[where]
        newest = [told.newest.get(number) for number in range(1, len(LABELS) + 1)]
        yield (
            cast.space.value,
            talk.id,
            talk.project,
            f"conversation {where}",
            *_of(LABELS[talk.label]),
            talk.closed,
            cast.everybody[talk.members[0]].id.value,
            _BEGAN,
            len(told.labels),
            corpus.counted(where, len(told.labels)),
            [None if at is None else f'"{_at(at).isoformat()}"' for at in newest],
        )


def _participant(corpus: Corpus, reading: Reading) -> Sequence[Value]:
    conversation, who = _whose(corpus, reading)
    read = [*reading.own, *(label for _, label in reading.apart)]
    space, apart = corpus.cast.space.value, Counter(read)
    counted = [apart[number] for number in range(1, len(LABELS) + 1)]
    return space, conversation, who, _BEGAN, reading.muted, reading.last, reading.seen, counted


def _apart(corpus: Corpus, reading: Reading) -> Iterator[Sequence[Value]]:
    conversation, who = _whose(corpus, reading)
    for seq, label in reading.apart:
        yield corpus.cast.space.value, who, conversation, seq, label


def _named(corpus: Corpus, reading: Reading) -> Iterator[Sequence[Value]]:
    conversation, who = _whose(corpus, reading)
    for seq, label in reading.named:
        yield corpus.cast.space.value, who, conversation, seq, label


def _whose(corpus: Corpus, reading: Reading) -> tuple[UUID, UUID]:
    cast = corpus.cast
    return cast.talks[reading.talk].id, cast.everybody[reading.who].id.value
