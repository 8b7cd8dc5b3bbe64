"""Calls of tools by a form: what a model is asked for, and what its answer means."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.asking import ToolShown
from portico.agents.core.form import (
    NotTheForm,
    as_form,
    correction,
    form_instructions,
    form_schema,
    from_form,
)
from portico.agents.core.message import Message, ModelSaid, ToolCall, ToolGave, UserSaid

READ = ToolShown("files__read", "Read a file.", {"type": "object", "required": ["path"]})


def test_an_answer_is_something_said_or_one_call() -> None:
    schema = json.dumps(form_schema([READ]))
    said, call = json.loads(schema)["anyOf"]

    assert said["required"] == ["say"]
    assert call["properties"] == {"tool": {"const": "files__read"}, "arguments": READ.schema}


def test_a_model_is_told_of_the_form_and_the_tools() -> None:
    told = form_instructions("Be kind.", [READ])

    assert told.startswith("Be kind.\n\nAnswer with one JSON object")
    assert "- files__read: Read a file." in told
    assert form_instructions("", [READ]).startswith("Answer")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"say": "Hello."}', ModelSaid("Hello.")),
        (
            '{"tool": "files__read", "arguments": {"path": "/a"}}',
            ModelSaid("", (ToolCall("c", "files__read", {"path": "/a"}),)),
        ),
        ('{"tool": "files__read"}', ModelSaid("", (ToolCall("c", "files__read", {}),))),
    ],
)
def test_what_is_of_the_form_is_understood(text: str, meant: ModelSaid) -> None:
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
        UserSaid("Look."),
        ModelSaid("Shall do.", (call,)),
        ToolGave("c", "files__read", "text"),
        ToolGave("c", "files__read", "no", failed=True),
        ModelSaid("Done."),
    ]

    assert [as_form(said) for said in talk] == [
        UserSaid("Look."),
        ModelSaid('{"tool": "files__read", "arguments": {"path": "/a"}}'),
        UserSaid("[The tool files__read gave:]\ntext"),
        UserSaid("[The tool files__read failed:]\nno"),
        ModelSaid('{"say": "Done."}'),
    ]


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(TEXTS, st.dictionaries(TEXTS, st.integers() | TEXTS | st.none()))
def test_what_is_written_by_the_form_is_read_back(
    name: str, arguments: dict[str, int | str | None]
) -> None:
    call = ToolCall("c", name, arguments)
    written = as_form(ModelSaid("", (call,)))

    assert from_form(written.text, "c") == ModelSaid("", (call,))
    assert json.loads(written.text)["tool"] == name
