"""Work that goes into what steps are given is bounded, for a step and for the whole run."""

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.plan.effort import MOST_OF_RUN, MOST_OF_STEP, Effort, TooMuchEffort
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.resolving import arguments, output, with_item
from portico.kernel.json import JsonObject, JsonValue
from tests.gateway.core.plan.at_once import arguments_of

EXPRESSIONS = JmespathExpressions()


def plan_of(**more: JsonValue) -> JsonObject:
    return {"steps": [{"id": "b", "tool": "x.read", **more}], "inputs": {"big": {"type": "array"}}}


def test_a_step_has_its_share_and_all_of_them_theirs() -> None:
    run = Effort.of_run()
    first = run.of_step()

    first.spend(MOST_OF_STEP)
    with pytest.raises(TooMuchEffort, match="the step"):
        first.spend(1)
    for _ in range(MOST_OF_RUN // MOST_OF_STEP - 1):
        run.of_step().spend(MOST_OF_STEP)
    with pytest.raises(TooMuchEffort, match="the whole run"):
        run.of_step().spend(1)


def test_many_references_stop_in_between_and_dear_ones_more_often() -> None:
    dear = {f"p{n}": {"$from": "inputs.big[?a > `-1`] | length(@)"} for n in range(5)}
    step = read_plan(plan_of(arguments=dear), EXPRESSIONS).steps[0]
    known = {"inputs": {"big": [{"a": number} for number in range(3_000)]}}
    effort = Effort.of_run()

    resolving = arguments(step, known, EXPRESSIONS, effort)

    assert len([*resolving]) == 5
    assert resolving.value() == {f"p{n}": 3_000 for n in range(5)}
    assert effort.spent > 5 * 30_000


def test_what_is_given_again_and_again_is_spent_each_time() -> None:
    given = {"text": {"$text": "${index} ${inputs.big[0]}"}}
    document = plan_of(arguments=given, for_each={"in": [1]})
    step = read_plan(document, EXPRESSIONS).steps[0]
    known = {"inputs": {"big": ["x" * 3_900_000]}}
    effort = Effort.of_run().of_step()

    def all_of_them() -> None:
        for index in range(1_000):
            assert [*arguments(step, with_item(known, index, index), EXPRESSIONS, effort)]

    with pytest.raises(TooMuchEffort):
        all_of_them()
    assert effort.spent < 2 * MOST_OF_STEP


def test_what_an_expression_took_is_spent_though_it_failed() -> None:
    effort = Effort(15, "the step")

    with pytest.raises(TooMuchEffort):
        EXPRESSIONS.search("a.b.c", {"a": {"b": {"c": 1}}}, effort)


def test_at_once_it_comes_to_the_same() -> None:
    plan = read_plan(
        {**plan_of(arguments={"a": {"$from": "inputs.big"}}), "output": {"$from": "b.json.x"}},
        EXPRESSIONS,
    )
    resolving = output(plan, {"b": {"json": {"x": [1]}}}, EXPRESSIONS)

    assert not [*resolving]
    assert resolving.value() == [1]
    assert arguments_of(plan.steps[0], {"inputs": {"big": [2]}}, EXPRESSIONS) == {"a": [2]}
