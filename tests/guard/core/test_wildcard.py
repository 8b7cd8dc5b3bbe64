"""Wildcards: what they stand for, how long they take, and which list is within which."""

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.wildcard import fits, within

NAMES = st.text(alphabet="abA.\n", max_size=8)
WILDCARDS = st.text(alphabet="abA.*?\n", max_size=8)


@pytest.mark.parametrize(
    ("name", "wildcard", "found"),
    [
        ("github.create_issue", "github.*", True),
        ("github.create_issue", "github.create_issue", True),
        ("github.create_issue", "github.create_?ssue", True),
        ("github.a.b", "github.*", True),
        ("github.a", "*", True),
        ("github.a", "*.a", True),
        ("github.abab", "git*ab*ab", True),
        ("github.ab", "git*ab*ab", False),
        ("github.a", "GitHub.*", False),
        ("github.a", "github", False),
        ("github.a", "github.", False),
        ("github", "github?", False),
        ("githubXa", "github.a", False),
        ("github.[a]", "github.[a]", True),
        ("github.a", "github.[a]", False),
        ("a\nb", "a?b", True),
        ("", "", True),
        ("", "*", True),
    ],
)
def test_a_wildcard_stands_for_names(name: str, wildcard: str, found: bool) -> None:
    assert fits(name, (wildcard,)) is found


def test_no_wildcard_stands_for_nothing() -> None:
    assert not fits("github.a", ())


@given(NAMES, WILDCARDS)
def test_it_agrees_with_the_shell(name: str, wildcard: str) -> None:
    shell = re.compile(fnmatch.translate(wildcard))

    assert fits(name, (wildcard,)) is (shell.match(name) is not None)


@pytest.mark.timeout(5)
def test_a_hostile_wildcard_takes_no_longer_than_another() -> None:
    assert not fits("a" * 5_000 + "c", ("a*" * 90 + "b",))


@pytest.mark.parametrize(
    ("narrow", "wide", "found"),
    [
        (["github.get_*"], ["github.*"], True),
        (["github.*"], ["github.get_*"], False),
        (["github.*"], ["github.*"], True),
        (["a.*", "b.*"], ["*"], True),
        (["a.*", "b.*"], ["a.*"], False),
        (["a.?"], ["a.?"], True),
        (["a.*"], ["a.?"], False),
        (["a.b"], ["a.?"], True),
        ([], ["a.*"], True),
        (["a.b"], [], False),
    ],
)
def test_one_list_is_within_another(narrow: list[str], wide: list[str], found: bool) -> None:
    assert within(narrow, wide) is found


@given(NAMES, WILDCARDS, WILDCARDS)
def test_what_is_within_names_nothing_more(name: str, narrow: str, wide: str) -> None:
    if within([narrow], [wide]) and fits(name, [narrow]):
        assert fits(name, [wide])
