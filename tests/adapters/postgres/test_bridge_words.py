"""Words in PostgreSQL: going back from the newest and asking the index find the same, whoever asks,
wherever it is looked for, and whatever the database knows of how much there is."""

from collections.abc import Sequence
from itertools import product
from random import Random

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge.search import PostgresMessageSearch
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.messages import Message
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, at, say
from tests.contracts.doors import Doors

pytestmark = [pytest.mark.postgres]

SAID = 500
ONE_IN = {"always": 1, "often": 4, "sometimes": 25, "seldom": 120}
"""How many messages there are to one with the word."""
ASKED = (*ONE_IN, "never", "often sometimes", "always seldom", "often never")


async def test_both_ways_find_the_same(
    embedded_database: Addresses, transactions: Transactions, doors: Doors
) -> None:
    search = PostgresMessageSearch(transactions, str)
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project, other = await a_project(doors, root), await a_project(doors, root, "zeus")
    talks = [
        await a_conversation(doors, root, project, "open"),
        await a_conversation(doors, root, project, "shut", closed=True),
        await a_conversation(doors, root, other, "apart"),
    ]
    said = await _much(doors, root, talks)
    places = [(None, None), (project.id, None), (other.id, None), (None, talks[0].id)]

    for looked_at in (False, True):
        if looked_at:
            with psycopg.connect(str(embedded_database.owner), autocommit=True) as owner:
                owner.execute("ANALYZE portico.message")
        for who, words, limit, (its_project, its_talk) in product(
            (root, low), ASKED, (1, 7, 100), places
        ):
            hits = await search.by_words(
                who, words, project=its_project, conversation=its_talk, max_label=None, limit=limit
            )
            inside = {
                talk.id
                for talk in talks
                if its_project in (None, talk.project) and its_talk in (None, talk.id)
                if who is root or not talk.closed
            }
            seen = [each for each in said if each.conversation in inside]
            assert [hit.message.id for hit in hits] == _newest(who, words, seen, limit)


async def _much(doors: Doors, root: Principal, talks: Sequence[Conversation]) -> Sequence[Message]:
    """Two at a time; now and then one of them is deleted."""
    chance = Random(4)
    said = []
    for number in range(SAID):
        words = [word for word, many in ONE_IN.items() if number % many == 0]
        body = f"{' '.join(words)} number{number}"
        label = chance.choice([TEAM, TEAM, FINANCE, SECRET])
        talk = chance.choice(talks)
        placed = await say(doors, root, talk, body, label=label, minute=number // 2)
        if number % 30 == 7:
            await doors.messages.delete(root, placed.message.id, at(SAID))
        else:
            said.append(placed.message)
    return said


def _newest(who: Principal, words: str, said: Sequence[Message], limit: int) -> list[object]:
    """As anybody would look for them, one by one."""
    found = [
        each
        for each in said
        if who.clearance.covers(each.label) and set(words.split()) <= set(each.body.split())
    ]
    found.sort(key=lambda each: (each.sent_at, each.id.value), reverse=True)
    return [each.id for each in found[:limit]]
