"""Conversations: messages, compaction, chat."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from portico.agents.core.conversations import (
    KEPT_HEAD,
    NOT_MADE,
    Fitted,
    Question,
    ResumePoint,
    Spoken,
    TooLong,
    fit,
    for_model,
    going_on_note,
    left_off,
    lines_of_trace,
    question_key,
    tokens_of,
    tokens_of_tool,
    told_before,
    waiting_note,
    with_wishes,
    without_notes,
    words_of,
)
from portico.agents.core.events import ReasoningDelta, TextDelta, ToolCallAwaitingApproval
from portico.agents.core.model_calls import (
    Reading,
    ReportedTokens,
    Sent,
    more_room,
    reading,
    wanted_room,
)
from portico.agents.core.model_requests import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolShown,
    UserMessage,
)
from portico.agents.core.traces import WholeTrace
from portico.guard.core.authentication import as_principal
from portico.kernel.ids import ApprovalId, RunId
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.guard import an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy

LONG = "many words " * 200


def count(text: str) -> int:
    return len(text)


def a_talk() -> list[Message]:
    call = ToolCall("c1", "read", {"path": "/a"})
    again = ToolCall("c2", "read", {"path": "/b"})
    return [
        UserMessage(LONG),
        AssistantMessage(LONG, (call,)),
        ToolMessage("c1", "read", LONG),
        AssistantMessage("", (again,)),
        ToolMessage("c2", "read", LONG),
        AssistantMessage(LONG),
        UserMessage("And now?"),
    ]


def size(messages: list[Message]) -> int:
    return sum(tokens_of(message, count) for message in messages)


def fitted(messages: list[Message], room: int) -> Fitted:
    found = fit(messages, room, count)
    assert isinstance(found, Fitted)
    return found


def test_what_fits_stays_and_the_oldest_result_of_a_tool_is_shortened_first() -> None:
    talk = a_talk()

    assert fitted(talk, size(talk)) == Fitted(talk, size(talk))

    found = fitted(talk, size(talk) - 1)

    changed = [place for place in range(len(talk)) if found.messages[place] != talk[place]]
    assert changed == [2]
    assert found.shortened == 1
    assert found.messages[2] == ToolMessage(
        "c1",
        "read",
        f"{LONG[:KEPT_HEAD]}\n[The other {len(LONG) - KEPT_HEAD:,} of the {len(LONG):,} characters "
        "of this result of a tool were left out, to make room.]",
    )


def test_then_what_the_model_said_of_old_and_recent_things_last() -> None:
    talk = a_talk()
    order = []
    room = size(talk)
    while True:
        room -= 1
        found = fit(talk, room, count)
        if isinstance(found, TooLong):
            break
        changed = {p for p in range(len(talk)) if found.messages[p] != talk[p]}
        order += [place for place in changed if place not in order]
        room = found.tokens

    assert order == [2, 1, 4, 5]


def test_what_people_said_is_never_cut_and_what_a_server_wants_back_is_given_up() -> None:
    needed = fit([UserMessage(LONG), UserMessage(LONG)], 10, count)

    assert isinstance(needed, TooLong)
    assert needed.needed > 2 * len(LONG)

    talk: list[Message] = [
        AssistantMessage("Hm.", provider_data={"signature": "x" * 2_000}),
        UserMessage("Well?"),
    ]

    found = fitted(talk, 100)

    assert found.messages == [AssistantMessage("Hm."), UserMessage("Well?")]

    assert tokens_of_tool(ToolShown("a", "bb", {"type": "object"}), count) > 3 + 16


texts = st.text("ab \n", max_size=900)
messages = st.lists(
    st.one_of(
        st.builds(UserMessage, texts),
        st.builds(
            AssistantMessage,
            texts,
            st.lists(st.builds(ToolCall, st.just("c"), st.just("t"), st.just({})), max_size=2).map(
                tuple
            ),
            st.none() | st.just({"kept": "x" * 50}),
        ),
        st.builds(ToolMessage, st.just("c"), st.just("t"), texts, st.booleans()),
    ),
    max_size=12,
)


@given(messages, st.integers(0, 4_000))
def test_whatever_is_said_fits_or_is_refused_and_loses_no_word_of_people(
    said: list[Message], room: int
) -> None:
    found = fit(said, room, count)

    if isinstance(found, TooLong):
        assert found.needed > room
        return
    kept = list(found.messages)
    assert size(kept) == found.tokens <= room
    assert [type(message) for message in kept] == [type(message) for message in said]
    for before, after in zip(said, kept, strict=True):
        match before, after:
            case UserMessage(), _:
                assert after == before
            case AssistantMessage(_, calls), AssistantMessage(_, same):
                assert same == calls
            case ToolMessage(call, name, _, failed), ToolMessage(its, own, _, did):
                assert (its, own, did) == (call, name, failed)
            case _:
                raise AssertionError(after)
    assert found.shortened == sum(one != other for one, other in zip(said, kept, strict=True))


RUN = an_agent_run(as_principal(an_identity("ana")))
CALLS = (ToolCall("a", "files__read", {}), ToolCall("b", "files__read", {}))


def a_trace() -> WholeTrace:
    return WholeTrace(
        run=replace(RUN, history=(UserMessage("Earlier."),)),
        said=(a_saying(RUN, "One."), a_saying(RUN, "Two.", 2), a_saying(RUN, "Three.", 3)),
        turns=(
            replace(a_turn(RUN, 2, "Done."), inputs_seen=2, stored={"x": 1}),
            replace(a_turn(RUN, 1, "Hm.", calls=CALLS), inputs_seen=1),
        ),
        uses=(a_use(RUN, 1, 0, text="read"),),
    )


def test_each_turn_comes_after_what_it_had_heard_and_each_call_with_its_result() -> None:
    assert [line.message for line in lines_of_trace(a_trace())] == [
        UserMessage("Earlier."),
        UserMessage("One."),
        AssistantMessage("Hm.", CALLS),
        ToolMessage("a", "files__read", "read"),
        ToolMessage("b", "files__read", NOT_MADE, failed=True),
        UserMessage("Two."),
        AssistantMessage("Done.", provider_data={"x": 1}),
        UserMessage("Three."),
    ]


def test_what_a_server_wants_back_is_its_own() -> None:
    lines = lines_of_trace(a_trace())

    assert AssistantMessage("Done.", provider_data={"x": 1}) in for_model(lines, "local:small")
    assert AssistantMessage("Done.") in for_model(lines, "far:large")


def test_the_last_words_of_people_are_what_tools_are_looked_for_by() -> None:
    assert words_of(lines_of_trace(a_trace())) == "Three."
    assert words_of([]) == ""


SENT = Sent(all=1000, largest=300)


@pytest.mark.parametrize("read", [None, 0])
def test_a_server_that_does_not_count_leaves_it_open(read: int | None) -> None:
    assert reading(SENT, ReportedTokens(read=read, room=8192)) is Reading.UNKNOWN


def test_whether_all_was_read_is_judged_by_what_was_sent_and_what_room_there_was() -> None:
    assert reading(SENT, ReportedTokens(read=500, room=100_000)) is Reading.CUT

    assert reading(SENT, ReportedTokens(read=1100, room=4096)) is Reading.WHOLE

    assert reading(SENT, ReportedTokens(read=1000, room=2048)) is Reading.WHOLE

    assert reading(SENT, ReportedTokens(read=1900, room=2048)) is Reading.CUT

    assert reading(SENT, ReportedTokens(read=1000, written=8000, room=8192)) is Reading.CUT
    assert reading(SENT, ReportedTokens(read=1000, written=7000, room=8192)) is Reading.WHOLE

    remembered = ReportedTokens(read=5, room=8192, counts_cached=False)
    narrow = ReportedTokens(read=5, room=2048, counts_cached=False)

    assert reading(SENT, remembered) is Reading.WHOLE
    assert reading(SENT, narrow) is Reading.CUT


def test_room_is_asked_for_in_steps_until_there_is_no_more() -> None:
    assert wanted_room(SENT, 200, limit=None) == 2048
    assert wanted_room(SENT, 4096, limit=None) == 8192
    assert wanted_room(SENT, 4096, limit=6000) == 6000
    assert wanted_room(Sent(all=1000, largest=300, plain=False), 200, limit=None) == 4096
    assert more_room(2048, SENT, 200, limit=None) == 4096
    assert more_room(4096, SENT, 200, limit=None) is None
    assert more_room(4096, SENT, 200, limit=32_768) == 8192
    assert more_room(32_768, SENT, 200, limit=32_768) is None


def cut_by_ollama(system: int, messages: list[int], room: int) -> int:
    """Tokens that are left: the system's and the last message stay, the oldest go first; and what
    does not fit even so is cut in its middle, down to half the room at worst."""
    kept = messages
    while len(kept) > 1 and system + sum(kept) > room:
        kept = kept[1:]
    left = system + sum(kept)
    return left if left <= room else room // 2 + 1


@st.composite
def talks(draw: st.DrawFn) -> tuple[Sent, int, list[int]]:
    """What we counted, and what a model counts for the same messages."""
    plain = draw(st.booleans())
    ours = draw(st.lists(st.integers(1, 3000), min_size=1, max_size=12))
    most = 2.25 if plain else 4.0
    scale = st.floats(0.6, most)
    theirs = [max(1, int(count * draw(scale))) for count in ours]
    sent = Sent(all=sum(ours), largest=max(ours), plain=plain)
    return sent, theirs[0], theirs[1:] or [1]


@given(talks(), st.sampled_from([512, 2048, 4096, 8192, 32_768]))
def test_nothing_that_was_cut_is_taken_for_whole(
    talk: tuple[Sent, int, list[int]], room: int
) -> None:
    sent, system, messages = talk
    read = cut_by_ollama(system, messages, room)

    if read < system + sum(messages):
        assert reading(sent, ReportedTokens(read=read, room=room)) is Reading.CUT


@given(talks(), st.integers(0, 4096), st.integers(60_000, 200_000))
def test_what_had_room_is_never_called_cut(
    talk: tuple[Sent, int, list[int]], answer: int, limit: int
) -> None:
    sent, system, messages = talk
    room = wanted_room(sent, answer, limit=limit)
    while (larger := more_room(room, sent, answer, limit=limit)) is not None:
        room = larger

    if sent.at_most <= room:
        told = ReportedTokens(read=system + sum(messages), room=room)
        assert reading(sent, told) is Reading.WHOLE


def said(text: str, offset: int = 0, *, turn: int = 1, attempt: int = 1) -> TextDelta:
    return TextDelta(turn=turn, attempt=attempt, offset=offset, text=text)


def heard(*pieces: TextDelta | ReasoningDelta) -> list[str]:
    spoken, found = Spoken(), []
    for piece in pieces:
        spoken = spoken.after(piece)
        found.append(spoken.fresh)
    return found


def test_each_piece_is_heard_once_from_where_one_comes_in() -> None:
    assert heard(said("Good "), said("day", 5)) == ["Good ", "day"]
    assert heard(said("Good "), said("Good day", 0), said("Good", 0)) == ["Good ", "day", ""]
    assert heard(said("day", 5), said("!", 8)) == ["day", "!"]
    assert heard(ReasoningDelta(turn=1, attempt=1, offset=0, text="Hm")) == ["Hm"]


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


SPOKEN_RUN = RunId.mint(BEGINNING, SeededEntropy("run"))
OTHER = RunId.mint(BEGINNING, SeededEntropy("other"))
FIRST = ApprovalId.mint(BEGINNING, SeededEntropy("first"))
SECOND = ApprovalId.mint(BEGINNING, SeededEntropy("second"))
URL = "http://127.0.0.1:3100"


def waits(approval: ApprovalId = FIRST, until: datetime | None = None) -> ToolCallAwaitingApproval:
    return ToolCallAwaitingApproval(
        turn=1, call="c1", tool="mail.send", approval=approval, expires_at=until
    )


NOTE = waiting_note(SPOKEN_RUN, waits(), URL)


def test_a_note_says_what_waits_and_where_to_answer() -> None:
    until = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)

    note = waiting_note(SPOKEN_RUN, waits(until=until), URL)

    assert "\n" not in note
    assert note.replace(str(SPOKEN_RUN), "RUN").replace(str(FIRST), "APR") == snapshot(
        "> RUN waits for approval of mail.send until 2026-05-01 12:30 UTC: "
        "`portico approvals approve APR` (or `reject`), "
        "or POST http://127.0.0.1:3100/api/v1/approvals/APR/answer. It goes on by itself then."
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("It is done.", None),
        (f"I shall write.\n\n{NOTE}", ResumePoint(SPOKEN_RUN, FIRST)),
        (f"{NOTE}\n\n{going_on_note(SPOKEN_RUN)}\n", ResumePoint(SPOKEN_RUN, FIRST)),
        (
            f"{NOTE}\nIt is sent.\n{waiting_note(SPOKEN_RUN, waits(SECOND), URL)}",
            ResumePoint(SPOKEN_RUN, SECOND),
        ),
        (f"{waiting_note(OTHER, waits(SECOND), URL)}\n{NOTE}", ResumePoint(SPOKEN_RUN, FIRST)),
        (f"{NOTE}\nIt is sent.", None),
        (going_on_note(SPOKEN_RUN), ResumePoint(SPOKEN_RUN)),
        (f"See: {NOTE}", None),
        (NOTE.replace(str(SPOKEN_RUN), "run_9"), None),
    ],
)
def test_an_answer_that_ends_with_a_note_left_off_there(
    text: str, found: ResumePoint | None
) -> None:
    assert left_off(text) == found


def test_a_model_is_not_given_the_notes() -> None:
    before = told_before(
        [UserMessage("Write."), AssistantMessage(f"I shall.\n\n{NOTE}"), AssistantMessage(NOTE)]
    )

    assert before == (UserMessage("Write."), AssistantMessage("I shall."))
    assert without_notes("As\nit\n was ") == "As\nit\n was "


def test_wishes_are_the_users_own_words() -> None:
    said: list[Message] = [AssistantMessage("Yes?"), UserMessage("Go."), UserMessage("Now.")]

    assert with_wishes([], said) == tuple(said)
    assert with_wishes(["Be brief.", "Be kind."], said) == (
        AssistantMessage("Yes?"),
        UserMessage("Be brief.\n\nBe kind.\n\nGo."),
        UserMessage("Now."),
    )


def test_the_same_question_after_the_same_talk_has_the_same_key() -> None:
    said: list[Message] = [UserMessage("Good day"), AssistantMessage("Yes?"), UserMessage("Go.")]

    assert question_key("clerk", said) == question_key("clerk", [*said])
    assert len({question_key("clerk", said[:n]) for n in range(4)}) == 4
    assert question_key("clerk", said) != question_key("cook", said)


@pytest.mark.parametrize(
    ("message", "only"), [("go on", True), (' "Go on!"\n', True), ("go on then", False)]
)
def test_whoever_says_go_on_says_nothing_else(message: str, *, only: bool) -> None:
    assert Question(agent="clerk", message=message, key="k").only_goes_on is only
