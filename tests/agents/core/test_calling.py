"""Which tool a call means, by what the model was shown."""

import pytest

from portico.agents.core.arguments import read_arguments
from portico.agents.core.calling import Offer, Wanted
from portico.agents.core.message import UNREADABLE, ModelSaid, ToolCall
from portico.kernel.json import JsonObject

FEW = Offer(names={"files__read": "files.read"})
MANY = Offer(names={"files__read": "files.read"}, searched=True)


@pytest.mark.parametrize(
    ("name", "arguments", "meant"),
    [
        ("files__read", {"path": "/a"}, ("files.read", {"path": "/a"})),
        ("search_tools", {"query": "x"}, ("search_tools", {"query": "x"})),
        ("call_tool", {"tool": "db.get", "arguments": {"id": 1}}, ("db.get", {"id": 1})),
        ("call_tool", {"tool": "db.get"}, ("db.get", {})),
        ("call_tool", {"tool": "db.get", "arguments": '{"id": 1}'}, ("db.get", {"id": 1})),
        ("call_tool", {"tool": "db.get", "arguments": "id 1"}, ("db.get", {UNREADABLE: "id 1"})),
        ("call_tool", {"tool": "db.get", "arguments": [1]}, ("db.get", {UNREADABLE: "[1]"})),
        ("call_tool", {"what": "db.get"}, None),
        ("db__get", {"tool": "db.get"}, None),
        ("db__get", {"tool": "db.get", "arguments": {}}, None),
    ],
)
def test_a_call_means_what_was_shown_or_found(
    name: str, arguments: JsonObject, meant: object
) -> None:
    assert MANY.aimed_at(ToolCall("c", name, arguments)) == meant


def test_there_is_no_search_where_all_are_shown() -> None:
    assert FEW.aimed_at(ToolCall("c", "search_tools", {})) is None


def test_a_call_has_a_step_of_its_own() -> None:
    call = ToolCall("c", "files__read", {})

    assert Wanted(turn=2, place=1, call=call, tool="files.read", arguments={}).step == "call-2-1"
    assert ModelSaid.nothing() == ModelSaid("")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        '{"a": "\\u0000"}',
        '{"a":' * 70 + "1" + "}" * 70,
    ],
)
def test_what_cannot_be_kept_is_not_read(text: str) -> None:
    assert read_arguments(text) is None


def test_what_is_an_object_is_read() -> None:
    assert read_arguments('{"a": [1, {"b": "ü"}]}') == {"a": [1, {"b": "ü"}]}
    assert read_arguments('{"code": "\\\\u0000"}') == {"code": "\\u0000"}
