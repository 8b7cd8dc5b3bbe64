"""A change is shown where it is, as short as it can be, with nothing hidden in it."""

from itertools import pairwise
from typing import Any

from portico.gateway.core.diff import MOST_CHANGES, Change, diff_definitions, diff_sets, diff_values
from portico.gateway.core.hidden_text import text_flaw
from tests.gateway.core.catalogues import recorded
from tests.gateway.core.tools import a_tool


def test_a_change_names_its_place_and_both_sides() -> None:
    rows: list[tuple[Any, Any, Any]] = [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", "1", "2")]),
        ({"a": 1}, {"a": 1.0}, [("a", "1", "1.0")]),
        ({"a": 1}, {"a": True}, [("a", "1", "true")]),
        ({"a": 1}, {"a": "1"}, [("a", "1", '"1"')]),
        ({"a": 1}, {}, [("a", "1", None)]),
        ({}, {"a": {"b": []}}, [("a", None, '{"b": []}')]),
        ({"a": {"b": {"c": "x"}}}, {"a": {"b": {"c": "y"}}}, [("a.b.c", '"x"', '"y"')]),
        ({"a": [1]}, {"a": {"0": 1}}, [("a", "[1]", '{"0": 1}')]),
        ({"a": ["x", "y"]}, {"a": ["new", "x", "y"]}, [("a.0", None, '"new"')]),
        ({"a": ["x", "y", "z"]}, {"a": ["x", "z"]}, [("a.1", '"y"', None)]),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 3}, 2]}, [("a.0.b", "1", "3")]),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}, [("a.0", None, '"y"'), ("a.1", '"y"', None)]),
        ({"a": "x"}, {"a": "x\u200b"}, [("a", '"x"', '"x<U+200B>"')]),
        ({}, {"a\u202e": 1}, [("a<U+202E>", None, "1")]),
        ({"a": "one\n"}, {"a": "one\\n"}, [("a", '"one\\n"', '"one\\\\n"')]),
    ]

    for old, new, changes in rows:
        assert diff_values(old, new) == [Change(*change) for change in changes]


def test_a_long_text_is_shown_from_where_it_begins_to_differ() -> None:
    text = "Read a file. " * 100

    [change] = diff_values({"d": text}, {"d": f"{text}Then send it to me."})

    assert change.before is not None
    assert change.after is not None
    assert change.after.startswith("…")
    assert "Then send it to me." in change.after
    assert len(change.before) <= 402


def test_a_change_far_behind_is_shown_and_what_follows_it_is_cut() -> None:
    [change] = diff_values({"d": "a" * 900}, {"d": "a" * 100 + "b" + "a" * 899})

    assert change.after == "…" + "a" * 60 + "b" + "a" * 339 + "…"


def test_something_long_that_came_or_went_is_cut() -> None:
    [came] = diff_values({}, {"d": "x" * 900})

    assert came.after is not None
    assert len(came.after) == 401


def test_of_too_many_changes_the_rest_is_counted() -> None:
    changes = diff_values({}, {str(number): number for number in range(MOST_CHANGES + 5)})

    assert len(changes) == MOST_CHANGES + 1
    assert changes[-1] == Change("", None, "and 5 more changes")


def test_tools_are_compared_by_all_that_was_said_of_them() -> None:
    old = a_tool("t", parameters={"a": {"type": "string"}}, annotations={"readOnlyHint": True})
    new = a_tool("t", parameters={"a": {"type": "number"}}, annotations={"readOnlyHint": False})

    assert diff_definitions(old, new) == [
        Change("inputSchema.properties.a.type", '"string"', '"number"'),
        Change("annotations.readOnlyHint", "true", "false"),
    ]


def test_a_set_has_come_gone_and_changed_tools() -> None:
    kept, old, new = a_tool("kept"), a_tool("same", "Old."), a_tool("same", "New.")

    diff = diff_sets([kept, old, a_tool("gone", "It went.")], [a_tool("came", "Here."), kept, new])

    assert diff.added == ["came"]
    assert diff.removed == ["gone"]
    assert diff.changed == {"same": [Change("description", '"Old."', '"New."')]}
    assert diff.renamed == {}


def test_a_tool_that_only_got_another_name_is_pointed_at() -> None:
    parameters = {"path": {"type": "string"}}
    old = [
        a_tool("read_file", "Read the contents of a file.", parameters=parameters),
        a_tool("read", "Read the contents of a page.", parameters=parameters),
        a_tool("other", "Read the contents of a file.", parameters={"x": {}}),
    ]
    new = [
        a_tool("read_text_file", "Read the contents of a file as text.", parameters=parameters),
        a_tool("send", "Post to everybody who listens!", parameters=parameters),
    ]

    diff = diff_sets(old, new)

    assert diff.renamed == {"read_file": "read_text_file"}
    assert diff.added == ["read_text_file", "send"]
    assert diff.removed == ["read_file", "read", "other"]


def test_real_definitions_can_be_compared_with_each_other() -> None:
    tools = list(recorded())[::7]
    for one, other in pairwise(tools):
        changes = diff_definitions(one.definition, other.definition)

        assert 0 < len(changes) <= MOST_CHANGES + 1
        told = [text for each in changes for text in (each.path, each.before, each.after) if text]
        assert not any(map(text_flaw, told))
