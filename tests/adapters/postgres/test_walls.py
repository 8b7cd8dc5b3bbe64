"""Two walls around what is said on the bridge and in debates, each of which stops everything alone:
the first in every statement, the second in the tables and in what the functions of the database
look at."""

from datetime import timedelta

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge import visibility
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import ConversationNotFound, MessageNotFound
from portico.bridge.core.projects import Project
from portico.debate.core.debates import Debate, DebateStatus
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.questions import Cap
from portico.kernel.budget import NOTHING
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING
from tests.adapters.postgres.bridge_town import BRIDGE_TABLES
from tests.adapters.postgres.debate_town import DEBATE_TABLES
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, bodies, message_id, say
from tests.contracts.debate_table import (
    ANNA,
    BERT,
    a_debate,
    a_guest,
    a_reply,
    an_ask,
    an_outcome,
    cost,
    said,
)
from tests.contracts.doors import Doors

pytestmark = [pytest.mark.postgres]

MUCH_LATER = BEGINNING + timedelta(days=999)

_SEES_ALL = """
    CREATE OR REPLACE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[])
        RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true'
"""
_IN_ALL = """
    CREATE OR REPLACE FUNCTION portico.own_conversations() RETURNS uuid[]
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
        AS 'SELECT array_agg(conversation_id) FROM portico.conversation'
"""


class Walls:
    """What stands, and can be taken down."""

    def __init__(self, addresses: Addresses, monkeypatch: pytest.MonkeyPatch) -> None:
        self._addresses, self._monkeypatch = addresses, monkeypatch

    def down(self, which: str) -> None:
        if which in ("first", "both"):
            self._monkeypatch.setattr(visibility, "first_wall", _nothing_is_hidden)
        if which in ("second", "both"):
            with psycopg.connect(str(self._addresses.owner), autocommit=True) as owner:
                for table in (*BRIDGE_TABLES, *DEBATE_TABLES):
                    off = f"ALTER TABLE portico.{table} DISABLE ROW LEVEL SECURITY"
                    owner.execute(off.encode())
                owner.execute(_SEES_ALL)
                owner.execute(_IN_ALL)


def _nothing_is_hidden(_caller: Principal) -> tuple[Label, bool]:
    return SECRET, True


@pytest.fixture
def walls(embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch) -> Walls:
    return Walls(embedded_database, monkeypatch)


