"""JSON is read the same, whichever way it goes, and voices as they were written."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.postgres.debate.mapping import voice_from, voice_json
from portico.adapters.postgres.mapping import loads
from portico.debate.core.debaters import Debater, Tariff
from portico.kernel.json import JsonValue
from portico.testing.debate_fakes import a_voice

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


@pytest.mark.parametrize(
    "voice",
    [
        a_voice("a:1"),
        a_voice("a:1", window=16_384, tariff=Tariff(input=Decimal("0.5"), output=Decimal(2))),
        a_voice("a:1", personas=("critic",), specialist=True, bounded=False, max_output_tokens=7),
    ],
    ids=["plain", "priced", "specialist"],
)
def test_a_voice_comes_back_as_it_was(voice: Debater) -> None:
    assert voice_from(json.loads(json.dumps(voice_json(voice)))) == voice


def test_a_voice_that_was_written_before_windows_were_known_has_none() -> None:
    old = {key: value for key, value in voice_json(a_voice("a:1")).items() if key != "window"}

    assert voice_from(old).window is None
