"""What a ring keeps, from where one goes on in it, and cursors as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.engine.core.errors import InvalidCursor
from portico.engine.core.event_log import EncodedEvent, Ring, bound_to, packed, unpacked
from portico.testing.guard import a_space


def entry(number: int, size: int = 1) -> EncodedEvent:
    return EncodedEvent(number, "a.b", b"x" * size)


def aside(position: int, text: bytes = b"~") -> EncodedEvent:
    return EncodedEvent(position, None, text)


def numbers(ring: Ring, place: int) -> list[int]:
    return [piece.position for piece in ring.since(place).pieces]


def test_a_reader_goes_on_after_what_it_has_seen() -> None:
    ring = Ring(3)
    for number in (4, 5, 7):
        ring.add(entry(number))

    assert [ring.offset_at(position) for position in (2, 3, 4, 5, 6, 7, 8)] == [
        None,
        0,
        1,
        2,
        2,
        3,
        None,
    ]

    ring = Ring(0)
    ring.pass_over(5)

    assert (ring.position, ring.offset_at(5), ring.offset_at(6)) == (5, 0, None)


def test_a_reader_gets_the_asides_since_the_last_entry_that_it_has_seen() -> None:
    ring = Ring(0)
    for piece in (entry(1), aside(1, b"old"), entry(2), aside(2, b"new")):
        ring.add(piece)

    assert [piece.told for piece in ring.since(ring.offset_at(2) or 0).pieces] == [b"new"]
    assert ring.offset_at(1) == 1


def test_what_is_too_much_or_too_large_falls_out_and_its_readers_go_back_to_the_log() -> None:
    ring = Ring(0, most=2)
    for number in (1, 2, 3):
        ring.add(entry(number))

    assert (ring.floor, ring.offset_at(0), ring.offset_at(1)) == (1, None, 1)
    assert not ring.holds(0)
    assert ring.holds(1)

    ring = Ring(0, most_bytes=10)
    for number in (1, 2, 3):
        ring.add(entry(number, 4))

    assert (ring.floor, numbers(ring, 1)) == (1, [2, 3])

    ring = Ring(1, most=1)
    ring.add(aside(1))
    ring.add(entry(2))

    assert (ring.floor, ring.offset_at(1)) == (1, 1)


def test_a_stretch_is_made_once_for_all_and_is_not_endless() -> None:
    assert EncodedEvent(1, "a.b", b"id: 1\nevent", 6).told == b"event"

    ring = Ring(0)
    ring.add(entry(1))

    first, same = ring.since(0), ring.since(0)
    ring.add(entry(2))

    assert first is same
    assert ring.since(0).marked == b"xx"

    ring = Ring(0)
    for number in range(1, 6):
        ring.add(entry(number, 40_000))

    assert (numbers(ring, 0), ring.since(0).end) == ([1, 2], 2)
    assert numbers(ring, 4) == [5]
    assert numbers(ring, 5) == []


@given(
    st.lists(st.booleans(), max_size=30),
    st.integers(1, 10),
    st.integers(0, 30),
)
def test_whoever_has_a_place_misses_nothing_and_gets_nothing_twice(
    visible: list[bool], most: int, seen: int
) -> None:
    ring = Ring(0, most=most)
    for number, shown in enumerate(visible, 1):
        if shown:
            ring.add(entry(number))
        else:
            ring.pass_over(number)

    place = ring.offset_at(seen)

    expected = [number for number, shown in enumerate(visible, 1) if shown and number > seen]
    if place is not None:
        assert numbers(ring, place) == expected
    elif seen <= len(visible):
        assert len(expected) > most


HOME, ACME = a_space("home").id, a_space("acme").id

POSITIONS = st.dictionaries(
    st.text(min_size=1, max_size=5), st.integers(0, 2**63 - 1), min_size=1, max_size=5
)


@given(POSITIONS)
def test_what_is_packed_can_be_unpacked(positions: dict[str, int]) -> None:
    assert unpacked(list(positions), packed(positions)) == positions


@given(POSITIONS, POSITIONS)
def test_its_length_tells_how_many_topics_and_nothing_else(
    one: dict[str, int], other: dict[str, int]
) -> None:
    assert (len(packed(one)) == len(packed(other))) is (len(one) == len(other))


def test_bytes_for_more_or_fewer_topics_are_no_cursor() -> None:
    with pytest.raises(InvalidCursor):
        unpacked(["a", "b"], packed({"a": 1}))


def test_it_is_good_for_these_topics_in_this_space_in_any_order() -> None:
    here = bound_to(HOME, ["a", "b"])

    assert here == bound_to(HOME, ["b", "a"])
    assert here not in {bound_to(HOME, ["a"]), bound_to(HOME, ["ab"]), bound_to(ACME, ["a", "b"])}
