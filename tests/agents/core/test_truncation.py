"""Whether all was read: never said of a prompt that was cut, whatever the model's tokenizer is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.truncation import (
    Reading,
    Sent,
    Told,
    more_room,
    reading,
    wanted_room,
)

SENT = Sent(all=1000, largest=300)


@pytest.mark.parametrize("read", [None, 0])
def test_a_server_that_does_not_count_leaves_it_open(read: int | None) -> None:
    assert reading(SENT, Told(read=read, room=8192)) is Reading.UNKNOWN


def test_what_is_far_below_what_was_sent_was_cut() -> None:
    assert reading(SENT, Told(read=500, room=100_000)) is Reading.CUT


def test_what_could_not_have_been_cut_was_read() -> None:
    assert reading(SENT, Told(read=1100, room=4096)) is Reading.WHOLE


def test_with_more_room_left_than_any_message_needs_none_was_left_out() -> None:
    assert reading(SENT, Told(read=1000, room=2048)) is Reading.WHOLE


def test_a_reading_that_fills_the_room_may_have_been_cut() -> None:
    assert reading(SENT, Told(read=1900, room=2048)) is Reading.CUT


def test_whoever_writes_beyond_the_room_has_forgotten_the_beginning() -> None:
    assert reading(SENT, Told(read=1000, written=8000, room=8192)) is Reading.CUT
    assert reading(SENT, Told(read=1000, written=7000, room=8192)) is Reading.WHOLE


def test_a_server_that_does_not_count_what_it_remembered_is_judged_by_its_room_alone() -> None:
    remembered = Told(read=5, room=8192, counts_cached=False)
    narrow = Told(read=5, room=2048, counts_cached=False)

    assert reading(SENT, remembered) is Reading.WHOLE
    assert reading(SENT, narrow) is Reading.CUT


def test_room_is_asked_for_in_steps_and_never_above_what_the_model_can_have() -> None:
    assert wanted_room(SENT, 200, limit=None) == 2048
    assert wanted_room(SENT, 4096, limit=None) == 8192
    assert wanted_room(SENT, 4096, limit=6000) == 6000
    assert wanted_room(Sent(all=1000, largest=300, plain=False), 200, limit=None) == 4096


def test_too_little_room_is_made_larger_until_there_is_no_more() -> None:
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
        assert reading(sent, Told(read=read, room=room)) is Reading.CUT


@given(talks(), st.integers(0, 4096), st.integers(60_000, 200_000))
def test_what_had_room_is_never_called_cut(
    talk: tuple[Sent, int, list[int]], answer: int, limit: int
) -> None:
    sent, system, messages = talk
    room = wanted_room(sent, answer, limit=limit)
    while (larger := more_room(room, sent, answer, limit=limit)) is not None:
        room = larger

    if sent.most <= room:
        told = Told(read=system + sum(messages), room=room)
        assert reading(sent, told) is Reading.WHOLE
