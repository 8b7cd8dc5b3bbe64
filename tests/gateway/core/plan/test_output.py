"""Whatever form a tool answers in, those after it find one document, by a name that stays apart."""

from portico.engine.core.runs import Failure
from portico.gateway.core.calls import Answer
from portico.gateway.core.errors import UpstreamRefused
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan_progress import inner_name
from portico.workflows.core.plan_report import (
    Trouble,
    discreet,
    kept_words,
    spoken,
    unspoken,
    words_of,
)
from portico.workflows.core.plan_values import document_value, items_document, step_document


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


def test_long_names_are_short_and_stay_apart() -> None:
    one, other = inner_name("a" * 64), inner_name("a" * 63 + "b")

    assert one == inner_name("a" * 64)
    assert one != other
    assert len(one) == len(other) == 30
    assert "#" in one
    assert [inner_name(short) for short in ("read", "a" * 30)] == ["read", "a" * 30]


_KEPT = "res_00000000000000000000000001"
_REFUSED = UpstreamRefused("files", -32000, "no such customer: SECRET")
_TITLE = "The server refuses what it was asked for"


def _trouble(message: str) -> Trouble:
    return Trouble(type="UpstreamRefused", message=message)


def test_an_error_is_told_by_its_kind_and_where_its_words_are_if_they_could_be_kept() -> None:
    kept, lost = discreet(_REFUSED, "read", _KEPT), discreet(_REFUSED, "read", None)
    foreign = discreet(KeyError("SECRET"), None, None)

    assert kept == Failure(
        "UpstreamRefused", f"{_TITLE} [in full: {_KEPT}]", "upstream_refused", "read"
    )
    assert kept_words(kept.message) == _KEPT
    assert (lost.message, kept_words(lost.message)) == (_TITLE, None)
    assert (foreign.type, foreign.code) == ("KeyError", None)
    assert "SECRET" not in foreign.message


def test_an_error_without_words_is_kept_by_its_name() -> None:
    assert words_of(ValueError()) == {"words": "ValueError"}
    assert words_of(_REFUSED) == {"words": str(_REFUSED), "fix": _REFUSED.fix}


def test_its_words_stand_where_its_kind_stood_while_they_are_kept() -> None:
    short = discreet(_REFUSED, "read", _KEPT).message
    rows: list[tuple[str, JsonObject | None, str]] = [
        (short, words_of(_REFUSED), str(_REFUSED)),
        (f"The step 'read' failed: {short}", {"words": "no"}, "The step 'read' failed: no"),
        (short, None, short),
        (short, {"words": 1}, short),
        ("It was cancelled.", {"words": "no"}, "It was cancelled."),
    ]

    for message, words, told in rows:
        assert spoken(message, words) == told


def test_others_are_not_told_where_they_are() -> None:
    short = discreet(_REFUSED, "read", _KEPT).message

    assert unspoken(_trouble(short)) == _trouble(_TITLE)
    assert unspoken(_trouble(f"The step 'read' failed: {short}")) == _trouble(
        f"The step 'read' failed: {_TITLE}"
    )
    assert unspoken(_trouble("It was cancelled.")) == _trouble("It was cancelled.")


def test_a_tool_that_says_itself_that_it_failed_is_quoted_in_short() -> None:
    told = f"files.read says that it failed [in full: {_KEPT}]"

    assert spoken(told, {"isError": True, "text": " no such file\n"}) == (
        "files.read says that it failed: no such file"
    )
    assert spoken(told, {"isError": True, "text": ""}).endswith("failed: without a word")
    assert spoken(told, {"isError": True, "text": "x" * 501}).endswith(f"{'x' * 500}…")
