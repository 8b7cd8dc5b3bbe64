"""JSON while it comes in: closed at its last character, and at none before."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.closed_json import Scan

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


@given(OBJECTS, st.sampled_from([None, 2]), st.booleans())
def test_an_object_closes_with_its_last_character_and_with_none_before(
    value: dict[str, Any], indent: int | None, ascii_: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    scan = Scan()

    for letter in text[:-1]:
        scan = scan.after(letter)
        assert not scan.closed

    assert scan.after(text[-1]).closed


@given(OBJECTS, st.data())
def test_it_does_not_matter_in_which_pieces_it_comes(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text)))

    assert Scan().after(text[:cut]).after(text[cut:]) == Scan().after(text)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "{", '{"a": "}', '{"a": "\\"}', '{"a": [1, {"b": 2}]', "[1]", '"{}"', "12", "null"],
)
def test_what_is_no_whole_object_is_not_closed(text: str) -> None:
    assert not Scan().after(text).closed


def test_blanks_may_stand_around_it_and_nothing_else() -> None:
    closed = Scan().after(' \n{"a": 1} \n')

    assert closed.closed
    assert not closed.after("{").closed
    assert not closed.after("{").after("}").closed
