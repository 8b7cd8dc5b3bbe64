"""Whatever the steps are called: earlier feeds later, confidences are shares, nothing breaks."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.gateway.core.edges.flows import Flow, Flows
from portico.gateway.core.edges.learnt import Floors
from portico.gateway.core.edges.propose import propose
from portico.gateway.core.edges.shape import OutputField, Parameter, StepShape
from tests.gateway.core.edges.trips import meanings

NAMES = st.one_of(
    st.sampled_from(["id", "userId", "limit", "message", "json", "", "ß", "a.b", "items"]),
    st.text(max_size=8),
)
TYPES = st.sampled_from([None, "string", "number", "integer", "boolean", "object", "array", "odd"])
FIELDS = st.builds(OutputField, path=NAMES, type=TYPES, description=NAMES)
PARAMETERS = st.builds(
    Parameter,
    name=NAMES,
    type=TYPES,
    description=NAMES,
    required=st.booleans(),
    choice=st.booleans(),
    default=st.booleans(),
)
STEPS = st.builds(
    StepShape,
    step=NAMES,
    tool=NAMES,
    description=NAMES,
    outputs=st.lists(FIELDS, max_size=4),
    wanted=st.lists(PARAMETERS, max_size=3, unique_by=lambda each: each.name),
    given=st.frozensets(NAMES, max_size=2),
)
PLANS = st.lists(STEPS, max_size=5, unique_by=lambda each: each.step)
FLOWS = st.dictionaries(
    st.builds(Flow, NAMES, NAMES, NAMES, NAMES), st.integers(1, 1_000_000_000), max_size=3
)


@pytest.mark.timeout(30)
@settings(max_examples=50)
@given(PLANS, FLOWS)
def test_every_edge_is_from_an_earlier_step_to_a_parameter_that_was_wanted(
    steps: list[StepShape], flows: dict[Flow, int]
) -> None:
    place = {step.step: number for number, step in enumerate(steps)}
    total: dict[tuple[str, str], float] = defaultdict(float)

    for edge in propose(steps, meanings(*steps), Flows.of(flows), floors=Floors(0.0, 0.0)):
        giver, taker = steps[place[edge.from_step]], steps[place[edge.to_step]]
        assert place[edge.from_step] < place[edge.to_step]
        assert edge.path in {field.path for field in giver.outputs}
        assert edge.parameter in {parameter.name for parameter in taker.wanted}
        assert edge.reason
        total[edge.to_step, edge.parameter] += edge.confidence

    assert all(0 <= each <= 1.001 for each in total.values())
