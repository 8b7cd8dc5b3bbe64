"""A talk as it is heard piece by piece, and as chat programs keep it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from portico.agents.core.conversations import (
    LeftOff,
    Question,
    Spoken,
    going_on_note,
    left_off,
    question_key,
    told_before,
    waiting_note,
    with_wishes,
    without_notes,
)
from portico.agents.core.events import TextAdded, ThoughtAdded, ToolWaits
from portico.agents.core.model_requests import Message, ModelSaid, UserSaid
from portico.kernel.ids import ApprovalId, RunId
from portico.testing.memory_store import BEGINNING, SeededEntropy


def said(text: str, offset: int = 0, *, turn: int = 1, attempt: int = 1) -> TextAdded:
    return TextAdded(turn=turn, attempt=attempt, offset=offset, text=text)


def heard(*pieces: TextAdded | ThoughtAdded) -> list[str]:
    spoken, found = Spoken(), []
    for piece in pieces:
        spoken = spoken.after(piece)
        found.append(spoken.fresh)
    return found


def test_each_piece_is_heard_once_from_where_one_comes_in() -> None:
    assert heard(said("Good "), said("day", 5)) == ["Good ", "day"]
    assert heard(said("Good "), said("Good day", 0), said("Good", 0)) == ["Good ", "day", ""]
    assert heard(said("day", 5), said("!", 8)) == ["day", "!"]
    assert heard(ThoughtAdded(turn=1, attempt=1, offset=0, text="Hm")) == ["Hm"]


def test_what_comes_after_something_unheard_is_known_to() -> None:
    spoken = Spoken().after(said("Good ", turn=2))

    assert Spoken().misses(said("day", 5))
    assert spoken.misses(said("!", 8, turn=2))
    assert not spoken.misses(said("day", 5, turn=2))
    assert not spoken.misses(said("ood ", 1, turn=2))
    assert spoken.misses(said("x", 1, turn=3))
    assert not spoken.misses(said("late", 90, turn=1))


def test_another_attempt_makes_void_what_was_heard_in_this_turn_alone() -> None:
    first = Spoken().after(said("Good "))
    second = first.after(said("Hello", attempt=2))

    assert (second.fresh, second.anew) == ("Hello", True)
    assert not second.after(said("!", 5, attempt=2)).anew

    assert not Spoken().after(said("Hello", attempt=2)).anew

    spoken = Spoken().after(said("Good ")).after(said("Hello", turn=2))

    assert (spoken.fresh, spoken.anew) == ("Hello", False)

    spoken = Spoken().after(said("Hello", attempt=2)).after(said("Good "))

    assert (spoken.fresh, spoken.anew, spoken.length) == ("", False, 5)


@given(
    st.text(min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), max_size=20),
)
def test_what_is_heard_in_all_is_what_is_said(text: str, again: list[tuple[int, int]]) -> None:
    spoken, whole = Spoken(), ""
    for offset, letter in enumerate(text):
        spoken = spoken.after(said(letter, offset))
        whole += spoken.fresh
        for start, size in again:
            told_again = text[start : min(start + size, offset + 1)]
            if told_again:
                spoken = spoken.after(said(told_again, start))
                whole += spoken.fresh

    assert whole == text


RUN = RunId.mint(BEGINNING, SeededEntropy("run"))
OTHER = RunId.mint(BEGINNING, SeededEntropy("other"))
FIRST = ApprovalId.mint(BEGINNING, SeededEntropy("first"))
SECOND = ApprovalId.mint(BEGINNING, SeededEntropy("second"))
URL = "http://127.0.0.1:3100"


def waits(approval: ApprovalId = FIRST, until: datetime | None = None) -> ToolWaits:
    return ToolWaits(turn=1, call="c1", tool="mail.send", approval=approval, expires_at=until)


NOTE = waiting_note(RUN, waits(), URL)


def test_a_note_says_what_waits_and_where_to_answer() -> None:
    until = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)

    note = waiting_note(RUN, waits(until=until), URL)

    assert "\n" not in note
    assert note.replace(str(RUN), "RUN").replace(str(FIRST), "APR") == snapshot(
        "> RUN waits for approval of mail.send until 2026-05-01 12:30 UTC: "
        "`portico approvals approve APR` (or `reject`), "
        "or POST http://127.0.0.1:3100/api/v1/approvals/APR/answer. It goes on by itself then."
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("It is done.", None),
        (f"I shall write.\n\n{NOTE}", LeftOff(RUN, FIRST)),
        (f"{NOTE}\n\n{going_on_note(RUN)}\n", LeftOff(RUN, FIRST)),
        (f"{NOTE}\nIt is sent.\n{waiting_note(RUN, waits(SECOND), URL)}", LeftOff(RUN, SECOND)),
        (f"{waiting_note(OTHER, waits(SECOND), URL)}\n{NOTE}", LeftOff(RUN, FIRST)),
        (f"{NOTE}\nIt is sent.", None),
        (going_on_note(RUN), LeftOff(RUN)),
        (f"See: {NOTE}", None),
        (NOTE.replace(str(RUN), "run_9"), None),
    ],
)
def test_an_answer_that_ends_with_a_note_left_off_there(text: str, found: LeftOff | None) -> None:
    assert left_off(text) == found


def test_a_model_is_not_given_the_notes() -> None:
    before = told_before([UserSaid("Write."), ModelSaid(f"I shall.\n\n{NOTE}"), ModelSaid(NOTE)])

    assert before == (UserSaid("Write."), ModelSaid("I shall."))
    assert without_notes("As\nit\n was ") == "As\nit\n was "


def test_wishes_are_the_users_own_words() -> None:
    said: list[Message] = [ModelSaid("Yes?"), UserSaid("Go."), UserSaid("Now.")]

    assert with_wishes([], said) == tuple(said)
    assert with_wishes(["Be brief.", "Be kind."], said) == (
        ModelSaid("Yes?"),
        UserSaid("Be brief.\n\nBe kind.\n\nGo."),
        UserSaid("Now."),
    )


def test_the_same_question_after_the_same_talk_has_the_same_key() -> None:
    said: list[Message] = [UserSaid("Good day"), ModelSaid("Yes?"), UserSaid("Go.")]

    assert question_key("clerk", said) == question_key("clerk", [*said])
    assert len({question_key("clerk", said[:n]) for n in range(4)}) == 4
    assert question_key("clerk", said) != question_key("cook", said)


@pytest.mark.parametrize(
    ("message", "only"), [("go on", True), (' "Go on!"\n', True), ("go on then", False)]
)
def test_whoever_says_go_on_says_nothing_else(message: str, *, only: bool) -> None:
    assert Question(agent="clerk", message=message, key="k").only_goes_on is only
