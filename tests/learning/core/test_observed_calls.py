"""What one task did last and said: bounded, and over after a while."""

import json
from time import process_time

from hypothesis import given as drawn
from hypothesis import strategies as st

from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.observed_calls import call_key, seen_call
from portico.learning.core.observed_values import (
    LONGEST,
    answered,
    given,
    nobodys,
    own_values,
    parameters_of,
    reading,
    said,
    sort_of,
    spoken,
)
from tests.learning.core.prefetch.tasks import LIST, READ, call, later, text, values, window


def test_a_window_holds_the_last_calls() -> None:
    many = window(*(call(READ, {"n": number}) for number in range(100)))

    assert len(many.calls) == 32
    assert many.calls[-1].arguments == {"n": 99}


def test_a_window_holds_so_many_values() -> None:
    large = [call(LIST, {}, values([f"v{n}" for n in range(150)] * 6))] * 40
    wide = [call(LIST, {}, text("a b c d e f g\n" * 200))] * 40

    for calls in (large, wide):
        assert sum(it.values for it in window(*calls).calls) <= 4_000
    assert len(window(*wide).calls) < 32


def test_an_answer_that_is_too_large_is_not_looked_at() -> None:
    assert call(LIST, {"a": "x"}, text("a b\n" * 100_000)).places.keys() == {"given.a"}


def test_words_are_kept_once_and_bounded() -> None:
    found = window()
    for number in range(20):
        found = found.told(f"text {number}").told("   ")

    assert found.words == tuple(f"text {number}" for number in range(12, 20))
    assert found.told("text 19") is found
    assert len(found.told("x" * 9_000).words[-1]) == 2_000


def test_a_session_is_over_after_a_while() -> None:
    assert not window().over(later(60))
    assert not window(call(LIST, {})).over(later(9))
    assert window(call(LIST, {})).over(later(11))
    busy = window(*(call(LIST, {}, at=later(5 * number)) for number in range(7)))
    assert busy.over(later(31))
    assert not busy.over(later(30))


def test_a_call_is_known_again() -> None:
    first: JsonObject = {"a": 1, "b": [2]}

    assert call_key(LIST, first) == call_key(LIST, {"b": [2], "a": 1})
    assert call_key(LIST, first) != call_key(READ, first)
    assert call_key(LIST, {"a": float("nan")}) == b""


def test_the_path_that_a_call_was_made_for_is_known() -> None:
    assert call(LIST, {"deep": True, "path": "/a/b"}).base == "/a/b"
    assert call(LIST, {"path": "/" + "a" * 400, "query": "x"}).base is None


def test_of_parameters_that_no_definition_lists_nothing_is_held() -> None:
    found = seen_call(
        READ, {"path": "/a", "alice": 1}, text(""), ended=later(0), reads=True, parameters={"path"}
    )

    assert (found.key, found.arguments) == (b"", {})
    assert call(READ, {"path": "/a"}).key == call_key(READ, {"path": "/a"})


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40)


def at(value: JsonValue, place: str) -> list[str | int | float]:
    return answered(value).places[place].values


def test_values_stand_at_paths() -> None:
    found: JsonValue = {"items": [{"id": 7, "done": True, "by": None}, {"id": 8}], "total": 2.5}

    assert at(found, "json.items[0].id") == [7, 8]
    assert at(found, "json.total") == [2.5]
    assert answered(found).places.keys() == {"json.items[0].id", "json.total"}


def test_a_key_that_is_data_is_a_value_and_no_part_of_a_place() -> None:
    found = {"ada@example.org": {"age": 5}}

    assert at(found, "json!") == ["ada@example.org"]
    assert at(found, "json.*.age") == [5]


def test_keys_of_things_that_are_alike_are_data() -> None:
    found: JsonValue = {"alice": {"age": 5}, "bob": {"age": 6}}

    assert at(found, "json!") == ["alice", "bob"]
    assert at(found, "json.*.age") == [5, 6]
    assert at({"page": {"number": 1}, "user": {"age": 7}}, "json.user.age") == [7]


