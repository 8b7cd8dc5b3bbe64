"""Which argument came from which result: only where it is telling, and only where it is sure."""

from datetime import timedelta
from uuid import UUID

from portico.gateway.core.learnt import Passed, ToolPlace
from portico.gateway.core.provenance import Trace, came_from, gave, telling, took
from portico.gateway.core.result_path import item, member
from portico.gateway.core.server import ServerId
from portico.kernel.json import JsonObject, JsonValue
from portico.testing.kernel import BEGINNING

FIND, READ, SEND = (ToolPlace(ServerId(UUID(int=1)), name) for name in ("find", "read", "send"))
SECOND = timedelta(seconds=1)


def call(
    at: int, tool: ToolPlace, arguments: JsonObject, json: JsonValue = None, text: str = ""
) -> Trace:
    begin = BEGINNING + at * SECOND
    document: JsonObject = {"json": json, "text": text}
    return Trace(
        tool, begin, begin + SECOND / 2, took(arguments, str.encode), gave(document, str.encode)
    )


def test_a_value_that_a_tool_gave_and_another_was_given_was_passed_on() -> None:
    found = call(0, FIND, {"query": "invoices"}, {"items": [{"id": "inv-000"}, {"id": "inv-001"}]})

    now = call(1, READ, {"invoice": "inv-001", "deep": {"id": "inv-000"}})

    assert came_from([found], now) == {Passed(FIND, "json.items[0].id", READ, "invoice")}


def test_so_were_values_of_a_list_and_a_text() -> None:
    found = call(0, FIND, {}, {"number": 1_234_567, "x-id": "abcdef"})
    read = call(1, READ, {}, text="the whole text")

    now = call(2, SEND, {"numbers": [1_234_567, "abcdef"], "body": "the whole text"})

    assert came_from([found, read], now) == {
        Passed(FIND, "json.number", SEND, "numbers"),
        Passed(FIND, 'json."x-id"', SEND, "numbers"),
        Passed(READ, "text", SEND, "body"),
    }


def test_what_the_caller_had_before_was_not_passed_on() -> None:
    echo = call(0, FIND, {"owner": "octocat"}, {"owner": "octocat", "id": "new-000"})

    assert came_from([echo], call(1, READ, {"owner": "octocat"})) == set()
    assert came_from(
        [call(0, SEND, {"to": "octocat"}), call(1, FIND, {}, ["octocat"])], _OWNER
    ) == (set())


_OWNER = call(5, READ, {"owner": "octocat"})


def test_it_came_from_whoever_gave_it_and_not_from_whoever_said_it_again() -> None:
    found = call(0, FIND, {}, {"login": "octocat"})
    again = call(1, READ, {"login": "octocat"}, {"echo": "octocat"})

    assert came_from([found, again], _OWNER) == {Passed(FIND, "json.login", READ, "owner")}


def test_it_came_from_the_last_that_gave_it() -> None:
    first, second = call(0, FIND, {}, ["octocat"]), call(1, SEND, {}, {"to": "octocat"})

    assert came_from([second, first], _OWNER) == {Passed(SEND, "json.to", READ, "owner")}


def test_what_was_not_there_yet_was_not_passed_on() -> None:
    assert came_from([call(5, FIND, {}, ["octocat"])], _OWNER) == set()
    assert came_from([], _OWNER) == set()


def test_what_stood_in_several_places_is_not_guessed() -> None:
    found = call(0, FIND, {}, {"a": "octocat", "b": "octocat", "c": ["octocat"]})

    assert came_from([found], _OWNER) == set()


def test_values_under_keys_that_are_data_and_those_that_lie_deep_have_no_path() -> None:
    deep: JsonValue = "octocat"
    for _ in range(8):
        deep = [deep]

    assert (
        came_from([call(0, FIND, {}, {"ana@example.org": "octocat", "x": deep})], _OWNER) == set()
    )
    assert took({"ana@example.org": "octocat"}, str.encode) == {}


def test_what_everybody_says_tells_nothing() -> None:
    rows: list[JsonValue] = ["short", "x" * 501, 9_999, True, None, 1.5, [], {}]

    for value in rows:
        assert telling(value) is None


def test_a_number_is_no_text() -> None:
    assert telling(123_456) != telling("123456")
    assert telling(-123_456) is not None


def test_a_path_has_quotes_where_it_needs_them() -> None:
    assert item(member(member("json", "a_1"), 'größe "x"')) == 'json.a_1."größe \\"x\\""[0]'
