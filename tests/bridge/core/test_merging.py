"""What was said in several conversations, in one line."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.merging import Read, merged
from portico.bridge.core.message import Message, MessageId
from portico.kernel.label import PUBLIC
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy

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
