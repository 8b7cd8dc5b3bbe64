"""How a model asks for tools, what its calls mean, and JSON while it comes in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.agent_checks import LEAST, room_for_talk
from portico.agents.core.agents import ToolMode
from portico.agents.core.errors import ModelLacksTools
from portico.agents.core.model_calls import Scan
from portico.agents.core.model_requests import (
    UNREADABLE,
    AssistantMessage,
    Message,
    Support,
    ToolCall,
    ToolMessage,
    ToolShown,
    UserMessage,
)
from portico.agents.core.tool_calls import (
    FEW,
    MANY,
    NotTheForm,
    Offer,
    RequestedToolCall,
    ToolExposure,
    as_form,
    correction,
    form_instructions,
    form_schema,
    from_form,
    mode_for,
    read_arguments,
    shelf_for,
)
from portico.kernel.json import JsonObject
from portico.testing.agent_data import an_agent_spec
from portico.testing.agents import a_model

READ = ToolShown("files__read", "Read a file.", {"type": "object", "required": ["path"]})


def test_a_model_is_told_of_the_form_in_which_an_answer_is_said_or_one_call() -> None:
    schema = json.dumps(form_schema([READ]))
    said, call = json.loads(schema)["anyOf"]

    assert said["required"] == ["say"]
    assert call["properties"] == {"tool": {"const": "files__read"}, "arguments": READ.schema}

    told = form_instructions("Be kind.", [READ])

    assert told.startswith("Be kind.\n\nAnswer with one JSON object")
    assert "- files__read: Read a file." in told
    assert form_instructions("", [READ]).startswith("Answer")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"say": "Hello."}', AssistantMessage("Hello.")),
        (
            '{"tool": "files__read", "arguments": {"path": "/a"}}',
            AssistantMessage("", (ToolCall("c", "files__read", {"path": "/a"}),)),
        ),
        ('{"tool": "files__read"}', AssistantMessage("", (ToolCall("c", "files__read", {}),))),
    ],
)
def test_what_is_of_the_form_is_understood(text: str, meant: AssistantMessage) -> None:
    assert from_form(text, "c") == meant


@pytest.mark.parametrize(
    "text", ["Hello.", '{"say": 1}', "{}", "[]", '{"tool": "x", "arguments": 3}', "[" * 100_000]
)
def test_what_is_not_of_the_form_is_told_back(text: str) -> None:
    flaw = from_form(text, "c")

    assert isinstance(flaw, NotTheForm)
    assert flaw.why in correction(flaw).text


def test_what_was_said_before_is_as_the_form_would_have_it() -> None:
    call = ToolCall("c", "files__read", {"path": "/a"})
    talk: list[Message] = [
        UserMessage("Look."),
        AssistantMessage("Shall do.", (call,)),
        ToolMessage("c", "files__read", "text"),
        ToolMessage("c", "files__read", "no", failed=True),
        AssistantMessage("Done."),
    ]

    assert [as_form(said) for said in talk] == [
        UserMessage("Look."),
        AssistantMessage('{"tool": "files__read", "arguments": {"path": "/a"}}'),
        UserMessage("[The tool files__read gave:]\ntext"),
        UserMessage("[The tool files__read failed:]\nno"),
        AssistantMessage('{"say": "Done."}'),
    ]


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(TEXTS, st.dictionaries(TEXTS, st.integers() | TEXTS | st.none()))
def test_what_is_written_by_the_form_is_read_back(
    name: str, arguments: dict[str, int | str | None]
) -> None:
    call = ToolCall("c", name, arguments)
    written = as_form(AssistantMessage("", (call,)))

    assert from_form(written.text, "c") == AssistantMessage("", (call,))
    assert json.loads(written.text)["tool"] == name


SHOWN = Offer(names={"files__read": "files.read"})
SEARCHED = Offer(names={"files__read": "files.read"}, searched=True)


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
    assert SEARCHED.aimed_at(ToolCall("c", name, arguments)) == meant


def test_a_call_has_a_step_of_its_own_and_no_search_where_all_are_shown() -> None:
    assert SHOWN.aimed_at(ToolCall("c", "search_tools", {})) is None

    call = ToolCall("c", "files__read", {})

    assert (
        RequestedToolCall(turn=2, position=1, call=call, tool="files.read", arguments={}).step
        == "call-2-1"
    )
    assert AssistantMessage.nothing() == AssistantMessage("")

    assert read_arguments('{"a": [1, {"b": "ü"}]}') == {"a": [1, {"b": "ü"}]}
    assert read_arguments('{"code": "\\\\u0000"}') == {"code": "\\u0000"}


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


@pytest.mark.parametrize(
    ("window", "local", "shelf"),
    [
        (8_192, True, ToolExposure(FEW, 1_638)),
        (16_384, False, ToolExposure(FEW, 3_276)),
        (128_000, False, ToolExposure(MANY, 8_000)),
        (None, True, ToolExposure(FEW, 2_000)),
        (None, False, ToolExposure(MANY, 8_000)),
    ],
)
def test_small_models_are_shown_few_tools(
    window: int | None, local: bool, shelf: ToolExposure
) -> None:
    assert shelf_for(a_model(window=window, local=local)) == shelf


@pytest.mark.parametrize(
    ("tools", "structured", "wished", "mode"),
    [
        (Support.YES, Support.NO, ToolMode.AUTO, ToolMode.NATIVE),
        (Support.UNKNOWN, Support.YES, ToolMode.AUTO, ToolMode.NATIVE),
        (Support.NO, Support.YES, ToolMode.AUTO, ToolMode.FORM),
        (Support.NO, Support.UNKNOWN, ToolMode.AUTO, ToolMode.FORM),
        (Support.YES, Support.YES, ToolMode.FORM, ToolMode.FORM),
    ],
)
def test_a_model_asks_for_tools_as_it_can(
    tools: Support, structured: Support, wished: ToolMode, mode: ToolMode
) -> None:
    assert mode_for(a_model(tools=tools, structured=structured), wished) is mode


@pytest.mark.parametrize(
    ("tools", "structured", "wished"),
    [
        (Support.NO, Support.NO, ToolMode.AUTO),
        (Support.NO, Support.YES, ToolMode.NATIVE),
        (Support.YES, Support.NO, ToolMode.FORM),
    ],
)
def test_a_model_that_cannot_is_refused(
    tools: Support, structured: Support, wished: ToolMode
) -> None:
    with pytest.raises(ModelLacksTools):
        mode_for(a_model(tools=tools, structured=structured), wished)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


@given(OBJECTS, st.sampled_from([None, 2]), st.booleans())
def test_an_object_closes_with_its_last_character_and_with_none_before(
    value: dict[str, Any], indent: int | None, ascii_: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    scan = Scan()

    for letter in text[:-1]:
        scan = scan.after(letter)
        assert not scan.closed

    assert scan.after(text[-1]).closed


@given(OBJECTS, st.data())
def test_it_does_not_matter_in_which_pieces_it_comes(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text)))

    assert Scan().after(text[:cut]).after(text[cut:]) == Scan().after(text)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "{", '{"a": "}', '{"a": "\\"}', '{"a": [1, {"b": 2}]', "[1]", '"{}"', "12", "null"],
)
def test_what_is_no_whole_object_is_not_closed(text: str) -> None:
    assert not Scan().after(text).closed


def test_blanks_may_stand_around_it_and_nothing_else() -> None:
    closed = Scan().after(' \n{"a": 1} \n')

    assert closed.closed
    assert not closed.after("{").closed
    assert not closed.after("{").after("}").closed


@pytest.mark.parametrize(
    ("window", "tools", "enough"),
    [(2_048, ("files.*",), False), (2_048, (), True), (8_192, ("files.*",), True)],
)
def test_a_small_window_leaves_little_beside_tools(
    window: int, tools: tuple[str, ...], enough: bool
) -> None:
    spec = an_agent_spec(tools=tools, instructions="x" * 200, max_output_tokens=4_096)

    assert (room_for_talk(spec, window, len) >= LEAST) is enough
