"""Cursors as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.engine.core.cursor import bound_to, packed, unpacked
from portico.engine.core.errors import BadCursor
from portico.testing.guard import a_space

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
    with pytest.raises(BadCursor):
        unpacked(["a", "b"], packed({"a": 1}))


def test_it_is_good_for_these_topics_in_this_space_in_any_order() -> None:
    here = bound_to(HOME, ["a", "b"])

    assert here == bound_to(HOME, ["b", "a"])
    assert here not in {bound_to(HOME, ["a"]), bound_to(HOME, ["ab"]), bound_to(ACME, ["a", "b"])}
