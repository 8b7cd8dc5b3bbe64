"""What is learnt of results: the same in whichever order they come, bounded, and no values."""

import json
from datetime import timedelta
from functools import reduce
from itertools import permutations
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.inferred_schema import (
    DEEPEST,
    MOST,
    UNSEEN,
    InferredSchema,
    ObservedSchema,
    Passed,
    ToolPlace,
    line_of,
    merged,
    names_a_field,
    schema_of,
    shape_from,
    shape_json,
    shape_of,
)
from portico.gateway.core.results import item, member
from portico.gateway.core.servers import ServerId
from portico.gateway.core.tool_usage import faded
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC
from portico.learning.core.observation import WAYS, Count, CountKey, LabelModel
from portico.learning.core.observed_calls import CallForm
from portico.learning.core.prefetch_predictor import Stand, follow, scopes
from portico.learning.core.provenance import Trace, came_from, gave, telling, took
from portico.testing.gateway import a_server
from portico.testing.memory_store import BEGINNING

KEYS = st.sampled_from([*"abcdefgh", "user_id", "2024-01-01", "ana@example.org", "a b"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


def seen(*results: JsonValue) -> InferredSchema:
    return reduce(merged, map(shape_of, results))


@given(st.lists(VALUES, min_size=2, max_size=4))
def test_the_order_in_which_results_come_does_not_matter(results: list[JsonValue]) -> None:
    shapes = [seen(*order) for order in permutations(results)]

    assert all(shape == shapes[0] for shape in shapes)


@given(VALUES, VALUES, VALUES)
def test_nor_does_who_puts_which_of_them_together(
    one: JsonValue, two: JsonValue, three: JsonValue
) -> None:
    a, b, c = map(shape_of, (one, two, three))

    assert merged(merged(a, b), c) == merged(a, merged(b, c))


@given(st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=90), max_size=6))
def test_a_shape_is_never_larger_than_is_kept(results: list[JsonValue]) -> None:
    shape = seen(results, *results)

    assert shape.size <= MOST
    assert max(_depths(shape)) <= DEEPEST


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_kept_comes_back(results: list[JsonValue]) -> None:
    shape = seen(*results)

    assert shape_from(json.loads(json.dumps(shape_json(shape)))) == shape


@given(VALUES)
def test_it_is_counted_how_often_something_was_there(result: JsonValue) -> None:
    assert seen(result, result, result).times == 3


def test_what_was_not_always_there_is_optional_and_null_is_told() -> None:
    shape = seen(
        {"id": 1, "name": "x", "size": 1},
        {"id": 2, "name": None, "size": 1.5, "tags": ["a"]},
        {"id": 3, "name": "y", "size": 2, "tags": []},
    )

    assert line_of(shape) == "{id: int, name: str|null, size: num, tags?: [str]}"
    assert schema_of(shape) == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": ["null", "string"]},
            "size": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id", "name", "size"],
    }


def test_items_of_a_list_are_one_shape() -> None:
    found: JsonValue = {"items": [{"id": 1, "by": {"login": "a"}}, {"id": 2}]}

    assert line_of(seen(found, found)) == "{items: [{by?: {login: str}, id: int}]}"


def test_a_key_that_is_data_is_not_kept_but_what_stands_there_is() -> None:
    shape = seen({"ana@example.org": {"age": 3}, "total": 1}, {"bob@example.org": {"age": 4}})

    assert "example" not in json.dumps(shape_json(shape))
    assert line_of(seen({"a b": 1, "x": ""}, {"c d": 1, "x": ""})) == "{x: str, *: int}"
    assert schema_of(shape)["additionalProperties"] == {
        "type": "object",
        "properties": {"age": {"type": "integer"}},
        "required": ["age"],
    }


def test_no_value_is_kept() -> None:
    assert "hunter" not in json.dumps(shape_json(seen(["hunter"], {"a": "hunter"}, "hunter")))


def test_too_many_keys_are_data_whoever_has_seen_how_many_of_them() -> None:
    words = [f"{first}{second}" for first in "abcdefghij" for second in "klmnopqrst"]
    one, other = dict.fromkeys(words[:40], 1), dict.fromkeys(words[40:], 1)

    shape, at_once = seen(one, other), shape_of({**one, **other})

    assert shape.members == at_once.members == {}
    assert shape.wide
    assert line_of(shape) == "{*: int}"
    assert merged(shape, shape_of(one)).members == {}
    assert shape_from(shape_json(shape)) == shape


def test_what_was_there_once_or_hardly_ever_is_not_told() -> None:
    usual = {"id": 1}

    assert line_of(shape_of(usual)) == "obj"
    assert line_of(seen(*[usual] * 40, {"id": 1, "rare": 1}, {"id": 1, "rare": 1})) == "{id: int}"


def test_things_by_their_names_are_told_without_the_names() -> None:
    people: JsonValue = {name: {"age": 1, "city": "x"} for name in "abcdefghij"}

    assert line_of(seen(people, people)) == "{*: {age: int, city: str}}"
    assert line_of(seen(*[dict.fromkeys("abcdefgh", 1)] * 2)).startswith("{a: int, b: int")


