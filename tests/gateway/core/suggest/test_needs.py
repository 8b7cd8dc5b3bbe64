"""What plans taught: what comes before a tool, after it, and who gives what it is told."""

import pytest

from portico.gateway.core.edges.flows import Flow, Flows
from portico.gateway.core.plan.plan import Reference
from portico.gateway.core.suggest.needs import Learnt
from portico.gateway.core.suggest.past import PastPlan
from portico.gateway.core.suggest.skeleton import PastStep, Unknown
from tests.gateway.core.suggest.errands import LIST, READ, READ_AND_SEND, SEND, SIGN, a_plan

NOTHING = Learnt.of([])


def test_a_need_is_the_share_of_plans_that_had_it_shrunk() -> None:
    learnt = Learnt.of([a_plan("a", READ, SEND), a_plan("b", READ, SEND), a_plan("c", LIST, SEND)])

    assert learnt.need(SEND, READ) == pytest.approx(2 / 4)
    assert learnt.need(SEND, LIST) == pytest.approx(1 / 4)
    assert learnt.need(READ, SEND) == learnt.need("un.heard", READ) == 0


def test_what_was_handed_on_is_learnt_with_its_path() -> None:
    learnt = Learnt.of([READ_AND_SEND])

    assert learnt.sources == {(SEND, "body"): {(READ, "text"): 4}}
    assert learnt.givers_of("Body") == {READ: pytest.approx(4 / 5)}
    assert learnt.givers_of("subject") == {}
    assert learnt.flows.seen(Flow(READ, "text", SEND, "body")) == 4


def test_what_was_seen_outside_of_plans_is_added() -> None:
    flows = Flows.of({Flow(READ, "text", SEND, "body"): 2, Flow(LIST, "text", SEND, "body"): 1})

    learnt = Learnt.of([READ_AND_SEND], {(READ, LIST): 3}, flows)

    assert learnt.sources[SEND, "body"] == {(READ, "text"): 6, (LIST, "text"): 1}
    assert learnt.follows([READ], LIST) > Learnt.of([READ_AND_SEND]).follows([READ], LIST)


def test_a_reference_to_nowhere_teaches_nothing() -> None:
    step = PastStep("s1", SEND, {"body": Reference("s9"), "x": Unknown()}, ("s8",))

    learnt = Learnt.of([PastPlan(id="a", steps=[step])])

    assert learnt.sources == {}
    assert learnt.before == {}


def test_what_comes_next_is_foreseen_by_two_steps_before_by_one_and_by_none() -> None:
    learnt = Learnt.of(
        [a_plan("a", LIST, READ, SEND), a_plan("b", SIGN, READ, LIST), a_plan("c", READ, LIST)]
    )

    assert learnt.follows([LIST, READ], SEND) > learnt.follows([SIGN, READ], SEND)
    assert learnt.follows([READ], LIST) > learnt.follows([READ], SEND)
    assert learnt.follows([], READ) == learnt.follows([], LIST) > learnt.follows([], SEND)
    assert learnt.after([READ]) == [SEND, LIST]
    assert learnt.after([]) == [LIST, SIGN, READ]


def test_where_nothing_was_seen_nothing_is_likelier_than_anything_else() -> None:
    assert NOTHING.follows([READ], SEND) == NOTHING.follows([], READ) == NOTHING.common(READ)
