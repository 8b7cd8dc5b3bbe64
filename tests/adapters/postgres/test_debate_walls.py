"""Two walls around debates, each of which stops everything alone: the first in every statement, the
second in the tables and in what the functions of the database look at."""

from collections.abc import AsyncIterator
from datetime import timedelta

import psycopg
import pytest

from portico.adapters.postgres import bridge_walls
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import system_entropy
from portico.bridge.core.project import Project
from portico.debate.core.debate import Debate, DebateStatus
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.rules import Cap
from portico.kernel.budget import NOTHING
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING
from tests.adapters.postgres.debate_town import DEBATE_TABLES
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, a_project, cleared_root, joined
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
from tests.contracts.doors import Doors, postgres_doors

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

MUCH_LATER = BEGINNING + timedelta(days=999)

_SEES_ALL = """
    CREATE OR REPLACE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[])
        RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true'
"""


def second_wall_down(addresses: Addresses) -> None:
    with psycopg.connect(str(addresses.owner), autocommit=True) as owner:
        for table in DEBATE_TABLES:
            owner.execute(f"ALTER TABLE portico.{table} DISABLE ROW LEVEL SECURITY".encode())
        owner.execute(_SEES_ALL)


def first_wall_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_is_hidden(_caller: Principal) -> tuple[Label, bool]:
        return SECRET, True

    monkeypatch.setattr(bridge_walls, "first_wall", nothing_is_hidden)


@pytest.fixture
async def doors(embedded_database: Addresses) -> AsyncIterator[Doors]:
    bus = PostgresBus(embedded_database.app, system_entropy)
    async with open_pool(embedded_database.app, 3) as pool:
        yield postgres_doors(Transactions(pool), bus, bus)


async def held(doors: Doors, root: Principal, project: Project) -> list[Debate]:
    """What a low reader may read, and what they may not: it is above them, or another's."""
    debates = [
        a_debate(root, "open", project=str(project.id), private=False),
        a_debate(root, "high", project=str(project.id), private=False, label=FINANCE, guests=1),
        a_debate(root, "own", project=str(project.id)),
    ]
    for debate in debates:
        await doors.debates.begin(root, debate)
        await doors.debates.note(root, debate.id, said(), debate.label)
        await doors.debates.note(root, debate.id, said(BERT), debate.label)
        await doors.purse.reserve(root, debate.id, "said", cost(10))
        await doors.outcomes.mark(root, an_outcome(root, debate))
    high = debates[1]
    await doors.debates.join(root, high.id, a_guest(root))
    await doors.seats.ask(root, high.id, an_ask(a_guest(root), label=FINANCE))
    await doors.seats.answer(root, high.id, "said:1", a_reply())
    return debates


async def told(
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
@pytest.mark.parametrize("down", ["none", "first", "second"])
async def test_one_wall_alone_hides_what_is_above_and_what_is_private(
    doors: Doors, embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch, down: str
) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    debates = await held(doors, root, project)

    if down == "first":
        first_wall_down(monkeypatch)
    elif down == "second":
        second_wall_down(embedded_database)

    assert await told(doors, low, project, debates) == [
        [debates[0].id],
        1,
        Cap(),
        cost(10) + cost(10),
        TEAM,
    ]


async def test_with_both_down_it_is_seen_so_these_are_the_walls(
    doors: Doors, embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    debates = await held(doors, root, project)

    first_wall_down(monkeypatch)
    second_wall_down(embedded_database)

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
