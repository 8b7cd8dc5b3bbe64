"""A plan is held against the tools there are, what they take, and what would be decided."""

from dataclasses import replace

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.testing.gateway import a_tool
from portico.testing.guard import a_person
from portico.workflows.core.plan import InvalidPlan, PlanDiagnostic
from portico.workflows.plan_checks import CheckPlan
from tests.gateway.open_room import ANA, READ, OpenRoom

pytestmark = pytest.mark.anyio

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["path"],
    "additionalProperties": False,
}
LOOKER = replace(a_person("leo", roles=[]), scopes=frozenset({Scope.TOOLS_READ}))


class Room(OpenRoom):
    def __init__(self) -> None:
        super().__init__()
        self.check = CheckPlan(
            catalogues=self.gateway.catalogues,
            schemas=self.doors.schemas,
            decide=self.doors.gate.decide,
            expressions=JmespathExpressions(),
        )

    async def faults(self, *steps: JsonObject, caller: Principal = ANA) -> list[PlanDiagnostic]:
        with pytest.raises(InvalidPlan) as refused:
            await self.check(caller, {"steps": list(steps)})
        return list(refused.value.diagnostics)


def step(name: str, tool: str, **arguments: JsonValue) -> JsonObject:
    return {"id": name, "tool": tool, "arguments": arguments}


async def test_a_plan_that_can_be_run_is_told_as_it_would_be() -> None:
    plan = {
        "steps": [
            step("drop", "files.delete", path={"$from": "read.text"}),
            step("read", "files.read"),
            step("look", "sky.forecast"),
        ]
    }

    room = Room()

    checked = await room.check(ANA, plan)

    assert room.upstreams.called == []

    assert checked.effect is Effect.IRREVERSIBLE
    assert checked.order == ("read", "look", "drop")
    assert checked.critical_path == ("read", "drop")
    drop, read, _ = checked.steps
    assert (drop.needs, drop.effect, read.approval) == (("read",), Effect.IRREVERSIBLE, None)
    assert (drop.approval and drop.approval.rule) == "default:destroys"
    assert checked.plan.step("read").tool == READ.ref


async def test_a_tool_that_is_not_there_is_named_with_those_near_it() -> None:
    room = Room()

    [unknown, unapproved] = await room.faults(
        step("a", "files.reed"), step("b", "tracker.create_ticket")
    )

    assert unknown.place == "/steps/0/tool"
    assert "files.read" in unknown.what
    assert unapproved.place == "/steps/1/tool"
    assert "CANARY" not in str(unapproved)


async def test_what_may_not_be_called_is_said_before() -> None:
    reader = replace(ANA, scopes=ANA.scopes - {Scope.TOOLS_WRITE})

    [fault] = await Room().faults(step("a", "files.write"), caller=reader)

    assert fault.place == "/steps/0/tool"
    assert "You may not call files.write" in fault.what
    assert "default:scope" in fault.what


async def test_arguments_are_held_against_what_the_tool_takes() -> None:
    room = Room()
    room.replace(a_tool("files.read", "Reads.", effect=Effect.LOCAL_READ, inputSchema=SCHEMA))

    found = await room.faults(
        step("a", "files.read", path="x", lines="many"),
        step("b", "files.read", lines={"$from": "a.json.n"}),
        step("c", "files.read", path={"$from": "a.text"}, lines=3),
    )

    assert [(fault.place, fault.what) for fault in found] == [
        ("/steps/0/arguments/lines", "It must be integer."),
        ("/steps/1/arguments", "files.read needs the argument 'path'."),
    ]


async def test_a_schema_that_cannot_be_used_is_left_to_the_call() -> None:
    room = Room()
    odd: JsonObject = {"type": "object", "$ref": "https://elsewhere.example/x"}
    room.replace(a_tool("sky.forecast", "Weather.", effect=Effect.LOCAL_READ, inputSchema=odd))

    checked = await room.check(ANA, {"steps": [step("a", "sky.forecast", city="Oslo")]})

    assert checked.effect is Effect.LOCAL_READ


async def test_form_comes_first() -> None:
    [fault] = await Room().faults(step("a", "files.nothing"), {"id": "b"})

    assert fault.place == "/steps/1"


async def test_who_may_look_at_tools_may_check_and_who_may_not_may_not() -> None:
    checked = await Room().check(LOOKER, {"steps": [step("a", "files.delete")]})

    assert checked.steps[0].approval is None
    with pytest.raises(NotPermitted):
        await Room().check(replace(LOOKER, scopes=frozenset()), {"steps": []})


async def test_no_more_is_told_than_helps() -> None:
    found = await Room().faults(*(step(f"s{number}", "files.gone") for number in range(300)))

    assert len(found) == 200
