"""What is said, made to fit: people's words stay, calls stay with what they came to."""

from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.asking import ToolShown
from portico.agents.core.compaction import (
    KEPT_HEAD,
    Fitted,
    TooLong,
    fit,
    tokens_of,
    tokens_of_tool,
)
from portico.agents.core.message import Message, ModelSaid, ToolCall, ToolGave, UserSaid

LONG = "many words " * 200


def count(text: str) -> int:
    return len(text)


def a_talk() -> list[Message]:
    call = ToolCall("c1", "read", {"path": "/a"})
    again = ToolCall("c2", "read", {"path": "/b"})
    return [
        UserSaid(LONG),
        ModelSaid(LONG, (call,)),
        ToolGave("c1", "read", LONG),
        ModelSaid("", (again,)),
        ToolGave("c2", "read", LONG),
        ModelSaid(LONG),
        UserSaid("And now?"),
    ]


def size(messages: list[Message]) -> int:
    return sum(tokens_of(message, count) for message in messages)


def fitted(messages: list[Message], room: int) -> Fitted:
    found = fit(messages, room, count)
    assert isinstance(found, Fitted)
    return found


def test_what_fits_is_left_as_it_is() -> None:
    talk = a_talk()

    assert fitted(talk, size(talk)) == Fitted(talk, size(talk))


def test_the_oldest_result_of_a_tool_is_shortened_first() -> None:
    talk = a_talk()

    found = fitted(talk, size(talk) - 1)

    changed = [place for place in range(len(talk)) if found.messages[place] != talk[place]]
    assert changed == [2]
    assert found.shortened == 1
    assert found.messages[2] == ToolGave(
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


def test_what_people_said_is_never_cut() -> None:
    needed = fit([UserSaid(LONG), UserSaid(LONG)], 10, count)

    assert isinstance(needed, TooLong)
    assert needed.needed > 2 * len(LONG)


def test_what_a_server_wants_back_is_given_up_where_there_is_no_room() -> None:
    talk: list[Message] = [ModelSaid("Hm.", kept={"signature": "x" * 2_000}), UserSaid("Well?")]

    found = fitted(talk, 100)

    assert found.messages == [ModelSaid("Hm."), UserSaid("Well?")]


def test_a_tool_is_as_long_as_its_words_and_its_schema() -> None:
    assert tokens_of_tool(ToolShown("a", "bb", {"type": "object"}), count) > 3 + 16


texts = st.text("ab \n", max_size=900)
messages = st.lists(
    st.one_of(
        st.builds(UserSaid, texts),
        st.builds(
            ModelSaid,
            texts,
            st.lists(st.builds(ToolCall, st.just("c"), st.just("t"), st.just({})), max_size=2).map(
                tuple
            ),
            st.none() | st.just({"kept": "x" * 50}),
        ),
        st.builds(ToolGave, st.just("c"), st.just("t"), texts, st.booleans()),
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
            case UserSaid(), _:
                assert after == before
            case ModelSaid(_, calls), ModelSaid(_, same):
                assert same == calls
            case ToolGave(call, name, _, failed), ToolGave(its, own, _, did):
                assert (its, own, did) == (call, name, failed)
            case _:
                raise AssertionError(after)
    assert found.shortened == sum(one != other for one, other in zip(said, kept, strict=True))
