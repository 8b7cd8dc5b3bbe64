"""What is forgotten in time: what is over for long goes with all that is beside it, what is on or
young stays, and what people have written is kept for ever unless somebody says otherwise."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import LiteralString

import psycopg
import pytest

from portico.adapters.cross_domain.event_sinks import talk_topic as agent_topic
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.debate.mapping import talk_topic
from portico.adapters.postgres.engine.event_log import EventMonths
from portico.adapters.postgres.engine.retention import PostgresRetention
from portico.adapters.postgres.gateway.results import PostgresResults
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.clock import SystemClock
from portico.agents.core.errors import AgentRunNotFound
from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import AttachmentNotFound, MemoryNotFound, MessageNotFound
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.messages import NewMessage
from portico.bridge.core.projects import ProjectId
from portico.bridge.ports import Stamp
from portico.debate.core.debates import Debate, DebateId, DebateStatus
from portico.engine.core.errors import TopicNotFound
from portico.engine.core.event_log import NewEntry
from portico.engine.core.retention import Keep
from portico.gateway.core.calls import Call, CallId, ResultId, StoredResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.guard.core.approvals import Outcome
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.learning.core.observation import Count, CountKey
from portico.learning.core.tool_graph import EdgeKind, Sightings, ToolEdge
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.gateway import a_server
from portico.testing.learning import a_past_plan, a_suggestion
from portico.testing.memory_store import SeededEntropy
from portico.testing.secrets import MemoryVault
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, bodies, edited, message_id
from tests.contracts.debate_table import a_debate, cost, said
from tests.contracts.doors import Doors
from tests.guard.approvals import an_act, an_approval, approved

pytestmark = [pytest.mark.postgres]

NOW = SystemClock().now()
MONTH = timedelta(days=30)
LONG_AGO = NOW - timedelta(days=91)
ENTROPY = SeededEntropy("retention")
MONTHS: LiteralString = "SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass"
OLD_MONTH: LiteralString = "PARTITION OF {0} FOR VALUES FROM ('2020-01-01Z') TO ('2020-02-01Z')"


@pytest.fixture
async def root(doors: Doors) -> Principal:
    return await cleared_root(doors)


@pytest.fixture
def owner(embedded_database: Addresses) -> Iterator[psycopg.Connection]:
    with psycopg.connect(str(embedded_database.owner), autocommit=True) as connection:
        yield connection


def ago(days: float) -> timedelta:
    return timedelta(days=days)


class Talk:
    """A conversation in which things were said so many days ago."""

    def __init__(self, doors: Doors, root: Principal, where: Conversation) -> None:
        self.doors, self.root, self.where = doors, root, where

    async def say(
        self, body: str, days: int, *, label: Label = TEAM, attached: tuple[Digest, ...] = ()
    ) -> None:
        stamp = Stamp(id=message_id(body), label=label, at=NOW - ago(days))
        said = NewMessage(
            conversation=self.where.id, body=body, mentions=(self.root.id,), attachments=attached
        )
        await self.doors.messages.send(self.root, said, stamp)

    async def read(self, who: Principal) -> list[str]:
        return await bodies(self.doors, who, self.where)


@pytest.fixture
async def talk(doors: Doors, root: Principal) -> Talk:
    project = await a_project(doors, root)
    return Talk(doors, root, await a_conversation(doors, root, project))


async def test_old_messages_go_and_the_counts_stay_exact(
    doors: Doors, root: Principal, talk: Talk, retention: PostgresRetention
) -> None:
    where, keep = talk.where, Keep(messages=MONTH)
    ana, bob = [await joined(doors, root, name, FINANCE) for name in ("ana", "bob")]
    for who in (ana, bob):
        await doors.conversations.join(who, where.id, who.id)
    for number, (days, label) in enumerate([(5000, TEAM), (60, FINANCE), (40, TEAM), (1, TEAM)]):
        await talk.say(f"number {number}", days, label=label)
    second = (await doors.messages.get(root, message_id("number 1"))).message
    await doors.messages.edit(root, edited(second, "x"), NOW)
    await doors.messages.acknowledge(ana, message_id("number 0"), NOW)
    await doors.read_state.read_to(ana, where.id, 2)
    await doors.read_state.read_one(bob, message_id("number 2"))
    assert (await retention.forget(Keep())).messages == 0

    assert (await retention.forget(keep)).messages == 3

    assert await talk.read(ana) == ["number 3"]
    with pytest.raises(MessageNotFound):
        await doors.messages.versions(root, message_id("number 1"))
    for who in (ana, bob):
        [unread] = await doors.read_state.unread(who)
        assert (unread.count, unread.label) == (1, TEAM)
    await talk.say("and on", 0)
    assert (await doors.messages.get(root, message_id("and on"))).position == 5
    await doors.read_state.read_to(ana, where.id, 5)
    assert await doors.read_state.unread(ana) == []
    assert (await retention.forget(keep)).messages == 0


async def test_an_attachment_goes_with_the_last_message_that_has_it(
    doors: Doors, root: Principal, talk: Talk, retention: PostgresRetention
) -> None:
    digests = []
    for content in (b"gone", b"used", b"young"):
        attachment = Attachment(
            digest=Digest.of(content),
            label=TEAM,
            name="a.txt",
            media_type="text/plain",
            size=len(content),
            by=root.id,
            at=NOW if content == b"young" else LONG_AGO,
        )
        await doors.attachments.put(root, attachment, content)
        digests.append(attachment.digest)
    await talk.say("old", 90, attached=(digests[0], digests[1]))
    await talk.say("new", 1, attached=(digests[1],))

    gone = await retention.forget(Keep(messages=MONTH))

    assert (gone.messages, gone.attachments) == (1, 1)
    with pytest.raises(AttachmentNotFound):
        await doors.attachments.get(root, digests[0])
    for kept in digests[1:]:
        assert (await doors.attachments.get(root, kept))[0].digest == kept


class Memories:
    """What is remembered in a project so many days ago."""

    def __init__(self, doors: Doors, root: Principal, project: ProjectId) -> None:
        self.memory, self.root, self.project = doors.memory, root, project

    async def put(
        self, key: str, value: str, days: int, *, label: Label = TEAM, expires: int | None = None
    ) -> None:
        until = None if expires is None else NOW - ago(expires)
        wanted = ToRemember(project=self.project, key=key, value=value, expires_at=until)
        await self.memory.put(self.root, wanted, label, NOW - ago(days))

    async def forget(self, key: str, days: int) -> None:
        await self.memory.forget(self.root, self.project, key, TEAM, NOW - ago(days))

    async def all(self, *keys: str) -> Mapping[str, list[object]]:
        found = {key: await self.memory.versions(self.root, self.project, key, 50) for key in keys}
        return {key: [each.value for each in versions] for key, versions in found.items()}


async def test_what_a_project_remembered_before_or_has_forgotten_goes_and_the_last_stays(
    doors: Doors, root: Principal, retention: PostgresRetention
) -> None:
    kept = Memories(doors, root, (await a_project(doors, root)).id)
    for value, days in (("one", 5000), ("two", 60), ("three", 20), ("four", 10)):
        await kept.put("plan", value, days)
    await kept.put("old", "as ever", 900)
    await kept.put("plan", "apart", 900, label=FINANCE)
    await kept.put("gone", "one", 90)
    await kept.put("gone", "two", 80)
    await kept.forget("gone", 60)
    await kept.put("just", "one", 90)
    await kept.forget("just", 10)
    await kept.put("expired", "one", 90, expires=60)
    await kept.put("expiring", "one", 90, expires=10)
    assert (await retention.forget(Keep())).memory == 0

    assert (await retention.forget(Keep(memory=MONTH))).memory == 5

    assert await kept.all("plan", "old", "gone", "just", "expired", "expiring") == {
        "plan": ["apart", "four", "three", "two"],
        "old": ["as ever"],
        "gone": [],
        "just": [None, "one"],
        "expired": [],
        "expiring": ["one"],
    }
    assert (await retention.forget(Keep(memory=MONTH))).memory == 0
    with pytest.raises(MemoryNotFound):
        await doors.memory.get(root, kept.project, "just")


async def test_debates_that_are_long_over_go_with_their_parts_and_what_was_told_of_them(
    doors: Doors, root: Principal, retention: PostgresRetention
) -> None:
    async def held(name: str, days: int | None, part_of: DebateId | None = None) -> Debate:
        """One that was over so many days ago, or is still on."""
        debate = a_debate(root, name, part_of=part_of)
        await doors.debates.add(root, debate)
        await doors.debates.note(root, debate.id, said(), TEAM)
        await doors.purse.reserve(root, debate.id, "said", cost(1))
        told = NewEntry(topic=talk_topic(debate.id), type="standing", label=TEAM, topic_label=TEAM)
        await doors.event_log.append(root, [told])
        if days is not None:
            at = NOW - ago(days)
            await doors.debates.end(root, debate.id, DebateStatus.STOPPED, None, at=at)
        return debate

    old, lately, running = [await held(*each) for each in (("a", 5000), ("b", 3), ("c", None))]
    part, whole = await held("part", 3, old.id), await held("whole", 40)
    await held("its part", None, whole.id)
    assert (await retention.forget(Keep())).debates == 0

    assert (await retention.forget(Keep(debates=MONTH))).debates == 2

    left = await doors.debates.page(
        root, project=None, status=None, words=None, after=None, limit=50
    )
    assert {each.id for each in left} == {lately.id, running.id, whole.id}
    for gone in (old, part):
        with pytest.raises(TopicNotFound):
            await doors.event_log.read(root, talk_topic(gone.id), after=0, limit=1)
    kept = await doors.event_log.read(root, talk_topic(lately.id), after=0, limit=9)
    assert len(kept.entries) == 1
    assert (await retention.forget(Keep(debates=MONTH))).debates == 0


async def test_old_requests_go_and_uncertain_ones_stay(
    doors: Doors, ana: Principal, retention: PostgresRetention
) -> None:
    approvals = doors.approvals
    old = an_approval(ana, "old", at=LONG_AGO)
    young = an_approval(ana, "young", act=an_act(ana, path="/b"), at=NOW)
    unknown = an_approval(ana, "unknown", act=an_act(ana, path="/c"), at=LONG_AGO)
    for each in (old, young, unknown):
        await approvals.add(ana, each, b"sealed")
    await approvals.answer(ana, approved(unknown, ana, at=LONG_AGO), LONG_AGO)
    await approvals.claim(ana, unknown.id, LONG_AGO)
    await approvals.end(ana, replace(unknown, outcome=Outcome.UNCERTAIN))

    gone = await retention.forget(Keep())

    left = await approvals.page(ana, of=None, statuses=(), before=None, now=NOW, limit=9)
    assert gone.approvals == 1
    assert {each.id for each in left} == {young.id, unknown.id}


async def test_edges_and_counts_that_were_not_seen_for_very_long_go(
    doors: Doors, ana: Principal, retention: PostgresRetention
) -> None:
    files = a_server("files")
    await doors.servers.add(ana, files)
    for name, days in (("old", 366), ("young", 364)):
        edge = ToolEdge(ToolPlace(files.id, "a"), ToolPlace(files.id, name), EdgeKind.FOLLOWS)
        key, seen = CountKey.of("follows", f'["{files.id}","{name}"]'), NOW - ago(days)
        await doors.edges.learn(ana, PUBLIC, {edge: Sightings(1, 1, seen)})
        await doors.counts.learn(ana, PUBLIC, {key: Count(1, 1, seen)})

    gone = await retention.forget(Keep())

    left = await doors.edges.known(ana, 9)
    assert (gone.edges, gone.counts) == (1, 1)
    assert [left.places[later].tool for _, later, *_ in left.edges] == ["young"]
    assert [each for each, _ in await doors.counts.known(ana, PUBLIC, 9)] == [key]


async def test_old_plans_and_suggestions_go_and_so_do_those_that_are_too_many(
    doors: Doors, ana: Principal, retention: PostgresRetention
) -> None:
    plans, suggestions, young = doors.past_plans, doors.suggestions, a_suggestion(ana, "y", at=NOW)
    await plans.learn(ana, a_past_plan(ana, "old", at=LONG_AGO))
    for minutes, intent in enumerate(("one", "two", "three")):
        await plans.learn(ana, a_past_plan(ana, intent, at=NOW - timedelta(minutes=minutes)))
    await suggestions.keep(ana, a_suggestion(ana, "old", at=LONG_AGO))
    await suggestions.keep(ana, a_suggestion(ana, "older", at=NOW - timedelta(hours=1)))
    await suggestions.keep(ana, young)

    gone = await retention.forget(Keep(most_past_plans=2, most_suggestions=1))

    assert (gone.past_plans, gone.suggestions) == (2, 2)
    assert [plan.intent for plan in await plans.latest(ana, 10, 10)] == ["one", "two"]
    assert await suggestions.latest(ana, 10) == [young]


_GOING_ON: LiteralString = """
    INSERT INTO run (space_id, run_id, principal_id, kind, fingerprint, level, clearance_level,
                     queue, status, input, created_at)
    VALUES (%(space)s, %(run)s, %(principal)s, 'agent', 'f', 1, 1, 'runs', 'waiting', '{}', %(at)s)
