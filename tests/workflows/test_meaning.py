"""Any plan, carried out by the real work on an engine, and killed on its way: what comes of it is
what the plan means."""

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.testing.gateway import a_tool, an_approved_server, seen
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_report import WorkflowStatus
from portico.workflows.core.plan_values import MissingValue
from tests.workflows.core import naive
from tests.workflows.core.naive import EXPRESSIONS, interpret
from tests.workflows.core.plans import INPUTS, plan_documents, steady, without_stops
from tests.workflows.plan_room import ANA, PlanRoom
from tests.workflows.test_crashes import DyingJournal, Fuse

TOOLS = [ToolRef("demo", f"t{number}") for number in range(4)]


def room() -> PlanRoom:
    """With tools that always do the same with the same."""
    made = PlanRoom()
    server = an_approved_server("demo")
    made.world.servers[ANA.space, server.id] = server
    made.world.tools[ANA.space, server.id] = [
        a_tool(str(ref), effect=Effect.LOCAL_READ, input_schema={"type": "object"}) for ref in TOOLS
    ]
    made.upstreams.offers["demo"] = seen()
    for ref in TOOLS:
        made.upstreams.replies[ref] = lambda arguments, ref=ref: steady(ref, arguments)  # type: ignore[misc] # bound now
    return made


def meant(plan: Plan) -> tuple[dict[str, str], JsonValue]:
    result = interpret(plan, INPUTS, steady)
    try:
        return result.states, naive.output(plan, result, INPUTS)
    except MissingValue:
        return result.states, None


@given(plan_documents(6), st.integers(-1, 12), st.booleans())
async def test_a_plan_gives_what_it_means_wherever_it_is_killed(
    document: JsonObject, at: int, after: bool
) -> None:
    plan = read_plan(without_stops(document), EXPRESSIONS)
    made = room()
    run = await made.start(plan, inputs=INPUTS)

    await made.killed(run, DyingJournal(made, Fuse(at, after=after)))
    report = await made.over(run)

    states, output = meant(plan)
    assert {step.id: str(step.state) for step in report.steps} == states
    if plan.has_output:
        assert report.output == output


@given(plan_documents(6))
async def test_in_this_process_alone_it_gives_the_same(document: JsonObject) -> None:
    plan = read_plan(without_stops(document), EXPRESSIONS)

    report = await room().quick(plan, inputs=INPUTS)

    states, output = meant(plan)
    assert {step.id: str(step.state) for step in report.steps} == states
    if plan.has_output:
        assert report.output == output


@given(plan_documents(6), st.integers(-1, 12))
async def test_a_plan_that_is_stopped_ends_and_says_by_what(document: JsonObject, at: int) -> None:
    plan = read_plan(document, EXPRESSIONS)
    made = room()
    run = await made.start(plan, inputs=INPUTS)

    await made.killed(run, DyingJournal(made, Fuse(at, after=True)))
    report = await made.over(run)

    stopped = interpret(plan, INPUTS, steady).stopped_by is not None
    assert (report.status is WorkflowStatus.FAILED) is stopped
    assert all(step.state.over for step in report.steps)
