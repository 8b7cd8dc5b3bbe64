"""Arguments as whoever answers sees them, and as they may write them anew."""

import pytest

from portico.faces.web.forms import BadForm
from portico.faces.web.screens.inbox.arguments import diffs, shown_changes, table
from portico.faces.web.screens.inbox.seen import one_line, seen
from portico.faces.web.screens.inbox.typed import written
from portico.guard.core.danger import Danger, Mark


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\u202egpj.exe", "\\u{202e}gpj.exe"),
        ("a\u200bb", "a\\u{200b}b"),
        ("\x1b[31m", "\\u{1b}[31m"),
    ],
)
def test_what_would_hide_is_spelt_out(text: str, shown: str) -> None:
    assert seen(text) == shown


def test_a_line_is_cut_where_there_is_no_room() -> None:
    assert one_line("a  b\nc", 10) == "a b c"
    assert one_line("abcdefghij", 5) == "abcd…"


def test_each_value_stands_under_its_path_with_what_is_said_of_it() -> None:
    rows = table(
        {"to": ["a@x.example", "b@x.example"], "body": {"text": "hi", "size": 3}, "more": []},
        (Mark("/to", Danger.RECIPIENT), Mark("/body/text", Danger.HIDDEN)),
    )

    assert [(each.name, each.value, each.risks) for each in rows] == [
        ("to.0", "a@x.example", ("recipient",)),
        ("to.1", "b@x.example", ("recipient",)),
        ("body.text", "hi", ("part of this is not shown",)),
        ("body.size", "3", ()),
        ("more", "[]", ()),
    ]


def test_what_is_said_of_all_of_it_is_said_of_each() -> None:
    [only] = table({"a": 1}, (Mark("", Danger.UNSEEN),))

    assert only.risks == ("there is more than was looked through",)


def test_a_long_value_is_folded_unless_something_is_said_against_it() -> None:
    long = "x" * 5000

    plain, risky = table({"a": long, "path": long}, (Mark("/path", Danger.PATH),))

    assert plain.folded
    assert (plain.cut, len(plain.value)) == (1000, 4000)
    assert not risky.folded
    assert risky.value == long


def test_against_what_it_replaces_each_change_is_told() -> None:
    rows = table({"a": 1, "c": 3, "d": 4}, (), {"a": 1, "b": 2, "c": 0})

    told = [(each.name, each.value, each.was, each.new) for each in rows]
    assert told == [
        ("a", "1", None, False),
        ("c", "3", "0", False),
        ("d", "4", None, True),
        ("b", "", "2", False),
    ]


def test_a_text_and_what_takes_its_place_are_compared() -> None:
    [diff] = diffs({"edits": [{"oldText": "one\ntwo", "newText": "one\nthree"}]})

    assert diff.title == "edits.0"
    assert [(line.kind, line.text) for line in diff.lines] == [
        ("same", "one"),
        ("gone", "two"),
        ("new", "three"),
    ]


def test_what_is_too_long_to_compare_is_not() -> None:
    assert diffs({"old": "a\n" * 1000, "new": "b"}) == []


def test_what_the_bridge_says_of_changes_is_told_apart() -> None:
    lines = shown_changes(["line 2:", " before", "-mail me", "+[address]"])

    assert [line.kind for line in lines] == ["place", "same", "gone", "new"]
    assert shown_changes("no list") == []


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON: line 1"),
        ("[1]", "must be an object"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"b": {"a": 1, "a": 2}}', "twice"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_arguments_that_are_none_say_where(text: str, flaw: str) -> None:
    with pytest.raises(BadForm, match=flaw):
        written(text)


def test_arguments_are_read_as_they_stand() -> None:
    assert written('{"to": ["a"], "n": 1}') == {"to": ["a"], "n": 1}
