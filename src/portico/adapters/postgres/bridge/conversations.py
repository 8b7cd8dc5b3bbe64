"""Projects, conversations and presence in PostgreSQL."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, LiteralString

from psycopg.errors import UniqueViolation

from portico.adapters.postgres.bridge.visibility import (
    CLEAR,
    WALL,
    cleared,
    conversation_from,
    mark_of,
    no_write_down,
    project_from,
)
from portico.adapters.postgres.mapping import as_label, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.errors import (
    ConversationNotFound,
    NotTakingPart,
    ProjectNameTaken,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.messages import secrecy
from portico.bridge.core.presence import Presence, PresenceStatus
from portico.bridge.core.projects import Project, ProjectId
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.clock import Clock
from portico.kernel.ids import InvalidId, PrincipalId
from portico.kernel.principal import Principal

_SEEN: Final[LiteralString] = """p.space_id = %(space)s AND p.level <= %(level)s
       AND p.compartments <@ %(compartments)s::text[]"""
_COLUMNS: Final[LiteralString] = """p.project_id, p.name, p.description, p.level, p.compartments,
           p.made_by, p.made_at, p.archived_at"""
_ADD: Final[LiteralString] = """
    INSERT INTO portico.project (space_id, project_id, name, description, level, compartments,
                                 made_by, made_at, archived_at)
    VALUES (%(space)s, %(project)s, %(name)s, %(description)s, %(its_level)s, %(its_compartments)s,
            %(made_by)s, %(made_at)s, %(archived_at)s)
"""
_GET: Final[LiteralString] = f"""
    SELECT {_COLUMNS}, greatest(p.made_at, (
               SELECT max(a.active_at)
                 FROM portico.bridge_active(p.project_id, NULL, {WALL}) a)) AS active_at
      FROM portico.project p
     WHERE {_SEEN} AND (p.project_id = %(project)s OR p.name = %(name)s)
"""
_PUT: Final[LiteralString] = f"""
    UPDATE portico.project p
       SET name = %(name)s, description = %(description)s, archived_at = %(archived_at)s
     WHERE {_SEEN} AND p.project_id = %(project)s
    RETURNING p.project_id
"""
_PAGE: Final[LiteralString] = f"""
    WITH listed AS (
        SELECT {_COLUMNS}, greatest(p.made_at, a.active_at) AS active_at
          FROM portico.project p LEFT JOIN (
               SELECT project_id, max(active_at) AS active_at
                 FROM portico.bridge_active(NULL, NULL, {WALL}) GROUP BY project_id
               ) a USING (project_id)
         WHERE {_SEEN}
    )
    SELECT * FROM listed
     WHERE (archived_at IS NOT NULL) = %(archived)s
       AND (%(after)s::uuid IS NULL OR (active_at, project_id) < (
            SELECT active_at, project_id FROM listed WHERE project_id = %(after)s::uuid))
     ORDER BY active_at DESC, project_id DESC LIMIT %(limit)s
