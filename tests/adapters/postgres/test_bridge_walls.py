"""Two walls around what is said on the bridge, each of which stops everything alone: the first in
every statement, the second in the tables and in what the functions of the database look at."""

from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from portico.adapters.postgres import bridge_walls
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import system_entropy
from portico.bridge.core.conversation import Conversation
from portico.bridge.core.errors import ConversationNotFound, MessageNotFound
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.adapters.postgres.bridge_town import BRIDGE_TABLES
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, bodies, message_id, say
from tests.contracts.doors import Doors, postgres_doors

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

_SEES_ALL = """
    CREATE OR REPLACE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[])
        RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true'
"""
_IN_ALL = """
    CREATE OR REPLACE FUNCTION portico.own_conversations() RETURNS uuid[]
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
        AS 'SELECT array_agg(conversation_id) FROM portico.conversation'
"""


def second_wall_down(addresses: Addresses) -> None:
    with psycopg.connect(str(addresses.owner), autocommit=True) as owner:
        for table in BRIDGE_TABLES:
            owner.execute(f"ALTER TABLE portico.{table} DISABLE ROW LEVEL SECURITY".encode())
        owner.execute(_SEES_ALL)
        owner.execute(_IN_ALL)


def first_wall_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_is_hidden(_caller: Principal) -> tuple[Label, bool]:
        return SECRET, True

    monkeypatch.setattr(bridge_walls, "first_wall", nothing_is_hidden)


@pytest.fixture
async def doors(embedded_database: Addresses) -> AsyncIterator[Doors]:
    bus = PostgresBus(embedded_database.app, system_entropy)
    async with open_pool(embedded_database.app, 3) as pool:
        yield postgres_doors(Transactions(pool), bus, bus)


async def told(doors: Doors, low: Principal, talk: Conversation, shut: Conversation) -> list[str]:
    """Everything that somebody is told who asks in every way there is."""
    hits = await doors.message_search.by_words(
        low, "red", project=None, conversation=None, upto=None, limit=20
    )
    found = [
        *await bodies(doors, low, talk),
        *(hit.message.body for hit in hits),
        *(
            str(its.title)
            for its in await doors.conversations.page(
                low, None, archived=False, after=None, limit=20
            )
        ),
        *(f"{its.count} of {its.label}" for its in await doors.read_state.unread(low)),
        str((await doors.conversations.get(low, talk.id)).active_at),
    ]
    for name in ("red high", "red among us"):
        with pytest.raises(MessageNotFound):
            await doors.messages.get(low, message_id(name))
        with pytest.raises(MessageNotFound):
            await doors.messages.acknowledge(low, message_id(name), talk.made_at)
    for refused in (
        doors.conversations.get(low, shut.id),
        doors.messages.after(low, shut.id, after=0, limit=9),
        doors.messages.end(low, shut.id),
        doors.conversations.join(low, shut.id, low.id),
        say(doors, low, shut, "let me in"),
    ):
        with pytest.raises(ConversationNotFound):
            await refused
    return found


@pytest.mark.requirement("bridge:walls:each-alone")
@pytest.mark.parametrize("down", ["none", "first", "second"])
async def test_one_wall_alone_hides_what_is_above_and_what_is_closed(
    doors: Doors, embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch, down: str
) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    talk = await a_conversation(doors, root, project)
    shut = await a_conversation(doors, root, project, "shut", closed=True)
    await doors.conversations.join(root, talk.id, low.id)
    await say(doors, root, talk, "red low")
    await say(doors, root, talk, "red high", label=FINANCE, minute=9)
    await say(doors, root, shut, "red among us", minute=10)
    expected = await told(doors, low, talk, shut)

    if down == "first":
        first_wall_down(monkeypatch)
    elif down == "second":
        second_wall_down(embedded_database)

    assert await told(doors, low, talk, shut) == expected
    assert expected[:2] == ["red low", "red low"]


async def test_with_both_down_it_is_seen_so_these_are_the_walls(
    doors: Doors, embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = await cleared_root(doors)
    low = replace(await joined(doors, root, "low", TEAM), clearance=TEAM)
    project = await a_project(doors, root)
    talk = await a_conversation(doors, root, project)
    shut = await a_conversation(doors, root, project, "shut", closed=True)
    await say(doors, root, talk, "red high", label=FINANCE)
    await say(doors, root, shut, "red among us", minute=2)

    first_wall_down(monkeypatch)
    second_wall_down(embedded_database)

    assert await bodies(doors, low, talk) == ["red high"]
    assert await bodies(doors, low, shut) == ["red among us"]
    hits = await doors.message_search.by_words(
        low, "red", project=None, conversation=None, upto=None, limit=20
    )
    assert len(hits) == 2


async def test_what_was_said_before_in_a_closed_one_is_not_taken_out_by_others(
    doors: Doors,
) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other")
    project = await a_project(doors, root)
    shut = await a_conversation(doors, root, project, "shut", closed=True)
    said = (await say(doors, root, shut, "red among us")).message
    await doors.messages.acknowledge(root, said.id, said.sent_at)
    await doors.messages.delete(root, said.id, said.sent_at)

    tables = [row.table async for row in doors.spaces.export(other)]

    assert "project" in tables
    assert not {"conversation", "message", "message_version", "message_ack"} & {*tables}
