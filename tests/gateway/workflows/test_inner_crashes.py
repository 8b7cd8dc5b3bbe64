"""Killed anywhere inside a workflow that another one called, it comes to the same end."""

import pytest

from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.report import WorkflowStatus
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.json import JsonObject
from tests.gateway.open_room import DELETE, WRITE
from tests.gateway.workflows.plan_room import ANA, PlanRoom, plan, step
from tests.gateway.workflows.test_crashes import DyingJournal, Fuse

_WHOLE = Rule(name="whole", ruling=Ruling.ALLOW, tools=("workflows.*",), source=RuleSource.FILE)
INNER: JsonObject = {
    "inputs": {"to": {"type": "string"}},
    "required": ["to"],
    "steps": [
        step("read"),
        step("write", WRITE, arguments={"path": {"$from": "inputs.to"}}, after=["read"]),
        step("gone", DELETE, arguments={"path": {"$text": "/of${inputs.to}"}}, after=["write"]),
    ],
    "output": {"$from": "gone.json.path"},
}
MIDDLE: JsonObject = {
    "steps": [
        {"id": "inner", "tool": "workflows.inner", "arguments": {"to": "/a"}},
        step("after", WRITE, arguments={"path": {"$text": "/after${inner.text}"}}),
    ],
    "output": {"$from": "inner.text"},
}
WRITES = {
    "write /a": 1,
    "delete /of/a": 1,
    "write /after/of/a": 1,
    "write /b": 1,
    "delete /of/b": 1,
}


def whole() -> Plan:
    return plan(
        {"id": "deep", "tool": "workflows.middle"},
        {
            "id": "each",
            "tool": "workflows.inner",
            "for_each": {"in": ["/b"]},
            "arguments": {"to": {"$from": "item"}},
        },
        output={"deep": {"$from": "deep.text"}, "each": {"$from": "each.items[].text"}},
    )


async def killed_at(number: int, *, after: bool) -> tuple[Fuse, object]:
    room, fuse = PlanRoom(rules=[_WHOLE]), Fuse(number, after=after)
    for name, document in (("inner", INNER), ("middle", MIDDLE)):
        await room.gateway.over_http.saved.save_workflow(ANA, name, document)
    run = await room.start(whole())
    await room.killed(run, DyingJournal(room, fuse))
    report = await room.over(run)
    assert report.status is WorkflowStatus.DONE, report
    assert room.writes == WRITES
    return fuse, report.output


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_killed_at_any_of_its_steps_it_gives_the_same_and_writes_once(*, after: bool) -> None:
    undisturbed, output = await killed_at(-1, after=after)

    assert output == {"deep": "/of/a", "each": ["/of/b"]}
    assert undisturbed.count > 5
    for number in range(undisturbed.count):
        fuse, found = await killed_at(number, after=after)
        assert fuse.gone
        assert found == output
