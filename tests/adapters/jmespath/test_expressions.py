"""Expressions mean what JMESPath says, and whoever writes one wrongly is told where."""

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.plan.expressions import WHOLE, BadExpression, ExpressionFailed
from portico.kernel.json import JsonObject, JsonValue

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
        with pytest.raises(BadExpression) as refused:
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
    with pytest.raises(BadExpression, match="between backticks"):
        JmespathExpressions().check(expression)
