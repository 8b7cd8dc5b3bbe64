"""JSON is read the same, whichever way it goes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.postgres.json_columns import loads
from portico.kernel.json import JsonValue

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_it_is_what_the_standard_library_reads(value: JsonValue) -> None:
    text = json.dumps(value)

    assert loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '"\\ud800"',
        "[" * 400 + "]" * 400,
        "123456789012345678901234567890",
        "1e400",
        "-0.0",
        '{"a": 1, "a": 2}',
    ],
)
def test_what_is_rare_is_read_as_before(text: str) -> None:
    assert repr(loads(text.encode())) == repr(json.loads(text))


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        loads(b"{")
