"""A talk with an agent as chat programs keep it: what waits is found again in the text."""

from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from portico.agents.core.chat import (
    LeftOff,
    Question,
    going_on_note,
    left_off,
    question_key,
    told_before,
    waiting_note,
    with_wishes,
    without_notes,
)
from portico.agents.core.happening import ToolWaits
from portico.agents.core.message import Message, ModelSaid, UserSaid
from portico.kernel.ids import ApprovalId, RunId
from portico.testing.kernel import BEGINNING, SeededEntropy

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
