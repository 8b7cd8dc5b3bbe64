"""Equal values have one canonical text, different values different ones."""

import json
import math
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from portico.kernel.json import JsonValue, NotCanonical, canonical, kept
from portico.kernel.label import Level
from portico.testing.memory_store import BEGINNING

_SAFE = 2**53 - 1
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-_SAFE, _SAFE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: JsonValue, random: Random) -> JsonValue:
    match value:
        case str():
            return value
        case Mapping():
            members = [(key, shuffled(item, random)) for key, item in value.items()]
            random.shuffle(members)
            return dict(members)
        case list():
            return [shuffled(item, random) for item in value]
        case _:
            return value


@given(json_values)
@pytest.mark.requirement("kernel:json:canonical")
def test_the_text_is_that_of_rfc_8785(value: JsonValue) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e21)
@example(1e20)
@example(123456789012345680000.0)
@example(1e-6)
@example(1e-7)
@example(-1.5e-9)
@example(5e-324)
@example(1.7976931348623157e308)
@example(-0.0)
@example(0.000001234)
@pytest.mark.requirement("kernel:json:canonical")
def test_numbers_are_printed_as_ecmascript_prints_them(number: float) -> None:
    assert canonical(number) == rfc8785.dumps(number)
    assert float(canonical(number)) == number


@given(json_values, st.randoms(use_true_random=False))
@pytest.mark.requirement("kernel:json:canonical")
def test_the_order_of_keys_does_not_matter(value: JsonValue, random: Random) -> None:
    assert canonical(shuffled(value, random)) == canonical(value)


@given(json_values)
def test_the_text_reads_back_as_the_same_value(value: JsonValue) -> None:
    assert json.loads(canonical(value), parse_int=float) == value


@given(st.integers())
@example(2**53)
@example(2**53 + 1)
@example(-(10**300))
@pytest.mark.requirement("kernel:json:canonical")
def test_an_integer_keeps_all_its_digits(number: int) -> None:
    assert canonical(number) == str(number).encode()


def test_a_number_with_a_name_of_its_own_is_written_as_the_number() -> None:
    assert canonical({"level": Level.TEAM}) == b'{"level":1}'


def test_keys_are_ordered_by_utf_16_and_not_by_code_point() -> None:
    assert canonical({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


def test_control_characters_are_escaped_and_nothing_else() -> None:
    assert canonical('\x00\b\t\n\x0b\f\r\x1f"\\/\x7fé\u2028') == (
        '"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\"\\\\/\x7fé\u2028"'.encode()
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.requirement("kernel:json:canonical")
def test_what_json_has_no_number_for_is_refused(number: float) -> None:
    with pytest.raises(NotCanonical, match="is not a JSON number"):
        canonical({"deep": [number]})


@pytest.mark.parametrize("value", ["\ud800", ["a\udfffb"], {"\ud83d": 1}, {"k": "\ud83d"}])
@pytest.mark.requirement("kernel:json:canonical")
def test_half_a_surrogate_pair_is_refused(value: JsonValue) -> None:
    with pytest.raises(NotCanonical, match="half of a surrogate pair"):
        canonical(value)


@pytest.mark.parametrize("alien", [{1, 2}, BEGINNING, object()])
@pytest.mark.requirement("kernel:json:canonical")
def test_what_is_no_json_at_all_is_refused_however_deep_it_is(alien: Any) -> None:
    with pytest.raises(NotCanonical, match="is not a JSON value"):
        canonical({"deep": [{"er": alien}]})


def test_an_integer_that_python_does_not_write_is_refused() -> None:
    with pytest.raises(NotCanonical, match="too long"):
        canonical(10**5000)


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (None, None),
        ("text", "text"),
        (True, True),
        ({"pair": (1, 2)}, {"pair": [1, 2]}),
        ([1.5, {"a": None}], [1.5, {"a": None}]),
    ],
)
def test_what_is_kept_is_what_would_come_back(value: JsonValue, back: JsonValue) -> None:
    assert kept(value) == back
    assert kept(back) == back


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, {"a": {1}}, object(), 10**5000],
    ids=["nan", "infinity", "set", "object", "long"],
)
def test_what_cannot_be_kept_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        kept(value)