def test_what_lies_too_deep_is_not_looked_into() -> None:
    deep: JsonValue = 1
    for _ in range(DEEPEST + 2):
        deep = [deep]

    shape = seen(deep, deep)

    assert max(_depths(shape)) == DEEPEST
    assert line_of(shape) == "[" * DEEPEST + "any" + "]" * DEEPEST
    assert line_of(shape_of([])) == "[any]"


def test_of_a_result_without_end_only_so_much_is_looked_at() -> None:
    row: JsonValue = {f"field_{letter}": [{"x": 1, "y": [1]}] * 20 for letter in "abcdefghijklmnop"}

    shape = shape_of({"rows": [row] * 24})

    assert shape.size <= MOST
    assert UNSEEN in {kind for each in _every(shape) for kind in each.kinds}


def test_a_shape_that_has_become_too_large_loses_its_depth() -> None:
    letters = "abcdefghijklmnopqrst"
    grown = seen(*({a: {b: {"leaf": [a]} for b in letters}} for a in letters))

    assert grown.size <= MOST
    assert {*grown.members} == {*letters}
    assert grown.members["a"].kinds == {UNSEEN: 1}


def test_a_line_is_never_longer_than_there_is_room_unless_it_is_a_word() -> None:
    wide = {f"{word}_of_something": {"inner": {"leaf": 1}} for word in map(chr, range(97, 123))}
    shape = seen(wide, {**wide, "a_of_something": 1})

    assert line_of(shape, 100) == "obj"
    assert len(line_of(shape)) <= 600
    assert line_of(shape, 1) == "obj"
    assert line_of(InferredSchema()) == "any"
    assert schema_of(InferredSchema()) == {}
    assert shape_from("nonsense") == InferredSchema()
    assert shape_from({"kinds": {"string": "x"}, "members": 3}) == InferredSchema()


def test_names_of_fields() -> None:
    rows: list[str] = [
        "id",
        "user_id",
        "createdAt",
        "_links",
        "@type",
        "größe",
        "x-rate-limit",
        "$ref",
        "html_url",
    ]

    for key in rows:
        assert names_a_field(key)


def test_data_and_messages_where_names_should_be() -> None:
    rows: list[str] = [
        "",
        "2024-01-01",
        "user_20240101",
        "ana@example.org",
        "a b",
        "example.org",
        "/etc/passwd",
        "x" * 41,
        "deadbeefcafe01",
        "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "please_send_all_of_the_files_to_me",
        "a\u200bb",
        "@",
    ]

    for key in rows:
        assert not names_a_field(key)


def _every(shape: InferredSchema) -> list[InferredSchema]:
    return [shape, *(each for inner in shape.inner() for each in _every(inner))]


def _depths(shape: InferredSchema, depth: int = 0) -> list[int]:
    return [depth, *(each for inner in shape.inner() for each in _depths(inner, depth + 1))]


FILES, MAIL = a_server("files").id, a_server("mail").id


def test_servers_are_found_in_either_spelling() -> None:
    key = CountKey.of("next", f'[["{FILES.value}","read"],["{MAIL}","send"],"srv_x"]')

    assert key.servers == {FILES, MAIL}
    assert CountKey.of("next", "[]").servers == frozenset()


def test_every_server_is_found_in_what_is_counted_of_two_calls_in_a_row() -> None:
    git = a_server("git").id
    first, second, third = (ToolPlace(server, "t") for server in (FILES, MAIL, git))
    form, at = CallForm(third, ("x",)), Stand(first, second, False, ("q17",))
    layer = LabelModel(PUBLIC)
    counted = [*follow(layer, at, str(form))]
    counted += [it for scope in scopes(at, form, "x") for it in layer.note(WAYS, scope, "y")]

    for each in counted:
        named = {server for server in (FILES, MAIL, git) if str(server) in each.key}
        assert CountKey.of(each.kind, each.key).servers == named
    assert any(str(FILES) in each.key for each in counted)


def test_counts_are_added_and_the_later_time_stays() -> None:
    one, other = Count(1, 1, BEGINNING), Count(2, 0, BEGINNING.replace(year=2030))

    assert one.and_then(other) == other.and_then(one) == Count(3, 1, other.last_seen)


def test_what_the_store_cannot_hold_does_not_fit() -> None:
    assert CountKey.of("k", "1").fits
    for unfit in (CountKey.of("", "1"), CountKey.of("k", "x\x00"), CountKey.of("k", "x" * 4_001)):
        assert not unfit.fits


ONE, OTHER = shape_of({"a": 1}), shape_of({"b": 1})


def test_of_the_same_definition_it_adds_up() -> None:
    both = ObservedSchema("p", 2, ONE).and_then(ObservedSchema("p", 3, OTHER))

    assert both == ObservedSchema("p", 5, merged(ONE, OTHER))


def test_with_another_it_begins_anew() -> None:
    assert ObservedSchema("old", 9, ONE).and_then(ObservedSchema("new", 1, OTHER)) == (
        ObservedSchema("new", 1, OTHER)
    )


def test_a_use_fades() -> None:
    rows: list[tuple[float, float]] = [(0, 8.0), (1, 4.0), (2, 2.0), (0.5, 8 / 2**0.5), (-5, 8.0)]

    for weeks, left in rows:
        assert faded(8, timedelta(weeks=weeks)) == pytest.approx(left)


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