"""


class PostgresProjects:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, project: Project) -> None:
        async with (
            no_write_down(self._transactions, caller, project.label),
            self._transactions.begin(caller) as connection,
        ):
            try:
                await connection.execute(_ADD, _columns(caller, project))
            except UniqueViolation as error:
                if error.diag.constraint_name != "project_name":
                    raise
                raise ProjectNameTaken(project.name, project.label) from error

    async def get(self, caller: Principal, which: str) -> Project:
        id_ = _parsed(which)
        asked = {
            **cleared(caller),
            "project": None if id_ is None else id_.value,
            "name": strip_nul(which),
        }
        [rows] = await self._transactions.looked_up(caller, (_GET, asked))
        found = [project_from(row) for row in rows]
        if not found:
            raise ProjectNotFound(which)
        return max(found, key=lambda its: (its.id == id_, secrecy(its.label), its.id.value))

    async def put(self, caller: Principal, project: Project) -> None:
        values = {**_columns(caller, project), **cleared(caller)}
        async with (
            no_write_down(self._transactions, caller, project.label),
            self._transactions.begin(caller) as connection,
        ):
            try:
                done = await connection.execute(_PUT, values)
            except UniqueViolation as error:
                raise ProjectNameTaken(project.name, project.label) from error
        if done.rowcount == 0:
            raise ProjectNotFound(str(project.id))

    async def page(
        self, caller: Principal, *, archived: bool, after: str | None, limit: int
    ) -> Sequence[Project]:
        last = None if after is None else _parsed(after)
        if after is not None and last is None:
            return []
        asked = {
            **cleared(caller),
            "archived": archived,
            "after": None if last is None else last.value,
            "limit": limit,
        }
        [rows] = await self._transactions.looked_up(caller, (_PAGE, asked))
        return [project_from(row) for row in rows]


def _parsed(text: str) -> ProjectId | None:
    """None of what is no id, and so may be a name."""
    try:
        return ProjectId.parse(text)
    except InvalidId:
        return None


def _columns(caller: Principal, project: Project) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "project": project.id.value,
        "name": strip_nul(project.name),
        "description": strip_nul(project.description),
        "its_level": int(project.label.level),
        "its_compartments": sorted(project.label.compartments),
        "made_by": project.made_by.value,
        "made_at": project.made_at,
        "archived_at": project.archived_at,
    }


CONVERSATION_SEEN: Final[LiteralString] = """c.space_id = %(space)s AND c.level <= %(level)s
       AND c.compartments <@ %(compartments)s::text[]
       AND (NOT c.closed OR %(everyone)s OR portico.bridge_takes_part(c.conversation_id))"""
_CONVERSATION_COLUMNS: Final[LiteralString] = """c.conversation_id, c.project_id, c.title, c.level,
           c.compartments, c.closed, c.made_by, c.made_at, c.archived_at"""
_CONVERSATION_ADD: Final[LiteralString] = f"""
    SELECT portico.bridge_open(%(conversation)s, %(project)s, %(title)s, %(its_level)s::smallint,
               %(its_compartments)s::text[], %(closed)s, %(made_at)s, {CLEAR}) AS outcome
"""
_CONVERSATION_GET: Final[LiteralString] = f"""
    SELECT {_CONVERSATION_COLUMNS}, a.active_at FROM portico.conversation c
      JOIN portico.bridge_active(NULL, ARRAY[%(conversation)s::uuid], {WALL}) a
           USING (conversation_id)
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
"""
_CONVERSATION_PUT: Final[LiteralString] = f"""
    UPDATE portico.conversation c SET title = %(title)s, archived_at = %(archived_at)s
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
    RETURNING c.conversation_id
"""
_CONVERSATION_PAGE: Final[LiteralString] = f"""
    WITH listed AS (
        SELECT {_CONVERSATION_COLUMNS}, a.active_at
          FROM portico.conversation c
          JOIN portico.bridge_active(%(project)s::uuid, NULL, {WALL}) a USING (conversation_id)
         WHERE {CONVERSATION_SEEN}
    )
    SELECT * FROM listed
     WHERE (archived_at IS NOT NULL) = %(archived)s
       AND (%(project)s::uuid IS NULL OR project_id = %(project)s::uuid)
       AND (%(after)s::uuid IS NULL OR (active_at, conversation_id) < (
            SELECT active_at, conversation_id FROM listed WHERE conversation_id = %(after)s::uuid))
     ORDER BY active_at DESC, conversation_id DESC LIMIT %(limit)s
"""
_SOME: Final[LiteralString] = f"""
    SELECT {_CONVERSATION_COLUMNS}, a.active_at FROM portico.conversation c
      JOIN portico.bridge_active(NULL, %(conversations)s::uuid[], {WALL}) a USING (conversation_id)
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = ANY (%(conversations)s::uuid[])
     ORDER BY a.active_at DESC, c.conversation_id DESC
