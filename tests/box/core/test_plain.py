"""What of a stranger's value is told."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.box.core.errors import NotPlain
from portico.box.core.plain import DEEPEST, plain

ENOUGH = 1_000_000

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_json_can_say_is_told_as_it_is(value: Any) -> None:
    assert plain(value, most=ENOUGH) == value


@given(JSON, st.integers(min_value=0, max_value=60))
def test_what_is_told_is_not_longer_than_it_may_be(value: Any, most: int) -> None:
    try:
        told = plain(value, most=most)
    except NotPlain:
        return

    escaped_at_worst = 6
    length = len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode())
    assert length <= most * escaped_at_worst


@given(JSON)
def test_what_fits_is_told(value: Any) -> None:
    length = len(json.dumps(value, separators=(", ", ": ")).encode())

    assert plain(value, most=3 * length + 10) == value


def test_a_tuple_is_told_as_a_list() -> None:
    assert plain((1, ("a", None)), most=ENOUGH) == [1, ["a", None]]


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def shared(times: int) -> object:
    value: object = "x"
    for _ in range(times):
        value = [value, value]
    return value


def circle() -> object:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"bytes", "no bytes"),
        ({1, 2}, "no set"),
        (..., "no ellipsis"),
        (object(), "no object"),
        ({1: 2}, "key of an object"),
        ({None: 2}, "key of an object"),
        (float("nan"), "no number nan"),
        (float("-inf"), "no number -inf"),
        (10**4400, "digits"),
        ("\ud800", "surrogate"),
        ({"\udfff": 1}, "surrogate"),
        ([1, [b"x"]], "no bytes"),
        (nested(DEEPEST + 1), "deep"),
        (nested(100_000), "deep"),
        (circle(), "deep"),
        (shared(60), "longer than"),
        ("a" * (ENOUGH + 1), "longer than"),
        ("é" * (ENOUGH // 2 + 1), "longer than"),
        (["a"] * ENOUGH, "longer than"),
    ],
    ids=lambda _: "",
)
def test_what_json_cannot_say_or_not_in_so_few_words_is_refused(value: object, reason: str) -> None:
    with pytest.raises(NotPlain, match=reason):
        plain(value, most=ENOUGH)


def test_it_may_be_as_deep_as_it_may() -> None:
    assert plain(nested(DEEPEST), most=ENOUGH) == nested(DEEPEST)
