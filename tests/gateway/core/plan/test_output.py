"""Whatever form a tool answers in, those after it find one document."""

import pytest

from portico.gateway.core.call import Answer
from portico.gateway.core.plan.output import document_value, items_document, step_document
from portico.kernel.json import JsonObject, JsonValue


def text(said: str) -> JsonObject:
    return {"type": "text", "text": said}


def test_texts_are_joined_those_of_resources_too() -> None:
    embedded: JsonObject = {"type": "resource", "resource": {"uri": "x:", "text": "two"}}
    answer = Answer([text("one"), {"type": "image", "data": "aGk="}, embedded])

    document = step_document(answer)

    assert document["text"] == "one\ntwo"
    assert document["content"] == answer.content
    assert (document["structuredContent"], document["json"]) == (None, None)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("3", 3),
        (" ", None),
        ("{oops", None),
        ("[NaN]", None),
        ("[" * 100_000, None),
        ("9" * 5_000, None),
    ],
)
def test_a_text_that_is_json_is_read(said: str, value: JsonValue) -> None:
    assert step_document(Answer([text(said)]))["json"] == value


def test_the_structured_form_comes_first() -> None:
    document = step_document(Answer([text('{"a": 1}')], structured={"a": 2}))

    assert document["json"] == document["structuredContent"] == {"a": 2}


def test_the_value_of_a_document_is_its_json_or_its_text() -> None:
    said, read = step_document(Answer([text("hi")])), step_document(Answer([text("[1]")]))

    assert document_value(said) == "hi"
    assert document_value(read) == [1]
    assert document_value(items_document([said, None, read])) == ["hi", None, [1]]
    assert document_value({"items": "a text", "json": 1}) == 1
