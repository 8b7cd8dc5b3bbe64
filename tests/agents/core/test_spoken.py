"""Whoever follows what a model says hears each word once, whatever is told twice."""

from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.happening import TextAdded, ThoughtAdded
from portico.agents.core.spoken import Spoken


def said(text: str, offset: int = 0, *, turn: int = 1, attempt: int = 1) -> TextAdded:
    return TextAdded(turn=turn, attempt=attempt, offset=offset, text=text)


def heard(*pieces: TextAdded | ThoughtAdded) -> list[str]:
    spoken, found = Spoken(), []
    for piece in pieces:
        spoken = spoken.after(piece)
        found.append(spoken.fresh)
    return found


def test_pieces_one_after_another_are_all_new() -> None:
    assert heard(said("Good "), said("day", 5)) == ["Good ", "day"]


def test_the_text_so_far_is_told_again_and_only_its_end_is_new() -> None:
    assert heard(said("Good "), said("Good day", 0), said("Good", 0)) == ["Good ", "day", ""]


def test_whoever_comes_late_hears_from_where_it_is() -> None:
    assert heard(said("day", 5), said("!", 8)) == ["day", "!"]


def test_what_comes_after_something_unheard_is_known_to() -> None:
    spoken = Spoken().after(said("Good ", turn=2))

    assert Spoken().misses(said("day", 5))
    assert spoken.misses(said("!", 8, turn=2))
    assert not spoken.misses(said("day", 5, turn=2))
    assert not spoken.misses(said("ood ", 1, turn=2))
    assert spoken.misses(said("x", 1, turn=3))
    assert not spoken.misses(said("late", 90, turn=1))


def test_another_attempt_makes_void_what_was_said_in_this_turn() -> None:
    first = Spoken().after(said("Good "))
    second = first.after(said("Hello", attempt=2))

    assert (second.fresh, second.anew) == ("Hello", True)
    assert not second.after(said("!", 5, attempt=2)).anew


def test_another_attempt_of_which_nothing_was_heard_makes_nothing_void() -> None:
    assert not Spoken().after(said("Hello", attempt=2)).anew


def test_another_turn_makes_nothing_void() -> None:
    spoken = Spoken().after(said("Good ")).after(said("Hello", turn=2))

    assert (spoken.fresh, spoken.anew) == ("Hello", False)


def test_what_is_told_late_of_a_void_attempt_is_not_heard() -> None:
    spoken = Spoken().after(said("Hello", attempt=2)).after(said("Good "))

    assert (spoken.fresh, spoken.anew, spoken.length) == ("", False, 5)


def test_thoughts_are_heard_alike() -> None:
    assert heard(ThoughtAdded(turn=1, attempt=1, offset=0, text="Hm")) == ["Hm"]


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
