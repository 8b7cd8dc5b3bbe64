"""Arguments are kept for the record, but never long ones whole."""

import pytest

from portico.gateway.core.record import for_the_record
from portico.kernel.json import JsonValue


@pytest.mark.parametrize(
    "short", [None, True, 3, 2.5, "text", [1, "two"], {"path": "a", "deep": {"er": [1]}}]
)
def test_what_is_short_is_kept_as_it_is(short: JsonValue) -> None:
    assert for_the_record(short) == short


def test_a_long_text_is_cut_and_says_so() -> None:
    assert for_the_record({"body": "x" * 501}) == {"body": "x" * 500 + "…"}


def test_of_many_items_the_first_are_kept() -> None:
    assert for_the_record(list(range(21))) == [*range(20), "…"]
    many = {str(number): number for number in range(23)}
    assert for_the_record(many) == {str(number): number for number in range(20)} | {"…": 3}


def test_what_lies_too_deep_is_left_out() -> None:
    deep: JsonValue = "bottom"
    for _ in range(7):
        deep = {"in": deep}

    kept = for_the_record(deep)

    assert "bottom" not in str(kept)
    assert "…" in str(kept)
