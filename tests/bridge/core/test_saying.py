"""What somebody may say, and ask for."""

from datetime import timedelta

import pytest

from portico.bridge.core.attachment import Digest
from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.message import NewMessage, Wanted
from portico.bridge.core.saying import flaws_of_body, flaws_of_message, flaws_of_reading
from portico.kernel.ids import PrincipalId
from portico.testing.kernel import BEGINNING, SeededEntropy

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


def test_as_much_as_may_be_said_may_be_said() -> None:
    message = NewMessage(
        conversation=TALK,
        body="x" * 100_000,
        mentions=PEOPLE[:50],
        addressed=PEOPLE[:50],
        attachments=tuple(Digest.of(bytes([number])) for number in range(20)),
        acknowledge=Wanted(),
        key="k" * 200,
    )

    assert [*flaws_of_message(message)] == []


def test_only_those_can_acknowledge_to_whom_it_is_addressed() -> None:
    message = NewMessage(conversation=TALK, body="x", acknowledge=Wanted())

    assert [flaw.field for flaw in flaws_of_message(message)] == ["acknowledge"]


@pytest.mark.parametrize("body", ["", " \n", "a\0b", "\ud800"])
def test_a_body_says_something_that_can_be_kept(body: str) -> None:
    assert [flaw.field for flaw in flaws_of_body(body)] == ["body"]


def test_nothing_need_be_said_where_something_is_attached() -> None:
    assert not flaws_of_body("", empty=True)


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