def test_values_of_one_item_stand_in_one_row() -> None:
    places = answered({"a": [{"x": 1, "y": [2, 3]}], "b": [{"x": 4}]}).places

    assert places["json.a[0].x"].rows == [1]
    assert places["json.a[0].y[0]"].rows == [1, 1]
    assert places["json.b[0].x"].rows == [2]


def test_lines_have_marks_and_columns() -> None:
    text = "[FILE] a.txt\n[DIR] sub\n\nAuthor: Ada Lovelace\nplain words, here"

    assert at(text, "text|[FILE]|1") == ["a.txt"]
    assert at(text, "text|[DIR]|") == ["sub"]
    assert at(text, "text|Author:|") == ["Ada Lovelace"]
    assert at(text, "text||1") == ["words"]


def test_values_are_found_inside_prose() -> None:
    text = "see https://x.org/a, or /home/x.txt in 'the box' at 10:30 by 2026-01-05; ask a@b.org"

    assert at(text, "text~url") == ["https://x.org/a"]
    assert at(text, "text~path") == ["/home/x.txt"]
    assert at(text, "text~quoted") == ["the box"]
    assert at(text, "text~time") == ["10:30"]
    assert at(text, "text<by") == ["2026-01-05"]
    assert at(text, "text~email") == ["a@b.org"]
    assert "text~word" not in answered(text).places


def test_a_single_word_is_only_itself() -> None:
    assert answered("done").places.keys() == {"text"}
    assert given({"path": "/a b"}).places.keys() >= {"given.path", "given.path||0"}


def test_words_of_the_caller_are_values_the_latest_first() -> None:
    places = said(["read notes.md of Krill", "open Lotus"]).places

    assert places["said~name"].values == ["Lotus", "Krill"]
    assert places["said<of"].values == ["Krill"]
    assert places["said~file"].values == ["notes.md"]


def test_signs_that_are_no_words_are_passed_over() -> None:
    assert list(spoken("... !! ?")) == []
    assert dict(spoken("%")) == {"other": "%"}


def test_values_are_sorted_roughly() -> None:
    sorts = [sort_of(it) for it in (5, "5", "/a", "a/b", "abc", "a b", "x" * 2_000, "Asia/Tokyo")]

    assert sorts == ["n", "n", "p", "i", "w", "t", "t", "z"]


def test_no_answer_is_too_large() -> None:
    many = [{f"k{chr(97 + n % 26)}{chr(97 + n // 26)}": f"v{n}" * 3 for n in range(600)}]
    deep: JsonValue = 1
    for _ in range(40):
        deep = [deep]
    line = "a-b_c/d.e 'q' " * 5_000

    for value in (many, deep, line, "\n".join(["x y z"] * 5_000), [[1] * 500] * 500, ["y" * 600]):
        pools = answered(value)
        assert pools.held <= 800
        assert len(pools.places) <= 120
    long: JsonValue = "x"
    for _ in range(5):
        long = {"extraordinarily_long_name_of_fields": long}
    assert answered(long).held == 0


@drawn(
    st.recursive(
        _LEAVES,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        ),
        max_leaves=20,
    )
)
def test_every_value_has_its_row(value: JsonValue) -> None:
    for pool in answered(value).places.values():
        assert len(pool.values) == len(pool.rows) > 0


def test_values_are_read_from_texts() -> None:
    rows: list[tuple[str, JsonValue]] = [
        ('{"a": 1}', {"a": 1}),
        (
            "[{'id': 1, 'name': \"O'Neil\", 'note': 'it\\'s\\n\\t\\\\'}]",
            [{"id": 1, "name": "O'Neil", "note": "it's\n\t\\"}],
        ),
        ("[('a', None, True, False,)]", [["a", None, True, False]]),
        ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}, {"a": 2}  ', [{"a": 1}, {"a": 2}]),
        ("{'a': }", "{'a': }"),
        ("plain words", "plain words"),
        ("[" * 100_000, "[" * LONGEST),
        ("('" * 9, "('" * 9),
        ("", ""),
    ]

    for told, found in rows:
        assert reading({"json": None, "text": told}) == found