"""
_TOPIC: LiteralString = """
    INSERT INTO stream (space_id, topic, level, last) VALUES (%(space)s, %(topic)s, 1, 0)
"""


async def test_old_traces_go_and_those_of_runs_that_are_on_stay(
    doors: Doors, ana: Principal, transactions: Transactions, retention: PostgresRetention
) -> None:
    traces = doors.traces
    old, on, young = (
        an_agent_run(ana, number, at=at) for number, at in ((1, LONG_AGO), (2, LONG_AGO), (3, NOW))
    )
    for run in (old, on, young):
        await traces.add(ana, run, a_saying(run))
        await traces.add_turn(ana, a_turn(run))
        await traces.add_use(ana, a_use(run))
    async with transactions.begin(ana) as connection:
        values = {"space": ana.space.value, "run": on.run.value, "principal": ana.id.value}
        await connection.execute(_GOING_ON, {**values, "at": LONG_AGO})
        for run in (old, on):
            await connection.execute(_TOPIC, {**values, "topic": agent_topic(run.run)})

    assert (await retention.forget(Keep())).traces == 1

    with pytest.raises(AgentRunNotFound):
        await traces.read(ana, old.run)
    assert len((await traces.read(ana, on.run)).turns) == 1
    assert len((await traces.read(ana, young.run)).uses) == 1
    await traces.add(ana, replace(old, started_at=NOW), a_saying(old))
    again = await traces.read(ana, old.run)
    assert (again.turns, again.uses) == ((), ())
    async with transactions.begin(ana) as connection:
        topics = await (await connection.execute("SELECT topic FROM stream")).fetchall()
    assert [row["topic"] for row in topics] == [agent_topic(on.run)]


async def test_results_and_receipts_are_forgotten_once_nobody_will_ask_for_them(
    ana: Principal,
    owner: psycopg.Connection,
    transactions: Transactions,
    retention: PostgresRetention,
) -> None:
    results = PostgresResults(transactions, MemoryVault())
    old, new = (ResultId.mint(NOW, ENTROPY) for _ in range(2))
    await results.keep(ana, old, StoredResult(content="x"), NOW - timedelta(seconds=1))
    await results.keep(ana, new, StoredResult(content="y"), NOW + timedelta(hours=1))
    for key, age in {"old": 8, "new": 6}.items():
        owner.execute(
            "INSERT INTO idempotency_record (space_id, principal_id, operation, key, fingerprint,"
            " created_at) VALUES (%s, %s, 'op', %s, 'f', now() - %s)",
            [ana.space.value, ana.id.value, key, ago(age)],
        )

    gone = await retention.forget(Keep())

    assert (gone.results, gone.receipts) == (1, 1)
    assert (await results.get(ana, new, NOW)).content == "y"


async def test_calls_are_in_their_month_go_with_it_and_are_kept_as_long_as_was_wished(
    doors: Doors,
    ana: Principal,
    owner: psycopg.Connection,
    embedded_database: Addresses,
    retention: PostgresRetention,
) -> None:
    await EventMonths(str(embedded_database.owner)).migrate()
    owner.execute(f"CREATE TABLE tool_call_2020_01 {OLD_MONTH.format('tool_call')}".encode())

    async def called(*times: datetime) -> None:
        for started in times:
            call = Call(
                id=CallId.mint(started, ENTROPY),
                principal=ana.id,
                ref=ToolRef("files", "read"),
                effect=Effect.LOCAL_READ,
                pin="p",
                arguments={},
                started_at=started,
            )
            await doors.calls.record_start(ana, call)

    def count(table: LiteralString) -> int:
        row = owner.execute("SELECT count(*) FROM " + table).fetchone()
        return 0 if row is None else int(row[0])

    await called(NOW, NOW.replace(year=2020, month=1, day=3), NOW - ago(3000))
    assert count("tool_call_other") == 1
    assert owner.execute(MONTHS, ["portico.tool_call"]).fetchone() == (5,)

    gone, again = [await retention.forget(Keep()) for _ in range(2)]
    assert (gone.months, gone.calls, again.anything) == (1, 1, False)
    assert count("tool_call") == 1
    await called(NOW - ago(9), NOW - ago(20))
    assert (await retention.forget(Keep(calls=ago(10)))).calls == 1
    assert count("tool_call") == 2


async def test_old_events_are_forgotten_and_a_reader_is_told_where_to_begin(
    doors: Doors, ana: Principal, owner: psycopg.Connection, retention: PostgresRetention
) -> None:
    for number in range(4):
        await doors.event_log.append(ana, [NewEntry(topic="t", type="x", details={"n": number})])
    owner.execute("UPDATE stream SET created_at = now() - interval '100 days'")
    owner.execute("UPDATE event SET at = now() - interval '99 days' WHERE number <= 2")

    gone = await retention.forget(Keep())
    page = await doors.event_log.read(ana, "t", after=0, limit=9)

    assert gone.events == 2
    assert ([entry.number for entry in page.entries], page.first) == ([3, 4], 3)


async def test_months_are_made_ahead_and_dropped_behind(
    owner: psycopg.Connection, retention: PostgresRetention
) -> None:
    await retention.forget(Keep())
    assert owner.execute(MONTHS, ["portico.event"]).fetchone() == (4,)
    owner.execute(f"CREATE TABLE event_2020_01 {OLD_MONTH.format('event')}".encode())

    assert (await retention.forget(Keep())).months == 1


async def test_months_wait_for_a_long_reader_until_the_next_time(
    doors: Doors,
    ana: Principal,
    owner: psycopg.Connection,
    retention: PostgresRetention,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Otherwise every append would wait behind them."""
    owner.execute(f"CREATE TABLE event_2020_01 {OLD_MONTH.format('event')}".encode())
    with caplog.at_level("INFO"), owner.transaction():
        owner.execute("SELECT count(*) FROM event")
        async with asyncio.TaskGroup() as group:
            forgetting = group.create_task(retention.forget(Keep()))
            for _ in range(3):
                await doors.event_log.append(ana, [NewEntry(topic="t", type="x")])
    then = await retention.forget(Keep())

    assert (forgetting.result().months, then.months) == (0, 1)
    assert "its months are seen to the next time" in caplog.text


async def test_a_start_does_not_fail_while_somebody_reads_events(
    owner: psycopg.Connection, embedded_database: Addresses, caplog: pytest.LogCaptureFixture
) -> None:
    months = EventMonths(str(embedded_database.owner))
    owner.execute("SELECT drop_event_months(now() + interval '1 year')")
    with caplog.at_level("INFO"), owner.transaction():
        owner.execute("SELECT count(*) FROM event")
        await months.migrate()
    assert owner.execute(MONTHS, ["portico.event"]).fetchone() == (1,)

    await months.migrate()

    assert owner.execute(MONTHS, ["portico.event"]).fetchone() == (4,)
    assert "its months are made the next time" in caplog.text


def test_a_month_ends_in_utc_wherever_the_database_is(owner: psycopg.Connection) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        owner.execute(f"SET TimeZone = '{zone}'".encode())
        owner.execute(f"CREATE TABLE event_2020_01 {OLD_MONTH.format('event')}".encode())

        for before, dropped in (("2020-01-31 23:59:59Z", 0), ("2020-02-01 00:00:00Z", 1)):
            found = owner.execute("SELECT drop_event_months(%s)", [before]).fetchone()
            assert found == (dropped,)
