"""Whatever form a tool answers in, those after it find one document, by a name that stays apart."""

from portico.gateway.core.call import Answer
from portico.gateway.core.plan.inner_names import inner_name
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


def test_a_text_that_is_json_is_read() -> None:
    rows: list[tuple[str, JsonValue]] = [
        ('{"a": [1]}', {"a": [1]}),
        ("3", 3),
        (" ", None),
        ("{oops", None),
        ("[NaN]", None),
        ("[" * 100_000, None),
        ("9" * 5_000, None),
    ]

    for said, value in rows:
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


def test_a_short_name_is_its_own() -> None:
    assert inner_name("read") == "read"
    assert inner_name("a" * 30) == "a" * 30


def test_long_names_are_short_and_stay_apart() -> None:
    one, other = inner_name("a" * 64), inner_name("a" * 63 + "b")

    assert one == inner_name("a" * 64)
    assert one != other
    assert len(one) == len(other) == 30
    assert "#" in one
