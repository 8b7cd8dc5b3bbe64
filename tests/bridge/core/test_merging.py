"""What was said in several conversations, where a reader stands, and what waits for them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.activity import (
    Direction,
    News,
    content_of,
    good_for,
    resets,
    standing_of,
    topic_of,
)
from portico.bridge.core.conversations import Conversation, ConversationId, Unread
from portico.bridge.core.messages import Message, MessageId, Read, merged
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.read_state import inbox_of
from portico.engine.core.errors import BadCursor
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("merging")
TALKS = [ConversationId.mint(BEGINNING, ENTROPY) for _ in range(3)]
ANA = a_person()


def said(conversation: ConversationId, second: int) -> Message:
    return Message(
        id=MessageId.mint(BEGINNING, ENTROPY),
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
    assert (found.places, found.more) == ({TALKS[0]: 12, TALKS[1]: 12}, False)

    found = merged({TALKS[0]: a_read(TALKS[0], [1, 3]), TALKS[1]: a_read(TALKS[1], [5])}, 1)

    assert [message.body for message in found.messages] == ["1"]
    assert (found.places, found.more) == ({TALKS[0]: 11, TALKS[1]: 10}, True)

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
        places, more = dict(page.places), page.more

    for talk, read in whole.items():
        mine = [message for message in heard if message.conversation == talk]
        assert mine == [message for _, message in read.found]


ONE, TWO, THREE = (ConversationId.mint(BEGINNING, ENTROPY) for _ in range(3))
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
    with pytest.raises(BadCursor):
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


FIRST, SECOND = (ConversationId.mint(BEGINNING, ENTROPY) for _ in range(2))


def a_conversation(id_: ConversationId) -> Conversation:
    return Conversation(
        id=id_,
        project=ProjectId.mint(BEGINNING, ENTROPY),
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
        News(FIRST, PUBLIC, reset=True),
        News(SECOND, PUBLIC, reset=True),
    ]
