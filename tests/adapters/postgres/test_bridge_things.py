"""What the contracts of a project's things cannot see: what the application has no right to, how
much a row holds, and how many labels a space has: each counter has a place for each of them."""

from dataclasses import dataclass, replace
from typing import LiteralString

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge.leases import PostgresLeases
from portico.adapters.postgres.bridge.memory import PostgresAttachments, PostgresMemory
from portico.adapters.postgres.bridge.work_items import PostgresWorks
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.attachments import LARGEST, Attachment, Digest
from portico.bridge.core.errors import TooManyLabels
from portico.bridge.core.leases import LeaseId, LeaseSpec
from portico.bridge.core.memory import MOST_OF_VALUE, ToRemember
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import NewWorkItem, WorkItemId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy, TickingClock
from tests.contracts.bridge_people import FINANCE, a_project, cleared_root
from tests.contracts.bridge_talk import a_conversation, at, edited, say
from tests.contracts.doors import Doors

pytestmark = [pytest.mark.postgres]

TEAM, SECRET = Label(Level.TEAM), Label(Level.RESTRICTED)


@dataclass(frozen=True, slots=True)
class Scene:
    transactions: Transactions
    root: Principal
    project: Project

    async def rows(self, statement: LiteralString) -> list[dict[str, object]]:
        values = {"space": self.root.space.value, "project": self.project.id.value}
        async with self.transactions.begin(self.root) as connection:
            return await (await connection.execute(statement, values)).fetchall()

    async def read_more(self) -> None:
        contexts = PostgresTaskContexts(self.transactions, TickingClock())
        await contexts.raise_taint(self.root, SECRET, untrusted=False)


@pytest.fixture
async def scene(doors: Doors, transactions: Transactions) -> Scene:
    root = replace(await doors.founded("home"), clearance=SECRET)
    return Scene(transactions, root, await a_project(doors, root))


NOBODYS: list[LiteralString] = [
    "SELECT token FROM portico.project",
    "UPDATE portico.project SET token = 0",
    "UPDATE portico.memory SET value = '1'",
    "DELETE FROM portico.memory",
    "UPDATE portico.attachment SET name = 'x'",
    "UPDATE portico.lease SET principal_id = principal_id",
    "UPDATE portico.work_item SET level = 0",
]


async def test_some_things_are_nobodys_to_change(scene: Scene) -> None:
    for statement in NOBODYS:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await scene.rows(statement)


async def test_from_a_higher_task_no_token_is_given(scene: Scene) -> None:
    given: LiteralString = "SELECT portico.bridge_next_token(%(project)s) AS token"
    assert await scene.rows(given) == [{"token": 1}]

    await scene.read_more()

    assert await scene.rows(given) == [{"token": None}]


async def test_the_database_by_itself_lets_no_higher_task_change_what_others_see(
    scene: Scene,
) -> None:
    ids, works = SeededEntropy("ids"), PostgresWorks(scene.transactions)
    wish = LeaseSpec(project=scene.project.id, resource="src")
    await PostgresLeases(scene.transactions).take(scene.root, LeaseId.mint(BEGINNING, ids), wish)
    work = NewWorkItem(project=scene.project.id, title="Mend it")
    await works.add(scene.root, WorkItemId.mint(BEGINNING, ids), work, TEAM, BEGINNING)

    await scene.read_more()

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await scene.rows("UPDATE portico.work_item SET state = 'dropped' RETURNING work_item_id")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await scene.rows("UPDATE portico.lease SET expires_at = now() RETURNING lease_id")
    assert await scene.rows("DELETE FROM portico.lease RETURNING lease_id") == []


LONGEST: list[JsonValue] = [
    " ".join(f"{number:x}" for number in range(MOST_OF_VALUE))[:MOST_OF_VALUE],
    "a" * MOST_OF_VALUE,
    "語 " * (MOST_OF_VALUE // 2),
    [*range(18_000)],
    {f"key-{number}": {"-1.5e3": f"www.a{number}.org/x"} for number in range(2_000)},
]


async def test_the_longest_value_can_be_kept_and_looked_for(scene: Scene) -> None:
    memory = PostgresMemory(scene.transactions, TickingClock())
    for number, value in enumerate(LONGEST):
        key = f"k/word{number}"
        wanted = ToRemember(project=scene.project.id, key=key, value=value)

        await memory.put(scene.root, wanted, TEAM, BEGINNING)

        [found] = await memory.find(scene.root, scene.project.id, f"word{number}", 5)
        assert found.value == value


async def test_the_largest_attachment_can_be_kept(scene: Scene) -> None:
    content = SeededEntropy("content")(LARGEST)
    attachment = Attachment(
        digest=Digest.of(content),
        label=TEAM,
        name="large",
        media_type="application/octet-stream",
        size=LARGEST,
        by=scene.root.id,
        at=BEGINNING,
    )
    attachments = PostgresAttachments(scene.transactions)

    await attachments.put(scene.root, attachment, content)

    assert await attachments.get(scene.root, attachment.digest) == (attachment, content)


FULL = """
    INSERT INTO portico.bridge_label (space_id, number, level, compartments)
    SELECT %s, number, 3, ARRAY['c' || number] FROM generate_series(2, 8192) number
"""


async def test_one_label_more_than_there_can_be_is_refused_and_those_in_use_go_on(
    doors: Doors, embedded_database: Addresses
) -> None:
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    said = await say(doors, root, talk, "one", label=TEAM)
    with psycopg.connect(str(embedded_database.admin), autocommit=True) as admin:
        admin.execute(FULL, [root.space.value])

    with pytest.raises(TooManyLabels) as refused:
        await say(doors, root, talk, "two", label=FINANCE)
    with pytest.raises(TooManyLabels):
        await doors.messages.edit(root, edited(said.message, "three", FINANCE), at(3))

    assert refused.value.label == FINANCE
    assert (await say(doors, root, talk, "four", label=TEAM)).position == 2
