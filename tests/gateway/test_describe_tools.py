"""What a tool takes, in full."""

import json

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.errors import ToolNotFound
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.schema import plan_schema
from portico.gateway.core.workflow_help import EXAMPLE
from tests.gateway.open_room import ANA, READ, VIEWER, OpenRoom


async def test_a_tool_is_described_with_its_schema_and_how_to_call_it() -> None:
    described = await OpenRoom().gateway.describe_tools(ANA, ["files.read"])

    told = json.loads(described.text)
    assert told["input_schema"] == READ.definition.input_schema
    assert told["call_with"] == "call_read"


async def test_what_cannot_be_described_is_told_beside_the_rest() -> None:
    described = await OpenRoom().gateway.describe_tools(
        ANA, ["files.read", "files.reed", "tracker.create_ticket", "odd"]
    )

    assert [tool["tool"] for tool in described.tools] == ["files.read"]
    assert set(described.refused) == {"files.reed", "tracker.create_ticket", "odd"}
    assert "CANARY" not in described.text


async def test_where_there_is_none_it_is_an_error() -> None:
    with pytest.raises(ToolNotFound):
        await OpenRoom().gateway.describe_tools(ANA, ["files.reed"])
    with pytest.raises(ToolNotFound):
        await OpenRoom().gateway.describe_tools(ANA, [])


async def test_the_first_is_told_whatever_it_costs_and_the_others_while_there_is_room() -> None:
    described = await OpenRoom().gateway.describe_tools(
        ANA, ["files.read", "files.write"], budget=10
    )

    assert '"files.read"' in described.text
    assert "No room for files.write" in described.text


async def test_how_a_plan_is_written_is_told_when_it_is_asked_for() -> None:
    room = OpenRoom()

    described = await room.gateway.describe_tools(VIEWER, ["run_workflow", "files.read"])
    program = await room.gateway.describe_tools(VIEWER, ["run_program"])

    [plan, other] = described.tools
    assert plan["planSchema"] == plan_schema()
    assert plan["example"] == EXAMPLE
    assert other["tool"] == "files.read"
    assert "await server__tool" in program.text


def test_the_example_of_a_plan_can_be_read() -> None:
    example = EXAMPLE["plan"]

    plan = read_plan(example, JmespathExpressions())

    assert [step.id for step in plan.steps] == ["find", "read", "note"]
