"""The parts of arguments that a person should look at first."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.guard.core.policy import Danger, Mark, marked
from portico.kernel.json import JsonObject, JsonValue

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("arguments", "marks"),
    [
        ({"path": "notes.txt"}, [("/path", Danger.PATH)]),
        ({"sourcePath": "x"}, [("/sourcePath", Danger.PATH)]),
        ({"what": "/etc/passwd"}, [("/what", Danger.PATH)]),
        ({"what": "../../x"}, [("/what", Danger.PATH)]),
        ({"what": "~/x"}, [("/what", Danger.PATH)]),
        ({"what": "C:\\x"}, [("/what", Danger.PATH)]),
        ({"command": "ls"}, [("/command", Danger.COMMAND)]),
        ({"sql_query": "DROP TABLE a"}, [("/sql_query", Danger.COMMAND)]),
        ({"text": "https://x.example/a"}, [("/text", Danger.ADDRESS)]),
        ({"URL": "x"}, [("/URL", Danger.ADDRESS)]),
        ({"to": ["a", "b"]}, [("/to/0", Danger.RECIPIENT), ("/to/1", Danger.RECIPIENT)]),
        ({"note": "ana@x.example"}, [("/note", Danger.RECIPIENT)]),
        ({"path": "a", "to": "b/a.md"}, [("/path", Danger.PATH), ("/to", Danger.PATH)]),
        ({"path": "a", "to": "b@x.org"}, [("/path", Danger.PATH), ("/to", Danger.RECIPIENT)]),
        ({"path": "a", "to": "bob"}, [("/path", Danger.PATH), ("/to", Danger.RECIPIENT)]),
        ({"path": "a", "to": ["b.md"]}, [("/path", Danger.PATH), ("/to/0", Danger.RECIPIENT)]),
        ({"text": "a", "to": "b/a.md"}, [("/to", Danger.RECIPIENT)]),
        ({"force": True}, [("/force", Danger.DELETION)]),
        ({"deletePath": "x"}, [("/deletePath", Danger.DELETION)]),
        ({"a/b~c": {"host": "x"}}, [("/a~1b~0c/host", Danger.ADDRESS)]),
        ({"force": False, "url": None, "to": 7, "text": "hello", "n": True}, []),
        ({}, []),
    ],
)
def test_paths_commands_addresses_recipients_and_deletions_are_marked(
    arguments: JsonObject, marks: list[tuple[str, Danger]]
) -> None:
    assert marked(arguments) == tuple(Mark(pointer, why) for pointer, why in marks)


def test_where_there_is_too_much_the_worst_is_marked_and_the_whole_too() -> None:
    found = marked({"path": ["/a"] * 1000, "command": "rm -rf /"})

    assert len(found) == 51
    assert found[0] == Mark("/command", Danger.COMMAND)
    assert found[-1] == Mark("", Danger.UNSEEN)


@pytest.mark.parametrize(
    ("arguments", "shown", "marks"),
    [
        ({"a": "x secret"}, {"a": "x ********"}, [("/a", Danger.HIDDEN)]),
        ({"a": [1, 2]}, {"a": [1, "********"]}, [("/a/1", Danger.HIDDEN)]),
        ({"a": {"s1": 1, "s2": 2}}, {"a": {"********": 2}}, [("/a", Danger.HIDDEN)]),
        ({"a": {"s1": 1}}, {"a": "********"}, [("/a", Danger.HIDDEN)]),
        ({"a": [1]}, {"a": None}, [("/a/0", Danger.HIDDEN)]),
        ({"url s1": "x"}, {"url *": "x"}, [("/url *", Danger.HIDDEN), ("/url *", Danger.ADDRESS)]),
        ({"to": "x s"}, {"to": "x *"}, [("/to", Danger.HIDDEN), ("/to", Danger.RECIPIENT)]),
    ],
)
def test_what_is_not_shown_is_marked_where_it_is_missing(
    arguments: JsonObject, shown: JsonObject, marks: list[tuple[str, Danger]]
) -> None:
    assert marked(arguments, shown) == tuple(Mark(pointer, why) for pointer, why in marks)


def test_what_lies_too_deep_to_be_looked_through_is_marked_as_that() -> None:
    deep: JsonValue = "/etc/passwd"
    for _ in range(1000):
        deep = [deep]

    [mark] = marked({"path": deep})
    assert (mark.pointer, mark.why) == ("/path" + "/0" * 19, Danger.UNSEEN)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=9), JSON, max_size=4))
def test_every_mark_points_to_something(arguments: dict[str, JsonValue]) -> None:
    for mark in marked(arguments):
        found: Any = arguments
        for part in mark.pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
        assert mark.why is Danger.UNSEEN or found is True or isinstance(found, str)
