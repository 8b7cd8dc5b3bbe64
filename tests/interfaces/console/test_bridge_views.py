"""The bridge's pure functions: labels to choose from, audiences, rows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.leases import Lease, LeaseId, Waiting
from portico.bridge.core.memory import MemoryEntry
from portico.bridge.core.messages import Message, MessageId, ReplyRequest
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.read_state import Inbox, InboxItem
from portico.bridge.core.work_items import WorkItem, WorkItemId, WorkItemStatus
from portico.debate.core.questions import Cap
from portico.interfaces.console.screens.bridge.conversation import audience_of
from portico.interfaces.console.screens.bridge.messages import Reader, message_rows, reader_of
from portico.interfaces.console.screens.bridge.panes import (
    Somebody,
    choices_of,
    excerpt,
    lower_than,
    next_unread,
    overdue_rows,
)
from portico.interfaces.console.screens.bridge.project import (
    budget_row,
    lease_rows,
    memory_rows,
    work_rows,
)
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import PrincipalKind

NOW = datetime(2026, 11, 14, 12, 0, tzinfo=UTC)
TEAM, CONFIDENTIAL = Label.parse("team"), Label.parse("confidential")
ANA, BOB, SCOUT = (PrincipalId.of_digest(name.encode()) for name in ("ana", "bob", "scout"))
PROJECT = ProjectId.of_digest(b"p")


def conversation(name: str, label: Label = TEAM) -> Conversation:
    return Conversation(
        id=ConversationId.of_digest(name.encode()),
        project=PROJECT,
        title=name,
        label=label,
        made_by=ANA,
        made_at=NOW,
        active_at=NOW,
    )


def message(text: str, by: PrincipalId = BOB, after: int = 0, **more: object) -> Message:
    its = Message(
        id=MessageId.of_digest(f"{text}{after}".encode()),
        conversation=ConversationId.of_digest(b"c"),
        sender=by,
        sender_name="bob" if by == BOB else "ana",
        body=text,
        label=TEAM,
        sent_at=NOW + timedelta(minutes=after),
    )
    return replace(its, **more)  # type: ignore[arg-type] # as a test names them


READER = Reader(me=ANA, writes=True, manages=False, names={ANA: "ana", BOB: "bob"})


@pytest.mark.parametrize(
    ("inside", "read", "clearance", "offered"),
    [
        ("team", "public", "confidential", ["team", "confidential"]),
        ("team", "confidential", "confidential", ["confidential"]),
        ("team", "restricted", "confidential", []),
        ("public", "public", "public", ["public"]),
        ("team", "team", "team+legal", ["team", "team+legal"]),
        (
            "team+legal",
            "public",
            "confidential+legal",
            ["team+legal", "confidential+legal"],
        ),
    ],
)
def test_labels_go_from_what_was_read_to_what_the_writer_may_read(
    inside: str, read: str, clearance: str, offered: list[str]
) -> None:
    found = choices_of(Label.parse(inside), Label.parse(read), Label.parse(clearance))

    assert [*map(str, found)] == offered


@pytest.mark.parametrize(
    ("label", "inside", "offered"),
    [
        ("confidential", "team", ["team"]),
        ("team", "team", []),
        ("restricted", "public", ["public", "team", "confidential"]),
        ("team+legal", "team", ["team"]),
    ],
)
def test_a_copy_is_less_secret_and_no_less_than_where_it_is(
    label: str, inside: str, offered: list[str]
) -> None:
    found = lower_than(Label.parse(label), Label.parse(inside))

    assert [*map(str, found)] == offered


def person(id_: PrincipalId, name: str, clearance: Label, *, gone: bool = False) -> Somebody:
    return Somebody(id_, name, PrincipalKind.PERSON, clearance, gone)


def taking_part(*who: PrincipalId) -> list[Participant]:
    return [Participant(principal=each, name="x", joined_at=NOW) for each in who]


def test_an_audience_names_who_is_cleared_and_counts_the_others() -> None:
    company = {ANA: person(ANA, "ana", CONFIDENTIAL), BOB: person(BOB, "bob", TEAM)}
    people = taking_part(ANA, BOB)

    low = audience_of(TEAM, people, company, me=ANA, closed=False)
    high = audience_of(CONFIDENTIAL, people, company, me=ANA, closed=False, addressed=[BOB])

    assert (low.names, low.not_cleared, low.missed) == (("bob",), 0, ())
    assert (high.names, high.not_cleared, high.missed) == ((), 1, ("bob",))


def test_who_is_not_to_be_known_is_neither_named_nor_counted() -> None:
    company = {ANA: person(ANA, "ana", TEAM), BOB: person(BOB, "bob", TEAM, gone=True)}

    seen = audience_of(TEAM, taking_part(ANA, BOB, SCOUT), company, me=ANA, closed=True)
    blind = audience_of(TEAM, taking_part(ANA, BOB, SCOUT), None, me=ANA, closed=True)

    assert (seen.names, seen.more, seen.not_cleared, seen.known) == ((), 0, 0, True)
    assert (blind.names, blind.more, blind.not_cleared, blind.known) == ((), 0, 0, False)


def test_the_next_unread_comes_after_the_one_that_is_open() -> None:
    first, second = conversation("first"), conversation("second")
    items = [InboxItem(conversation=each, count=1) for each in (first, second)]
    inbox = Inbox(unread=items, overdue=[], total=2)
    alone = Inbox(unread=items[:1], overdue=[], total=1)

    assert next_unread(inbox, None) == first
    assert next_unread(inbox, str(first.id)) == second
    assert next_unread(inbox, str(second.id)) == first
    assert next_unread(alone, str(first.id)) is None


def test_what_is_overdue_is_owed_or_waited_for() -> None:
    inside = conversation("c")
    asked = message("have it?", BOB, acknowledge=ReplyRequest(until=NOW), addressed=(ANA,))
    own = message("and you?", ANA, acknowledge=ReplyRequest(until=NOW), addressed=(BOB,))
    where = {asked.conversation: inside}

    rows = overdue_rows([asked, own], where, ANA)

    assert [row.mine for row in rows] == [True, False]
    assert overdue_rows([asked], {}, ANA) == ()


def test_messages_are_grouped_by_sender_and_by_day() -> None:
    said = [message("a"), message("b", after=1), message("c", after=60), message("d", after=1500)]

    rows = message_rows(said, READER)

    assert [row.follows for row in rows] == [False, True, False, False]
    assert [bool(row.day) for row in rows] == [True, False, False, True]
    assert message_rows(said[:1], READER, day=rows[0].date)[0].day == ""


def test_the_line_stands_above_the_first_that_is_unread() -> None:
    gone = message("gone", after=2, deleted_at=NOW, body="")
    mine = message("mine", ANA, after=3)
    said = [message("a"), message("b", after=1), gone, mine, message("c", after=4)]

    rows = message_rows(said, READER, unread=2)

    assert [row.first_unread for row in rows] == [False, True, False, False, False]


def test_what_one_may_do_depends_on_who_said_it() -> None:
    mine, theirs = message("mine", ANA), message("theirs", BOB)
    manager = replace(READER, manages=True)
    silent = replace(READER, writes=False)

    def can(reader: Reader) -> list[tuple[bool, bool]]:
        return [(row.can_edit, row.can_delete) for row in message_rows([mine, theirs], reader)]

    assert can(READER) == [(True, True), (False, False)]
    assert can(manager) == [(True, True), (False, True)]
    assert can(silent) == [(False, False), (False, False)]


def test_long_messages_are_shown_by_their_beginning_and_the_newest_first_get_room() -> None:
    said = [message(f"{n} " + "word " * 800, after=n) for n in range(10)]

    rows = message_rows([*said, message("x" * 20_000, after=11)], READER)

    whole = [row for row in rows if row.text is not None]
    assert rows[-1].text is None
    assert 1 <= len(whole) < 10
    assert whole[-1] is rows[-2]
    assert sum(len(row.text or "") + len(row.beginning) for row in rows) < 22_000


def test_names_of_those_who_are_not_known_are_not_told() -> None:
    reader = reader_of(ANA, {}, taking_part(BOB), writes=True, manages=False)
    [row] = message_rows([message("hi", addressed=(SCOUT, BOB))], reader)

    assert row.to == ("x",)


def test_an_excerpt_is_one_line() -> None:
    assert excerpt("a\n  b") == "a b"
    assert len(excerpt("a" * 500)) == 160


def test_a_lease_tells_who_waits_for_a_part_of_it() -> None:
    lease = Lease(
        id=LeaseId.of_digest(b"l"),
        project=PROJECT,
        resource="src/**",
        holder=ANA,
        holder_name="ana",
        token=1,
        taken_at=NOW,
        expires_at=NOW + timedelta(minutes=10),
    )
    queue = [
        Waiting(principal=BOB, name="bob", resource="src/cart.py", since=NOW, until=NOW),
        Waiting(principal=SCOUT, name="scout", resource="docs/**", since=NOW, until=NOW),
    ]

    [row] = lease_rows([lease], queue, ANA, NOW + timedelta(minutes=5))

    assert (row.mine, row.left, row.waiting) == (True, 0.5, ("bob",))


def test_a_value_is_text_or_json_and_its_writer_named_if_known() -> None:
    kept = MemoryEntry(
        project=PROJECT, key="k", value={"a": 1}, label=TEAM, version=2, by=BOB, at=NOW
    )

    [known] = memory_rows([kept], {BOB: person(BOB, "bob", TEAM)})
    [unknown] = memory_rows([replace(kept, value="w" * 900)], None)

    assert (known.value, known.by) == ('{ "a": 1 }', "bob")
    assert (unknown.by, unknown.long) == ("", True)


@pytest.mark.parametrize(
    ("state", "by", "read", "can"),
    [
        (WorkItemStatus.OPEN, None, TEAM, "claim"),
        (WorkItemStatus.OPEN, None, CONFIDENTIAL, "barred"),
        (WorkItemStatus.CLAIMED, ANA, TEAM, "end"),
        (WorkItemStatus.CLAIMED, BOB, TEAM, ""),
        (WorkItemStatus.DONE, ANA, TEAM, ""),
    ],
)
def test_work_is_claimed_once_and_by_nobody_who_has_read_more(
    state: WorkItemStatus, by: PrincipalId | None, read: Label, can: str
) -> None:
    work = WorkItem(
        id=WorkItemId.of_digest(b"w"),
        project=PROJECT,
        title="t",
        label=TEAM,
        state=state,
        claimed_by=by,
        made_by=BOB,
        made_at=NOW,
        changed_at=NOW,
    )

    [row] = work_rows([work], ANA, read, writes=True)

    found = {"claim": row.can_claim, "end": row.mine, "barred": row.barred}
    assert [name for name, may in found.items() if may] == ([can] if can else [])


@pytest.mark.parametrize(
    ("cap", "share"),
    [
        (Cap(), None),
        (Cap(tokens=200), 0.5),
        (Cap(tokens=200, money=Decimal(1)), 0.75),
        (Cap(tokens=0), 1.0),
    ],
)
def test_a_budget_is_as_full_as_its_fuller_part(cap: Cap, share: float | None) -> None:
    spent = Cost(tokens=Tokens(100), money=Decimal("0.75"))

    assert budget_row(cap, spent).share == share
