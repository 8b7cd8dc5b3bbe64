"""What is learnt of results: the same in whichever order they come, bounded, and no values."""

import json
from functools import reduce
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.shape_keys import names_a_field
from portico.gateway.core.shape_text import line_of, schema_of, shape_from, shape_json
from portico.gateway.core.shapes import DEEPEST, MOST, UNSEEN, Shape, merged, shape_of
from portico.kernel.json import JsonValue

KEYS = st.sampled_from([*"abcdefgh", "user_id", "2024-01-01", "ana@example.org", "a b"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


def seen(*results: JsonValue) -> Shape:
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


@pytest.mark.timeout(60)  # what is large takes long to think up
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
    assert line_of(Shape()) == "any"
    assert schema_of(Shape()) == {}
    assert shape_from("nonsense") == Shape()
    assert shape_from({"kinds": {"string": "x"}, "members": 3}) == Shape()


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


def _every(shape: Shape) -> list[Shape]:
    return [shape, *(each for inner in shape.inner() for each in _every(inner))]


def _depths(shape: Shape, depth: int = 0) -> list[int]:
    return [depth, *(each for inner in shape.inner() for each in _depths(inner, depth + 1))]
