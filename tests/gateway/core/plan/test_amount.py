"""How many calls a run may make, all in all."""

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.plan.amount import MOST_CALLS, Amount, TooManyCalls, known_calls
from portico.gateway.core.plan.faults import BadPlan
from portico.gateway.core.plan.reading import read_plan
from portico.kernel.json import JsonObject

EXPRESSIONS = JmespathExpressions()


def over(number: int, items: int) -> JsonObject:
    each: JsonObject = {"in": [0] * items, "most": 1_000}
    return {"id": f"s{number}", "tool": "a.b", "for_each": each}


def test_as_many_as_may_be_are_counted_and_no_more() -> None:
    amount = Amount(3)
    amount.add(2)
    amount.add(1)

    with pytest.raises(TooManyCalls, match="more than 3 calls"):
        amount.add(1)


def test_what_is_listed_is_known_before() -> None:
    later: JsonObject = {"id": "l", "tool": "a.b", "for_each": {"in": {"$from": "s1.items"}}}

    its = read_plan({"steps": [over(1, 5), later, {"id": "o", "tool": "a.b"}]}, EXPRESSIONS)

    assert known_calls(its) == 7


def test_a_plan_that_lists_more_is_refused() -> None:
    fits = [over(number, 1_000) for number in range(MOST_CALLS // 1_000)]

    assert known_calls(read_plan({"steps": fits}, EXPRESSIONS)) == MOST_CALLS
    with pytest.raises(BadPlan, match="would make 10,001 calls") as caught:
        read_plan({"steps": [*fits, {"id": "o", "tool": "a.b"}]}, EXPRESSIONS)
    assert [fault.place for fault in caught.value.faults] == ["/steps"]