def test_a_text_in_an_envelope_is_a_text() -> None:
    assert reading({"json": {"content": "[1, 2]"}, "text": "x"}) == [1, 2]
    assert reading({"json": "words", "text": "x"}) == "words"
    assert reading({"json": {"id": "abc"}, "text": "x"}) == {"id": "abc"}
    assert reading({"json": {"content": 3}, "text": "x"}) == {"content": 3}
    assert reading({"json": [1], "text": "x"}) == [1]
    assert reading({"json": None, "text": None}) == ""


def test_only_so_many_documents_are_read_one_after_another() -> None:
    read = reading({"json": None, "text": "{}" * 1_000})

    assert isinstance(read, list)
    assert len(read) == 200


@drawn(st.text(alphabet="[]{}()'\"\\,:truTeFalsN 1\n", max_size=200))
def test_whatever_is_answered_is_read(text: str) -> None:
    assert json.dumps(reading({"json": None, "text": text}))


def test_no_answer_takes_long_to_read() -> None:
    began = process_time()

    reading({"text": "[" + "\\'" * 30_000})
    reading({"text": "[" + '\\"' * 30_000})

    assert process_time() - began < 2


def test_what_everybody_says_is_nobodys() -> None:
    rows: list[JsonValue] = [
        None,
        True,
        5,
        5.0,
        0.25,
        "**/*.md",
        "SELECT COUNT(*) FROM x WHERE a IS NULL LIMIT 20",
        "-",
        ["a", 1],
        {},
    ]

    for value in rows:
        assert nobodys(value)


def test_what_may_be_somebodys_is_not() -> None:
    rows: list[JsonValue] = [
        101,
        9_999,
        73_512.5,
        48.85837,
        48.85,
        19.99,
        0.12345,
        float("nan"),
        "Ada",
        "alice",
        "bob",
        "hiv",
        "1234",
        "555-1234",
        "55-12",
        "47.11",
        "s3cr3",
        "main",
        "notes.md",
        "١٢",
        "73512",
        "customers",
        "/home/ada",
        "a@b.c",
        "call me at two or so",
        "SELECT name FROM salaries",
        "SELECT * FROM x WHERE a = 'bob'",
        "a" * 300,
        ["Ada"],
        [1, 2, 3, 4, 5],
        {"a": 1},
    ]

    for value in rows:
        assert not nobodys(value)


def test_what_a_tools_own_definition_names_is_its_makers() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "order": {"enum": ["ascending", 3], "default": "descending"},
            "zone": {"anyOf": [{"const": "Europe/Paris"}, {"examples": ["Asia/Tokyo"]}, 7]},
            "name": {"description": "the name", "default": "x" * 300},
            "kind": {"description": "Those here ('local'), or `all-of.them`; it's not 'a b'"},
            "description": {"const": "short"},
        },
    }

    own = own_values(schema)

    enumerated = {"ascending", "descending", "Europe/Paris", "Asia/Tokyo", "short"}
    assert own == enumerated | {"local", "all-of.them"}
    assert nobodys("descending", own)


def test_a_definition_is_not_followed_for_ever() -> None:
    deep: JsonValue = {"const": "bottom"}
    for _ in range(12):
        deep = {"items": deep}

    assert own_values({"items": deep}) == frozenset()


def test_parameters_are_those_that_a_definition_lists() -> None:
    assert parameters_of({"properties": {"path": {}}}) == {"path"}
    assert parameters_of({"properties": ["path"]}) == frozenset()
