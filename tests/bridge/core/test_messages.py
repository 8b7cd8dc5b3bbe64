"""Messages: text, mentions, labels."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.activity import (
    Activity,
    Direction,
    content_of,
    good_for,
    resets,
    standing_of,
    topic_of,
)
from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation, ConversationId, Unread
from portico.bridge.core.errors import (
    AboveClearance,
    BelowContainer,
    InvalidBridgeInput,
    TooManyLabels,
    WriteDown,
    flaws_of_line,
    flaws_of_text,
    raise_if_invalid,
)
from portico.bridge.core.messages import (
    Message,
    MessageId,
    NewMessage,
    Read,
    ReplyRequest,
    check_shared,
    flaws_of_body,
    flaws_of_message,
    flaws_of_reading,
    label_again,
    label_of,
    merged,
    names_in,
    secrecy,
)
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.read_state import inbox_of
from portico.engine.core.errors import InvalidCursor
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC, Label, Level, join
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("saying")
TALK = ConversationId.mint(BEGINNING, ENTROPY)
PEOPLE = tuple(PrincipalId.mint(BEGINNING, ENTROPY) for _ in range(51))


def test_every_flaw_of_a_message_is_told_at_once() -> None:
    message = NewMessage(
        conversation=TALK,
        body="x" * 100_001,
        mentions=PEOPLE,
        addressed=PEOPLE,
        attachments=tuple(Digest.of(bytes([number])) for number in range(21)),
        key="k" * 201,
    )

    fields = [flaw.field for flaw in flaws_of_message(message)]

    assert fields == ["body", "mentions", "addressed", "attachments", "key"]


def test_as_much_as_may_be_said_may_be_said_and_acknowledged_by_those_addressed() -> None:
    message = NewMessage(
        conversation=TALK,
        body="x" * 100_000,
        mentions=PEOPLE[:50],
        addressed=PEOPLE[:50],
        attachments=tuple(Digest.of(bytes([number])) for number in range(20)),
        acknowledge=ReplyRequest(),
        key="k" * 200,
    )

    assert [*flaws_of_message(message)] == []

    message = NewMessage(conversation=TALK, body="x", acknowledge=ReplyRequest())

    assert [flaw.field for flaw in flaws_of_message(message)] == ["acknowledge"]

    assert not flaws_of_body("", empty=True)


@pytest.mark.parametrize("body", ["", " \n", "a\0b", "\ud800"])
def test_a_body_says_something_that_can_be_kept(body: str) -> None:
    assert [flaw.field for flaw in flaws_of_body(body)] == ["body"]


@pytest.mark.parametrize(
    ("conversations", "limit", "wait", "fields"),
    [
        ([], 1, None, ["conversations"]),
        ([TALK] * 2, 1, None, ["conversations"]),
        ([ConversationId.mint(BEGINNING, ENTROPY) for _ in range(17)], 1, None, ["conversations"]),
        ([TALK], 0, timedelta(seconds=61), ["limit", "wait"]),
        ([TALK], 201, timedelta(seconds=-1), ["limit", "wait"]),
        ([TALK], 200, timedelta(seconds=60), []),
    ],
)
def test_no_more_is_asked_for_at_once_than_can_be_given(
    conversations: list[ConversationId], limit: int, wait: timedelta | None, fields: list[str]
) -> None:
    found = [flaw.field for flaw in flaws_of_reading(conversations, limit=limit, wait=wait)]

    assert found == fields


@pytest.mark.parametrize("text", ["a", "Zürich 1/2", "x" * 10, "日本"])
def test_a_line_is_what_can_be_shown_in_one(text: str) -> None:
    assert flaws_of_line("name", text, most=10) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must not be empty"),
        ("x" * 11, "has 11 letters; at most 10"),
        (" a", "begins or ends with a space"),
        ("a\nb", "has letters that cannot be shown in a line"),
        ("a\0", "has letters that cannot be shown in a line"),
        ("\ud800", "has letters that cannot be shown in a line"),
        ("\u202eabc", "has letters that cannot be shown in a line"),
    ],
)
def test_a_line_that_is_none_is_told_why(text: str, told: str) -> None:
    [flaw] = flaws_of_line("name", text, most=10)

    assert (flaw.field, flaw.message) == ("name", told)


@pytest.mark.parametrize(
    ("text", "flaws"),
    [("", 0), ("a\n\tb ", 0), ("a\0", 1), ("\udfff", 1), ("x" * 10, 0), ("x" * 11, 1)],
)
def test_a_text_may_have_lines_but_nothing_that_cannot_be_kept(text: str, flaws: int) -> None:
    assert len(flaws_of_text("body", text, most=10)) == flaws


def test_all_flaws_are_told_at_once() -> None:
    raise_if_invalid([])

    with pytest.raises(InvalidBridgeInput, match=r"name: .*; body: ") as refused:
        raise_if_invalid(
            [*flaws_of_line("name", "", most=1), *flaws_of_text("body", "", least=1, most=1)]
        )

    assert [flaw.field for flaw in refused.value.field_errors] == ["name", "body"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@bob could you?", ("bob",)),
        ("Could you, @bob?\n@planner-2.", ("bob", "planner-2")),
        ("(@a.b) [@c_d] <@e> '@f' \"@g\"", ("a.b", "c_d", "e", "f", "g")),
        ("@Änne @bob @Änne", ("Änne", "bob")),
        ("bob@example.org, @ bob, @-x, @@y", ()),
        ("", ()),
    ],
)
def test_a_name_stands_after_an_at_that_stands_by_itself(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


def test_no_more_are_named_than_can_be_mentioned() -> None:
    assert len(names_in(" ".join(f"@a{number}" for number in range(60)))) == 50


MERGING_ENTROPY = SeededEntropy("merging")
TALKS = [ConversationId.mint(BEGINNING, MERGING_ENTROPY) for _ in range(3)]
ANA = a_person()


def said(conversation: ConversationId, second: int) -> Message:
    return Message(
        id=MessageId.mint(BEGINNING, MERGING_ENTROPY),
        conversation=conversation,
        sender=ANA.id,
        sender_name=ANA.name,
        body=str(second),
        label=PUBLIC,
        sent_at=BEGINNING + timedelta(seconds=second),
    )


def a_read(conversation: ConversationId, seconds: list[int], *, more: bool = False) -> Read:
    """At the places 11, 12, … after 10."""
    found = [(11 + place, said(conversation, second)) for place, second in enumerate(seconds)]
    return Read(found=found, start=10, more=more, inside=PUBLIC)


def test_the_oldest_comes_first_and_what_does_not_fit_is_for_the_next_page() -> None:
    found = merged({TALKS[0]: a_read(TALKS[0], [1, 4]), TALKS[1]: a_read(TALKS[1], [2, 3])}, 10)

    assert [message.body for message in found.messages] == ["1", "2", "3", "4"]
    assert (found.positions, found.more) == ({TALKS[0]: 12, TALKS[1]: 12}, False)

    found = merged({TALKS[0]: a_read(TALKS[0], [1, 3]), TALKS[1]: a_read(TALKS[1], [5])}, 1)

    assert [message.body for message in found.messages] == ["1"]
    assert (found.positions, found.more) == ({TALKS[0]: 11, TALKS[1]: 10}, True)

    assert merged({TALKS[0]: a_read(TALKS[0], [1], more=True)}, 10).more

    found = merged({TALKS[0]: a_read(TALKS[0], [5, 1]), TALKS[1]: a_read(TALKS[1], [3])}, 10)

    assert [message.body for message in found.messages] == ["3", "5", "1"]


@given(
    st.lists(st.lists(st.integers(0, 20), max_size=6), min_size=1, max_size=3),
    st.integers(1, 5),
)
def test_page_by_page_each_comes_once_and_in_its_order(
    seconds: list[list[int]], limit: int
) -> None:
    whole = {talk: a_read(talk, each) for talk, each in zip(TALKS, seconds, strict=False)}
    places = dict.fromkeys(whole, 10)
    heard: list[Message] = []
    more = True
    while more:
        rest = {
            talk: Read(
                found=[each for each in read.found if each[0] > places[talk]],
                start=places[talk],
                more=False,
                inside=PUBLIC,
            )
            for talk, read in whole.items()
        }
        page = merged(rest, limit)
        heard.extend(page.messages)
        places, more = dict(page.positions), page.more

    for talk, read in whole.items():
        mine = [message for message in heard if message.conversation == talk]
        assert mine == [message for _, message in read.found]


ONE, TWO, THREE = (ConversationId.mint(BEGINNING, MERGING_ENTROPY) for _ in range(3))
SECRET = Label(Level.CONFIDENTIAL)
PLACES = st.fixed_dictionaries({ONE: st.integers(0, 2**63), TWO: st.integers(0, 2**63)})


@given(PLACES)
def test_what_was_packed_is_there_again(places: dict[ConversationId, int]) -> None:
    found = standing_of([TWO, ONE], SECRET, content_of(places, SECRET))

    assert (found.places, found.reset) == (places, False)


@given(PLACES)
def test_its_length_tells_nothing_of_the_places(places: dict[ConversationId, int]) -> None:
    assert len(content_of(places, PUBLIC)) == 2 * 8 + 16


def test_a_reader_who_sees_more_or_less_by_now_begins_anew() -> None:
    content = content_of({ONE: 7}, SECRET)

    found = standing_of([ONE], PUBLIC, content)

    assert (found.places, found.reset) == ({ONE: 0}, True)


@pytest.mark.parametrize("content", [b"", b"x" * 15, content_of({ONE: 1, TWO: 1}, PUBLIC)])
def test_what_has_another_length_is_not_a_cursor_of_it(content: bytes) -> None:
    with pytest.raises(InvalidCursor):
        standing_of([ONE], PUBLIC, content)


def test_it_is_good_for_one_reader_one_way_and_these_conversations() -> None:
    ana, bob = a_person("ana"), a_person("bob")
    moved = replace(ana, space=a_space("elsewhere").id)
    contexts = {
        good_for(ana, [ONE, TWO], Direction.ON),
        good_for(bob, [ONE, TWO], Direction.ON),
        good_for(moved, [ONE, TWO], Direction.ON),
        good_for(ana, [ONE], Direction.ON),
        good_for(ana, [ONE, TWO, THREE], Direction.ON),
        good_for(ana, [ONE, TWO], Direction.BACK),
    }

    assert len(contexts) == 6
    assert good_for(ana, [TWO, ONE], Direction.ON) in contexts


FIRST, SECOND = (ConversationId.mint(BEGINNING, MERGING_ENTROPY) for _ in range(2))


def a_conversation(id_: ConversationId) -> Conversation:
    return Conversation(
        id=id_,
        project=ProjectId.mint(BEGINNING, MERGING_ENTROPY),
        title="talk",
        label=PUBLIC,
        made_by=a_person().id,
        made_at=BEGINNING,
        active_at=BEGINNING,
    )


def test_counts_are_told_with_their_conversations_and_of_what_is_hidden_none() -> None:
    unread = [
        Unread(conversation=SECOND, count=2, label=PUBLIC),
        Unread(conversation=FIRST, count=3, mentions=1, label=PUBLIC),
    ]

    found = inbox_of([a_conversation(FIRST), a_conversation(SECOND)], unread, [])

    assert [item.conversation.id for item in found.unread] == [FIRST, SECOND]
    assert [(item.count, item.mentions) for item in found.unread] == [(3, 1), (2, 0)]
    assert found.total == 5

    unread = [Unread(conversation=SECOND, count=2, label=PUBLIC)]

    assert inbox_of([a_conversation(FIRST)], unread, []).total == 0
    assert inbox_of([], unread, []).total == 0


def test_each_conversation_has_a_topic_and_ends_by_itself() -> None:
    assert topic_of(FIRST) == f"bridge:{FIRST}"
    assert resets([FIRST, SECOND]) == [
        Activity(FIRST, PUBLIC, reset=True),
        Activity(SECOND, PUBLIC, reset=True),
    ]


TEAM, LABELLING_SECRET = Label(Level.TEAM), Label(Level.CONFIDENTIAL)
LEGAL = Label(Level.CONFIDENTIAL, frozenset({"legal"}))
LABELS = st.builds(Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["a", "b"])))


def test_a_label_is_that_of_the_place_of_what_was_read_or_the_one_asked_for() -> None:
    found = label_of(None, inside=TEAM, mark=PUBLIC, clearance=LABELLING_SECRET)

    assert (found.label, found.raised) == (TEAM, False)

    found = label_of(None, inside=TEAM, mark=LEGAL, clearance=LEGAL)

    assert (found.label, found.raised) == (LEGAL, True)

    found = label_of(LEGAL, inside=TEAM, mark=PUBLIC, clearance=LEGAL)

    assert (found.label, found.raised) == (LEGAL, False)


def test_nothing_is_less_secret_than_what_was_read_or_than_its_place() -> None:
    with pytest.raises(WriteDown) as refused:
        label_of(TEAM, inside=TEAM, mark=LABELLING_SECRET, clearance=LABELLING_SECRET)

    assert (refused.value.wanted, refused.value.mark) == (TEAM, LABELLING_SECRET)

    with pytest.raises(BelowContainer):
        label_of(PUBLIC, inside=TEAM, mark=PUBLIC, clearance=LABELLING_SECRET)

    check_shared(LABELLING_SECRET, TEAM)

    with pytest.raises(WriteDown):
        check_shared(TEAM, LABELLING_SECRET)


@pytest.mark.parametrize("wanted", [None, LEGAL])
def test_nothing_is_more_secret_than_its_writer_may_read(wanted: Label | None) -> None:
    mark = LEGAL if wanted is None else PUBLIC

    with pytest.raises(AboveClearance):
        label_of(wanted, inside=TEAM, mark=mark, clearance=LABELLING_SECRET)


@given(wanted=st.none() | LABELS, inside=LABELS, mark=LABELS, clearance=LABELS)
def test_whatever_is_written_covers_what_was_read_and_where_it_is(
    wanted: Label | None, inside: Label, mark: Label, clearance: Label
) -> None:
    try:
        label = label_of(wanted, inside=inside, mark=mark, clearance=clearance).label
    except PorticoError:
        least = join([inside, mark]) if wanted is None else wanted
        assert not (least.covers(join([inside, mark])) and clearance.covers(least))
    else:
        assert label.covers(join([inside, mark]))
        assert clearance.covers(label)
        assert wanted in (None, label)


def test_what_may_have_been_written_before_keeps_the_label_that_it_had() -> None:
    assert (
        label_again(
            TEAM, inside=TEAM, mark=LABELLING_SECRET, clearance=LABELLING_SECRET, again=True
        )
        == TEAM
    )
    assert (
        label_again(
            None, inside=TEAM, mark=LABELLING_SECRET, clearance=LABELLING_SECRET, again=True
        )
        == LABELLING_SECRET
    )
    for again, clearance in ((False, LABELLING_SECRET), (True, PUBLIC)):
        with pytest.raises(WriteDown):
            label_again(TEAM, inside=TEAM, mark=LABELLING_SECRET, clearance=clearance, again=again)


def test_the_most_secret_is_always_the_same_one() -> None:
    audit = Label(Level.CONFIDENTIAL, frozenset({"audit"}))

    assert max([PUBLIC, LEGAL, audit, LABELLING_SECRET], key=secrecy) == LEGAL


def test_a_label_too_many_is_named() -> None:
    refused = TooManyLabels(Label(Level.RESTRICTED, frozenset({"finance"})))

    assert "restricted+finance" in str(refused)
    assert refused.fix is not None
