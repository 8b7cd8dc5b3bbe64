"""Names with stars: two that have a name in common, and one that holds all of another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.pattern import holds, overlap
from tests.bridge.core.names import stands_for

PATTERNS = st.text("ab/*", max_size=6)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "src/b.py", False),
        ("src/**", "src/deep/a.py", True),
        ("src/*", "src/deep/a.py", False),
        ("src/*", "src/", True),
        ("*.py", "a*", True),
        ("**/test_*", "tests/core/*.py", True),
        ("src", "src/**", False),
        ("branch:main", "branch:*", True),
        ("a*/b", "*a/c", False),
        ("***", "x/y", True),
        ("", "**", True),
        ("", "a", False),
    ],
)
def test_two_patterns_have_a_name_in_common_or_none(one: str, other: str, common: bool) -> None:
    assert overlap(one, other) is common
    assert overlap(other, one) is common


@given(PATTERNS, PATTERNS)
def test_they_overlap_just_if_there_is_a_name_that_both_stand_for(one: str, other: str) -> None:
    # A shortest common name has at most as many letters as both patterns have together, and stars
    # need none: five letters are enough for what is not longer than that without its stars.
    letters = len(one.replace("*", "")) + len(other.replace("*", ""))

    common = stands_for(one) & stands_for(other)

    if common or letters <= 5:
        assert overlap(one, other) is bool(common)
    assert overlap(one, other) is overlap(other, one)


@given(PATTERNS, PATTERNS)
def test_what_a_pattern_holds_is_all_in_it(pattern: str, resource: str) -> None:
    if holds(pattern, resource):
        assert stands_for(resource) <= stands_for(pattern)


@given(PATTERNS, st.text("ab/", max_size=5))
def test_a_name_without_stars_is_held_by_all_that_stand_for_it(pattern: str, name: str) -> None:
    assert holds(pattern, name) is (name in stands_for(pattern))
    assert holds(pattern, name) is overlap(pattern, name)


@given(PATTERNS)
def test_a_pattern_holds_itself_and_everything_holds_it(pattern: str) -> None:
    assert holds(pattern, pattern)
    assert holds("**", pattern)


def test_many_stars_of_a_stranger_take_no_time() -> None:
    mean, meaner = "*a" * 150, "*b" * 149 + "*"

    assert overlap(mean, meaner + "a")
    assert not overlap(mean, meaner + "b")