"""
_THERE: Final[LiteralString] = f"""
    SELECT c.conversation_id FROM portico.conversation c
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
"""
_PARTICIPANTS: Final[LiteralString] = f"""
    SELECT t.principal_id, p.name, t.joined_at,
           t.muted AND t.principal_id = %(principal)s AS muted
      FROM portico.conversation c
      JOIN portico.participant t USING (space_id, conversation_id)
      JOIN portico.principal p USING (space_id, principal_id)
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
     ORDER BY t.joined_at, t.principal_id
"""
_JOIN: Final[LiteralString] = f"""
    SELECT portico.bridge_join(%(conversation)s, %(who)s, %(at)s, {WALL}) AS outcome
"""
_OF_THEM: Final[LiteralString] = f"""t.space_id = %(space)s AND t.principal_id = %(who)s
       AND t.conversation_id IN ({_THERE})"""
_LEAVE: Final[LiteralString] = f"""
    DELETE FROM portico.participant t WHERE {_OF_THEM} RETURNING t.principal_id
"""
_MUTE: Final[LiteralString] = f"""
    UPDATE portico.participant t SET muted = %(muted)s WHERE {_OF_THEM} RETURNING t.principal_id
"""


class PostgresConversations:
    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    async def add(self, caller: Principal, conversation: Conversation) -> None:
        values = {
            **cleared(caller),
            "conversation": conversation.id.value,
            "project": conversation.project.value,
            "title": strip_nul(conversation.title),
            "its_level": int(conversation.label.level),
            "its_compartments": sorted(conversation.label.compartments),
            "closed": conversation.closed,
            "made_at": conversation.made_at,
        }
        [[row]] = await self._transactions.looked_up(caller, (_CONVERSATION_ADD, values))
        if row["outcome"] == "not_found":
            raise ProjectNotFound(str(conversation.project))
        if row["outcome"] == "write_down":
            raise WriteDown(conversation.label, await mark_of(self._transactions, caller))

    async def get(self, caller: Principal, conversation: ConversationId) -> Conversation:
        [rows] = await self._transactions.looked_up(
            caller, (_CONVERSATION_GET, _which(caller, conversation))
        )
        if not rows:
            raise ConversationNotFound(str(conversation))
        return conversation_from(rows[0])

    async def put(self, caller: Principal, conversation: Conversation) -> None:
        values = {
            **_which(caller, conversation.id),
            "title": strip_nul(conversation.title),
            "archived_at": conversation.archived_at,
        }
        async with no_write_down(self._transactions, caller, conversation.label):
            [rows] = await self._transactions.looked_up(caller, (_CONVERSATION_PUT, values))
        if not rows:
            raise ConversationNotFound(str(conversation.id))

    async def page(
        self,
        caller: Principal,
        project: ProjectId | None,
        *,
        archived: bool,
        after: str | None,
        limit: int,
    ) -> Sequence[Conversation]:
        try:
            last = None if after is None else ConversationId.parse(after).value
        except InvalidId:
            return []
        asked = {
            **cleared(caller),
            "project": None if project is None else project.value,
            "archived": archived,
            "after": last,
            "limit": limit,
        }
        [rows] = await self._transactions.looked_up(caller, (_CONVERSATION_PAGE, asked))
        return [conversation_from(row) for row in rows]

    async def some(
        self, caller: Principal, conversations: Collection[ConversationId]
    ) -> Sequence[Conversation]:
        asked = {**cleared(caller), "conversations": [its.value for its in conversations]}
        [rows] = await self._transactions.looked_up(caller, (_SOME, asked))
        return [conversation_from(row) for row in rows]

    async def participants(
        self, caller: Principal, conversation: ConversationId
    ) -> Sequence[Participant]:
        asked = _which(caller, conversation)
        there, rows = await self._transactions.looked_up(
            caller, (_THERE, asked), (_PARTICIPANTS, asked)
        )
        if not there:
            raise ConversationNotFound(str(conversation))
        return [
            Participant(
                principal=PrincipalId(row["principal_id"]),
                name=row["name"],
                joined_at=row["joined_at"],
                muted=row["muted"],
            )
            for row in rows
        ]

    async def join(self, caller: Principal, conversation: ConversationId, who: PrincipalId) -> None:
        values = {**_which(caller, conversation), "who": who.value, "at": self._clock.now()}
        [[row]] = await self._transactions.looked_up(caller, (_JOIN, values))
        if row["outcome"] == "not_found":
            raise ConversationNotFound(str(conversation))
        if row["outcome"] == "nobody":
            raise PrincipalNotFound(str(who))
        if row["outcome"] == "write_down":
            its = await self.get(caller, conversation)
            raise WriteDown(its.label, await mark_of(self._transactions, caller))

    async def leave(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId
    ) -> None:
        await self._change_part(caller, conversation, _LEAVE, {"who": who.value})

    async def mute(self, caller: Principal, conversation: ConversationId, *, muted: bool) -> None:
        values: dict[str, object] = {"who": caller.id.value, "muted": muted}
        await self._change_part(caller, conversation, _MUTE, values)

    async def _change_part(
        self,
        caller: Principal,
        conversation: ConversationId,
        statement: LiteralString,
        values: dict[str, object],
    ) -> None:
        asked = {**_which(caller, conversation), **values}
        there, changed = await self._transactions.looked_up(
            caller, (_THERE, asked), (statement, asked)
        )
        if not there:
            raise ConversationNotFound(str(conversation))
        if not changed:
            raise NotTakingPart(str(conversation))


def _which(caller: Principal, conversation: ConversationId) -> dict[str, object]:
    return {**cleared(caller), "conversation": conversation.value}


_PRESENCE_SEEN: Final[LiteralString] = """space_id = %(space)s AND project_id = %(project)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]"""
_PROJECT: Final[LiteralString] = f"""
    SELECT level, compartments FROM portico.project WHERE {_PRESENCE_SEEN}
