"""No expression, however it is built, takes long or makes much."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.jmespath.bounded import Bounded
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.jmespath.meter import MOST_BUILT, MOST_WORK, Meter
from portico.gateway.core.plan.expressions import ExpressionTooLarge
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue

EXPRESSIONS = JmespathExpressions()
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
