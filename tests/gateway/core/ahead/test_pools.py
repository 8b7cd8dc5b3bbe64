"""Every value that an answer has, at a place that is the same in every answer of its tool."""

from hypothesis import given as drawn
from hypothesis import strategies as st

from portico.gateway.core.ahead.pools import answered, given, said
from portico.gateway.core.ahead.spoken import sort_of, spoken
from portico.kernel.json import JsonValue

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