"""
_SAY: Final[LiteralString] = """
    INSERT INTO portico.presence (space_id, project_id, principal_id, level, compartments, doing,
                                  note, until)
    VALUES (%(space)s, %(project)s, %(principal)s, %(its_level)s, %(its_compartments)s, %(doing)s,
            %(note)s, %(until)s)
    ON CONFLICT (space_id, project_id, principal_id)
    DO UPDATE SET doing = excluded.doing, note = excluded.note, until = excluded.until
"""
_ALL: Final[LiteralString] = """
    SELECT n.principal_id, p.name, n.doing, n.note, n.until
      FROM portico.presence n JOIN portico.principal p USING (space_id, principal_id)
     WHERE n.space_id = %(space)s AND n.project_id = %(project)s AND n.until > %(now)s
       AND n.level <= %(level)s AND n.compartments <@ %(compartments)s::text[]
     ORDER BY p.name COLLATE "C"
"""


class PostgresPresences:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def say(
        self,
        caller: Principal,
        project: ProjectId,
        doing: PresenceStatus,
        note: str,
        until: datetime,
    ) -> None:
        values = _where(caller, project)
        [found] = await self._transactions.looked_up(caller, (_PROJECT, values))
        if not found:
            raise ProjectNotFound(str(project))
        its = found[0]
        values |= {"its_level": its["level"], "its_compartments": its["compartments"]}
        values |= {"doing": doing.value, "note": note, "until": until}
        label = as_label(its["level"], its["compartments"])
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_SAY, values)

    async def all(self, caller: Principal, project: ProjectId, now: datetime) -> Sequence[Presence]:
        values = {**_where(caller, project), "now": now}
        found, rows = await self._transactions.looked_up(caller, (_PROJECT, values), (_ALL, values))
        if not found:
            raise ProjectNotFound(str(project))
        return [
            Presence(
                principal=PrincipalId(row["principal_id"]),
                name=row["name"],
                doing=PresenceStatus(row["doing"]),
                note=row["note"],
                until=row["until"],
            )
            for row in rows
        ]


def _where(caller: Principal, project: ProjectId) -> dict[str, object]:
    return {**cleared(caller), "project": project.value}
