"""A page takes what is on it: however much is hidden in between, no more is looked at."""

import json
from dataclasses import dataclass

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge.messages import AFTER, BEFORE
from portico.adapters.postgres.bridge.visibility import cleared
from portico.adapters.postgres.transaction import SET_CONTEXT, context
from portico.bridge.core.conversations import Conversation
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import SECRET, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, say, to
from tests.contracts.doors import Doors

pytestmark = [pytest.mark.postgres]

_HIDDEN = 20_000
_MORE = """
    INSERT INTO portico.message (
        space_id, conversation_id, seq, message_id, level, compartments, label, closed, sender,
        sender_name, body, thread, sent_at)
    SELECT m.space_id, m.conversation_id, m.seq + g, gen_random_uuid(), m.level, m.compartments,
           m.label, m.closed, m.sender, m.sender_name, 'hidden', m.thread, m.sent_at
      FROM portico.message m CROSS JOIN generate_series(1, %(many)s) AS g WHERE m.body = 'secret'
"""
_ON = "UPDATE portico.conversation SET last_seq = last_seq + %(many)s"


@dataclass(frozen=True)
class Room:
    doors: Doors
    addresses: Addresses

    def hide(self) -> None:
        """As many again as secret as the last one, after it."""
        with psycopg.connect(str(self.addresses.owner), autocommit=True) as owner:
            owner.execute(_MORE, {"many": _HIDDEN})
            owner.execute(_ON, {"many": _HIDDEN})
            owner.execute("VACUUM ANALYZE")

    def looked_at(self, who: Principal, talk: Conversation, **asked: object) -> int:
        """Pages of the database, for one page of messages."""
        values = {**cleared(who), "conversation": talk.id.value, "limit": 51, **asked}
        statement = BEFORE if asked["back"] else AFTER
        with psycopg.connect(self.addresses.app) as app, psycopg.ClientCursor(app) as cursor:
            cursor.execute(SET_CONTEXT, context(who))
            for _ in range(2):  # the first one gets to know the tables, too
                cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement, values)
                [[plan]] = cursor.fetchall()
        told = json.loads(plan) if isinstance(plan, str) else plan
        return int(told[0]["Plan"]["Shared Hit Blocks"] + told[0]["Plan"]["Shared Read Blocks"])


@pytest.fixture
def room(embedded_database: Addresses, doors: Doors) -> Room:
    with psycopg.connect(str(embedded_database.owner), autocommit=True) as owner:
        owner.execute("VACUUM")  # the rows of whoever had the same copy before take room
    return Room(doors, embedded_database)


async def test_hidden_messages_make_no_page_dearer(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    first = (await say(doors, root, talk, "first")).message
    for number in range(3):
        answer = to(talk, f"answer {number}", reply_to=first.id)
        await say(doors, root, talk, message=answer)
    await say(doors, root, talk, label=SECRET, message=to(talk, "secret", reply_to=first.id))
    looks: list[dict[str, object]] = [
        {"thread": None, "place": 4, "back": False},
        {"thread": None, "place": 2**40, "back": True},
        {"thread": first.id.value, "place": 0, "back": False},
    ]
    before = [room.looked_at(low, talk, **look) for look in looks]

    room.hide()
    await say(doors, root, talk, "last")

    after = [room.looked_at(low, talk, **look) for look in looks]
    assert max(after) < max(before) + 20
    found = await doors.messages.after(low, talk.id, after=4, limit=50)
    assert [each.message.body for each in found.found] == ["last"]
    found = await doors.messages.before(low, talk.id, before=None, limit=2)
    assert [each.message.body for each in found.found] == ["answer 2", "last"]
    assert found.more
    found = await doors.messages.after(low, talk.id, after=0, limit=2, thread=first.id)
    assert [each.message.body for each in found.found] == ["answer 0", "answer 1"]
    assert found.more
