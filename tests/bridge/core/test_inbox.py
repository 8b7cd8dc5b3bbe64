"""What waits for somebody."""

from portico.bridge.core.conversation import Conversation, ConversationId, Unread
from portico.bridge.core.inbox import inbox_of
from portico.bridge.core.news import News, resets, topic_of
from portico.bridge.core.project import ProjectId
from portico.kernel.label import PUBLIC
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("inbox")
ONE, TWO = (ConversationId.mint(BEGINNING, ENTROPY) for _ in range(2))


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
        Unread(conversation=TWO, count=2, label=PUBLIC),
        Unread(conversation=ONE, count=3, mentions=1, label=PUBLIC),
    ]

    found = inbox_of([a_conversation(ONE), a_conversation(TWO)], unread, [])

    assert [item.conversation.id for item in found.unread] == [ONE, TWO]
    assert [(item.count, item.mentions) for item in found.unread] == [(3, 1), (2, 0)]
    assert found.total == 5

    unread = [Unread(conversation=TWO, count=2, label=PUBLIC)]

    assert inbox_of([a_conversation(ONE)], unread, []).total == 0
    assert inbox_of([], unread, []).total == 0


def test_each_conversation_has_a_topic_and_ends_by_itself() -> None:
    assert topic_of(ONE) == f"bridge:{ONE}"
    assert resets([ONE, TWO]) == [News(ONE, PUBLIC, reset=True), News(TWO, PUBLIC, reset=True)]
