"""Expressions mean what JMESPath says, and whoever writes one wrongly is told where."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.jmespath.evaluation import MOST_BUILT, MOST_WORK, Bounded, Meter
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import (
    WHOLE,
    ExpressionFailed,
    ExpressionTooLarge,
    InvalidExpression,
)

EXPRESSIONS = JmespathExpressions()
DOCUMENT: JsonObject = {
    "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "ho"}],
    "json": {"n": 3, "people": [{"name": "Ada", "age": 36}, {"name": "Bo", "age": 7}], "no": None},
    "text": "hi\nho",
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("text", "hi\nho"),
        ("content[0].text", "hi"),
        ("content[*].text", ["hi", "ho"]),
        ("content[-1:].text", ["ho"]),
        ("json.gone.further", None),
        ("json.people[?age > `18`].name | [0]", "Ada"),
        ("json.people[].{who: name, old: age >= `18`}", [
            {"who": "Ada", "old": True},
            {"who": "Bo", "old": False},
        ]),
        ("json.people[?name != 'Ada'].age", [7]),
        ("sort_by(json.people, &age)[*].name", ["Bo", "Ada"]),
        ("max_by(json.people, &age).name", "Ada"),
        ("length(json.people) == `2` && json.n == `3`", True),
        ("json.people == `[]`", False),
        ("json.people[0] == json.people[1]", False),
        ("content[0].type == content[1].type", True),
        ("json.n == `true`", False),
        ("not_null(json.no, text)", "hi\nho"),
        ("join(', ', json.people[*].name)", "Ada, Bo"),
        ("to_string(json.people[0])", '{"name":"Ada","age":36}'),
        ("contains(json.people[*].name, 'Bo')", True),
        ("keys(json)", ["n", "people", "no"]),
        ("json.people[*].[name, age][]", ["Ada", 36, "Bo", 7]),
        ("content[*].type | @[0]", "text"),
        ("json.*", [3, DOCUMENT["json"]["people"]]),  # type: ignore[index,call-overload]  # it is there
        ("`{\"a\": [1]}`", {"a": [1]}),
        ("!(json.no)", True),
        ("!text", False),
    ],
)  # fmt: skip
def test_an_expression_finds_what_it_says(expression: str, value: JsonValue) -> None:
    EXPRESSIONS.check(expression)

    assert EXPRESSIONS.search(expression, DOCUMENT) == value


@pytest.mark.parametrize(
    ("expression", "roots"),
    [
        ("read.json.items[?ok].name", {"read"}),
        ("a.b || c.d && !e", {"a", "c", "e"}),
        ("a[*].b | [0].c", {"a"}),
        ("sort_by(a.json, &x.y)[0]", {"a"}),
        ("{x: a.b, y: c}", {"a", "c"}),
        ("[a, b.c]", {"a", "b"}),
        ("a.json == `{\"b\": 1}`", {"a"}),
        ("length(inputs.list) > `3`", {"inputs"}),
        ("\"my-step\".text", {"my-step"}),
        ("a[?b == c]", {"a"}),
        ("a.*.b", {"a"}),
        ("a[].b", {"a"}),
        ("@", {WHOLE}),
        ("*.json", {WHOLE}),
        ("[0]", {WHOLE}),
        ("[?ok]", {WHOLE}),
        ("keys(@) || a", {WHOLE, "a"}),
        ("`1`", set()),
    ],
)  # fmt: skip
def test_what_it_looks_up_in_its_document_is_known_before(expression: str, roots: set[str]) -> None:
    assert EXPRESSIONS.roots(expression) == roots


@pytest.mark.parametrize(
    ("expression", "position", "what"),
    [
        ("", 0, "it is empty"),
        ("a.", 2, "it ends too early"),
        ("a b", 2, "'b' was not expected"),
        ("a[?b", 4, "it ends too early"),
        ("a ; b", 2, "Unknown token"),
        ("'open", 0, "Unclosed"),
        ("a == `x`", 5, "stands JSON"),
        ("a.nothing(b)", 2, "no function 'nothing'"),
        ("len(a)", 0, "Did you mean 'length'?"),
        ("zzz(a)", 0, "no function 'zzz'."),
        ("a && !b.c", 5, "write !(a.b)"),
        ("length(a, b)", 0, "length takes 1 arguments, and is given 2"),
        ("a && not_null()", 5, "not_null takes 1 arguments, and is given 0"),
        ("a" * 1001, 1000, "longer than 1,000"),
        ("!" * 200 + "a", 0, "nested more than 64 levels"),
        ("(" * 900 + "a", 0, "it cannot be read"),
    ],
)
def test_what_is_none_is_told_where(expression: str, position: int, what: str) -> None:
    for ask in (EXPRESSIONS.check, EXPRESSIONS.roots):
        with pytest.raises(InvalidExpression) as refused:
            ask(expression)

        assert what in refused.value.what
        assert refused.value.position == position


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("length(json.n)", "length is given a value of type number"),
        ("sort(content)", "sort is given a value of type dict"),
        ("join(`1`, content)", "join is given"),
        ("join('', `[[1]]`)", "join is given"),
        ("json.n > 'a'", "does not fit"),
        ("contains(text, json.n)", "does not fit"),
        ("content[::0]", "does not fit"),
        ("to_string(&a)", "does not fit"),
        ("[&a]", "does not fit"),
        ("&a", "does not fit"),
        ("to_number('1e999')", "does not fit"),
        ("`NaN`", "does not fit"),
        ("`[NaN]`", "does not fit"),
        ("sum(`[1e308, 1e308]`)", "does not fit"),
        ("ceil(to_number('inf'))", "does not fit"),
    ],
)
def test_what_does_not_fit_the_values_is_a_failure_in_our_words(expression: str, what: str) -> None:
    with pytest.raises(ExpressionFailed) as refused:
        EXPRESSIONS.search(expression, DOCUMENT)

    assert what in refused.value.what


def test_a_refusal_does_not_repeat_what_was_there() -> None:
    with pytest.raises(ExpressionFailed) as refused:
        EXPRESSIONS.search("abs(text)", {"text": "a secret " * 1_000})

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("expression", ["length(a.items) > 0", "a.b == -1", "0 < a.b"])
def test_whoever_writes_a_bare_number_is_told_how_numbers_are_written(expression: str) -> None:
    with pytest.raises(InvalidExpression, match="between backticks"):
        JmespathExpressions().check(expression)


PEOPLE: list[JsonValue] = [
    {"id": number, "name": f"n{number}", "tags": ["a"]} for number in range(2_000)
]
WIDE: JsonValue = [list(range(300)) for _ in range(300)]
LONG = "x" * 200_000


def piped(part: str, times: int) -> str:
    return " | ".join([part] * times)


HOSTILE: dict[str, tuple[str, JsonValue]] = {
    "the same twice, and twice again": (piped("[@,@]", 40), 1),
    "the same twice, by name": (piped("{a:@,b:@}", 40), 1),
    "made real at every step": (piped("[@,@][]", 40), 1),
    "made real by a projection": (piped("[@,@][*][]", 40), [[1]]),
    "written out": (f"to_string({piped('[@,@]', 30)})", 1),
    "written out, and that again": (piped("to_string([@,@])", 30), "x"),
    "joined": (piped("join(',', [@,@])", 50), "some text"),
    "joined by much": (f"join('{'x' * 400}', [*].name)", [{"name": "a"}] * 20_000),
    "compared": (f"[{piped('[@,@]', 25)}, {piped('[@,@]', 25)}] | [0] == [1]", 1),
    "compared one by one": ("[?tags == [`1`, `2`] || @ == `{}`]" + "[]" * 3, PEOPLE * 20),
    "searched": (f"contains({piped('[@,@]', 25)}, `1`)", 1),
    "turned round": (piped("reverse([@,@][])", 40), [1]),
    "sorted": (piped("sort([@,@][])", 40), ["b", "a"]),
    "every one with every one": ("[*].[[*],[*]][][]" * 8, WIDE),
    "every level": ("[*][*][*]", [WIDE] * 30),
    "flattened wide": (piped("[*][*][]", 10), [WIDE] * 10),
    "mapped inside mapped": ("map(&map(&map(&[@,@],@),@),@)", [WIDE] * 4),
    "sorted by what is made": ("sort_by(@, &to_string(@))[0]", [WIDE] * 10),
    "all values of all": (
        "*.*[*][*]",
        {str(n): {str(m): WIDE for m in range(9)} for n in range(9)},
    ),
    "a filter in a filter": ("[?[?[?@ == `1`]]]", [WIDE] * 10),
    "merged": (piped("merge(@, {a: @, b: @})", 40), {"a": 1}),
    "long texts": ("[@,@,@,@,@,@]", LONG),
    "long names": (piped("{a: @, b: @}", 20), {LONG: 1}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_would_grow_without_end_is_stopped(name: str) -> None:
    expression, document = HOSTILE[name]

    with pytest.raises(ExpressionTooLarge):
        EXPRESSIONS.search(expression, document)


PARTS = st.sampled_from([
    "@", "[@,@]", "[@,@,@][]", "{a:@,b:@}", "[*]", "[]", "*", "[0]", "[::-1]", "a", "[?@]",
    "to_string(@)", "to_array(@)", "join('', [to_string(@), to_string(@)])", "values(@)",
    "keys(@)", "reverse(@)", "sort(@)", "map(&[@,@], @)", "sort_by(@, &to_string(@))",
    "[@ == @, @ != @]", "contains(to_array(@), @)", "merge({a:@}, {b:@})", "not_null(@)",
    "max_by(@, &to_string(@))", "length(@)", "type(@)", "group", "[1:][*][]", "{x:[@,[@]]}",
])  # fmt: skip
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(st.lists(PARTS, min_size=1, max_size=30), DOCUMENTS)
def test_any_chain_of_them_ends_small_or_is_stopped(parts: list[str], document: JsonValue) -> None:
    expression = " | ".join(parts)

    try:
        found = EXPRESSIONS.search(expression, document)
    except PorticoError:
        return

    assert len(json.dumps(found, ensure_ascii=False)) <= MOST_BUILT + len(json.dumps(document))


def test_what_is_only_found_may_be_as_large_as_it_is() -> None:
    document: JsonValue = {"text": "x" * 3_000_000, "list": [0] * 500_000}

    assert EXPRESSIONS.search("text", document) == "x" * 3_000_000
    assert EXPRESSIONS.search("list", document) == [0] * 500_000
    assert EXPRESSIONS.search("not_null(text)", document) == "x" * 3_000_000


def test_the_work_for_what_people_write_is_within_the_bounds() -> None:
    found = EXPRESSIONS.search("[?contains(tags, 'a')].{id: id, name: name}", PEOPLE)

    assert isinstance(found, list)
    assert len(found) == 2_000


def test_work_is_counted_until_there_is_none_left() -> None:
    meter = Meter()
    meter.spend(MOST_WORK)

    with pytest.raises(Exception, match="takes too long"):
        meter.spend(1)


def test_each_evaluation_has_its_own_meter() -> None:
    assert Bounded() is not Bounded()
    for _ in range(30):
        EXPRESSIONS.search("[*].name", PEOPLE)
