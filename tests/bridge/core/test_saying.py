"""What somebody may say and ask for, what names and texts may hold, and whom a text names."""

from datetime import timedelta

import pytest

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import BadBridgeInput, check_flaws, flaws_of_line, flaws_of_text
from portico.bridge.core.messages import (
    NewMessage,
    Wanted,
    flaws_of_body,
    flaws_of_message,
    flaws_of_reading,
    names_in,
)
from portico.kernel.ids import PrincipalId
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
        acknowledge=Wanted(),
        key="k" * 200,
    )

    assert [*flaws_of_message(message)] == []

    message = NewMessage(conversation=TALK, body="x", acknowledge=Wanted())

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
    check_flaws([])

    with pytest.raises(BadBridgeInput, match=r"name: .*; body: ") as refused:
        check_flaws(
            [*flaws_of_line("name", "", most=1), *flaws_of_text("body", "", least=1, most=1)]
        )

    assert [flaw.field for flaw in refused.value.flaws] == ["name", "body"]


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
