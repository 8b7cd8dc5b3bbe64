"""Where a reader stands, as bytes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.cursor import Direction, content_of, good_for, standing_of
from portico.engine.core.errors import BadCursor
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("cursor")
ONE, TWO, THREE = (ConversationId.mint(BEGINNING, ENTROPY) for _ in range(3))
SECRET = Label(Level.CONFIDENTIAL)
PLACES = st.fixed_dictionaries({ONE: st.integers(0, 2**63), TWO: st.integers(0, 2**63)})


@given(PLACES)
def test_what_was_packed_is_there_again(places: dict[ConversationId, int]) -> None:
    found = standing_of([TWO, ONE], SECRET, content_of(places, SECRET))

    assert (found.places, found.reset) == (places, False)


@given(PLACES)
def test_its_length_tells_nothing_of_the_places(places: dict[ConversationId, int]) -> None:
    assert len(content_of(places, PUBLIC)) == 2 * 8 + 16


def test_a_reader_who_sees_more_or_less_by_now_begins_anew() -> None:
    content = content_of({ONE: 7}, SECRET)

    found = standing_of([ONE], PUBLIC, content)

    assert (found.places, found.reset) == ({ONE: 0}, True)


@pytest.mark.parametrize("content", [b"", b"x" * 15, content_of({ONE: 1, TWO: 1}, PUBLIC)])
def test_what_has_another_length_is_not_a_cursor_of_it(content: bytes) -> None:
    with pytest.raises(BadCursor):
        standing_of([ONE], PUBLIC, content)


def test_it_is_good_for_one_reader_one_way_and_these_conversations() -> None:
    ana, bob = a_person("ana"), a_person("bob")
    moved = replace(ana, space=a_space("elsewhere").id)
    contexts = {
        good_for(ana, [ONE, TWO], Direction.ON),
        good_for(bob, [ONE, TWO], Direction.ON),
        good_for(moved, [ONE, TWO], Direction.ON),
        good_for(ana, [ONE], Direction.ON),
        good_for(ana, [ONE, TWO, THREE], Direction.ON),
        good_for(ana, [ONE, TWO], Direction.BACK),
    }

    assert len(contexts) == 6
    assert good_for(ana, [TWO, ONE], Direction.ON) in contexts
