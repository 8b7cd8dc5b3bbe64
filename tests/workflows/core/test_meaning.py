"""Any plan that is accepted ends, in an order that it allows, with what it means."""

from collections.abc import Callable, Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import Graph, OnError, Plan, Step, graph_of
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_progress import (
    End,
    Fell,
    LeftOut,
    Progress,
    StepState,
    StepSucceeded,
)
from portico.workflows.core.plan_values import (
    KnownDocuments,
    MissingValue,
    items_document,
    step_document,
    wanted,
    with_item,
)
from tests.workflows.core import naive
from tests.workflows.core.at_once import arguments_of, items_of, output_of
from tests.workflows.core.naive import EXPRESSIONS, interpret
from tests.workflows.core.plans import INPUTS, plan_documents, steady, without_stops


class Walk:
    """A plan carried out in an order that chance decides."""

    def __init__(self, plan: Plan, chance: Random) -> None:
        self.plan = plan
        self.graph: Graph = graph_of(plan, EXPRESSIONS)
        self.progress = Progress(plan, self.graph)
        self.documents: dict[str, JsonValue] = {}
        self.begun: list[str] = []
        self._chance = chance

    def go(self) -> None:
        under_way = self._begin(self.progress.start().start)
        while under_way:
            name = under_way.pop(self._chance.randrange(len(under_way)))
            moves = self.progress.ended(name, self._done(self.plan.step(name)))
            under_way += self._begin(moves.start)

    def _begin(self, names: Sequence[str]) -> list[str]:
        for name in names:
            waits = self.graph.before[name]
            assert all(self.progress.states[other].over for other in waits)
        self.begun += names
        return list(names)

    def known(self) -> KnownDocuments:
        sources = {step.id: self.progress.source(step.id) for step in self.plan.steps}
        found = {name: self.documents[it] for name, it in sources.items() if it is not None}
        return {**found, "inputs": INPUTS}

    def _done(self, step: Step) -> End:
        known = self.known()
        if not wanted(step, known, EXPRESSIONS):
            return LeftOut()
        try:
            document = self._document(step, known)
        except PorticoError as error:
            return Fell(error.code, str(error))
        except naive.Failed as error:
            return Fell("tool", str(error))
        self.documents[step.id] = document
        return StepSucceeded()

    def _document(self, step: Step, known: KnownDocuments) -> JsonValue:
        if step.for_each is None:
            return self._call(step, known)
        items = items_of(step, known, EXPRESSIONS)
        each = [with_item(known, item, index) for index, item in enumerate(items)]
        return items_document([self._item(step, inner) for inner in each])

    def _item(self, step: Step, known: KnownDocuments) -> JsonValue:
        try:
            return self._call(step, known)
        except (naive.Failed, PorticoError):
            if step.on_error is OnError.SKIP:
                return None
            raise

    def _call(self, step: Step, known: KnownDocuments) -> JsonValue:
        answer = steady(step.tool, arguments_of(step, known, EXPRESSIONS))
        if answer.failed:
            raise naive.Failed(step.id)
        return step_document(answer)


def outcome(work: Callable[[], JsonValue]) -> JsonValue:
    try:
        return work()
    except MissingValue as error:
        return f"missing {error.reference}"


@given(plan_documents(), st.randoms(use_true_random=False))
def test_any_plan_ends_and_begins_nothing_too_early(document: JsonObject, chance: Random) -> None:
    walk = Walk(read_plan(document, EXPRESSIONS), chance)

    walk.go()

    assert walk.progress.over
    assert len(walk.begun) == len(set(walk.begun))
    ended = {StepState.DONE, StepState.FAILED}
    assert {name for name, state in walk.progress.states.items() if state in ended} <= set(
        walk.begun
    )


@given(plan_documents(), st.randoms(use_true_random=False))
def test_what_comes_of_it_is_what_comes_of_doing_one_after_another(
    document: JsonObject, chance: Random
) -> None:
    plan = read_plan(without_stops(document), EXPRESSIONS)
    walk = Walk(plan, chance)

    walk.go()
    plainly = interpret(plan, INPUTS, steady)

    assert {name: str(state) for name, state in walk.progress.states.items()} == plainly.states
    assert walk.documents == plainly.documents
    if plan.has_output:
        mine = outcome(lambda: output_of(plan, walk.graph, walk.known(), EXPRESSIONS))
        assert mine == outcome(lambda: naive.output(plan, plainly, INPUTS))


@given(plan_documents(), st.randoms(use_true_random=False))
def test_what_is_done_before_a_stop_is_done_alike_in_any_order(
    document: JsonObject, chance: Random
) -> None:
    plan = read_plan(document, EXPRESSIONS)
    walk = Walk(plan, chance)

    walk.go()
    plainly = interpret(plan, INPUTS, steady)

    assert (walk.progress.stopped_by is None) == (plainly.stopped_by is None)
    for name in walk.documents.keys() & plainly.documents.keys():
        assert walk.documents[name] == plainly.documents[name]