async def told_of_talk(
    doors: Doors, low: Principal, talk: Conversation, shut: Conversation
) -> list[str]:
    """Everything that somebody is told who asks in every way there is."""
    hits = await doors.message_search.by_words(
        low, "red", project=None, conversation=None, max_label=None, limit=20
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
@pytest.mark.parametrize("down", ["first", "second"])
async def test_one_wall_alone_hides_what_is_above_and_what_is_closed(
    doors: Doors, walls: Walls, down: str
) -> None:
    """With both down it is seen, so these are the walls."""
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    talk = await a_conversation(doors, root, project)
    shut = await a_conversation(doors, root, project, "shut", closed=True)
    await doors.conversations.join(root, talk.id, low.id)
    await say(doors, root, talk, "red low")
    await say(doors, root, talk, "red high", label=FINANCE, minute=9)
    await say(doors, root, shut, "red among us", minute=10)
    expected = await told_of_talk(doors, low, talk, shut)
    assert expected[:2] == ["red low", "red low"]

    walls.down(down)
    assert await told_of_talk(doors, low, talk, shut) == expected

    walls.down("both")
    assert await bodies(doors, low, talk) == ["red low", "red high"]
    assert await bodies(doors, low, shut) == ["red among us"]
    hits = await doors.message_search.by_words(
        low, "red", project=None, conversation=None, max_label=None, limit=20
    )
    assert len(hits) == 3


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


async def held(doors: Doors, root: Principal, project: Project) -> list[Debate]:
    """What a low reader may read, and what they may not: it is above them, or another's."""
    debates = [
        a_debate(root, "open", project=str(project.id), private=False),
        a_debate(root, "high", project=str(project.id), private=False, label=FINANCE, guests=1),
        a_debate(root, "own", project=str(project.id)),
    ]
    for debate in debates:
        await doors.debates.add(root, debate)
        await doors.debates.note(root, debate.id, said(), debate.label)
        await doors.debates.note(root, debate.id, said(BERT), debate.label)
        await doors.purse.reserve(root, debate.id, "said", cost(10))
        await doors.outcomes.mark(root, an_outcome(root, debate))
    high = debates[1]
    await doors.debates.join(root, high.id, a_guest(root))
    await doors.seats.ask(root, high.id, an_ask(a_guest(root), label=FINANCE))
    await doors.seats.answer(root, high.id, "said:1", a_reply())
    return debates


async def told_of_debates(
    doors: Doors, low: Principal, project: Project, debates: list[Debate]
) -> list[object]:
    """Everything that somebody is told who asks in every way there is."""
    page = await doors.debates.page(
        low, project=None, status=None, words="port", after=None, limit=50
    )
    known = await doors.outcomes.known(low, [ANNA.target], limit=50, before=MUCH_LATER)
    cap, spent, label = await doors.purse.project(low, str(project.id))
    for hidden in debates[1:]:
        for refused in (
            doors.debates.read(low, hidden.id),
            doors.debates.note(low, hidden.id, said(), TEAM),
            doors.debates.share(low, hidden.id),
            doors.debates.end(low, hidden.id, DebateStatus.STOPPED, None, at=BEGINNING),
            doors.debates.remove(low, hidden.id),
            doors.debates.join(low, hidden.id, a_guest(low)),
            doors.seats.seat(low, hidden.id),
            doors.seats.answer(low, hidden.id, "said:1", a_reply()),
            doors.purse.reserve(low, hidden.id, "b", cost(1)),
            doors.purse.settle(low, hidden.id, "said", cost(1)),
            doors.outcomes.mark(low, an_outcome(low, hidden)),
        ):
            with pytest.raises(DebateNotFound):
                await refused
        assert await doors.outcomes.of(low, hidden.id) == []
        assert await doors.purse.committed(low, hidden.id) == NOTHING
        assert await doors.purse.outstanding(low, hidden.id) == {}
        assert await doors.seats.answered(low, hidden.id, ["said:1"]) == []
    return [[each.id for each in page], len(known), cap, spent, label]


@pytest.mark.requirement("debate:walls:each-alone")
@pytest.mark.parametrize("down", ["first", "second"])
async def test_one_wall_alone_hides_debates_that_are_above_or_private(
    doors: Doors, walls: Walls, down: str
) -> None:
    """With both down they are seen, so these are the walls."""
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    debates = await held(doors, root, project)
    expected = [[debates[0].id], 1, Cap(), cost(10) + cost(10), TEAM]
    assert await told_of_debates(doors, low, project, debates) == expected

    walls.down(down)
    assert await told_of_debates(doors, low, project, debates) == expected

    walls.down("both")
    for debate in debates:
        assert len((await doors.debates.read(low, debate.id)).notes) == 2
    assert (await doors.purse.project(low, str(project.id)))[1].tokens == 30


async def test_the_application_cannot_lower_a_debate_or_write_over_a_note(
    doors: Doors, embedded_database: Addresses
) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await held(doors, root, project)

    for statement in (
        "UPDATE portico.debate SET level = 0",
        "UPDATE portico.debate SET started_by = gen_random_uuid()",
        "UPDATE portico.debate_note SET body = '{}'",
        "DELETE FROM portico.debate_note",
        "UPDATE portico.debate_reservation SET tokens = 0",
        "DELETE FROM portico.debate_spending",
        "UPDATE portico.debate_question SET answer = '{}'",
        "DELETE FROM portico.debate_outcome",
        "SELECT copy_of FROM portico.debate",
        "SELECT portico.debate_held(gen_random_uuid(), 3::smallint, '{}', true)",
        "SELECT portico.debate_forget(interval '0', 9)",
    ):
        with (
            psycopg.connect(str(embedded_database.app)) as app,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            app.execute(statement.encode())
