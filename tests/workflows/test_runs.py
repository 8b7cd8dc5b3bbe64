"""Saved workflows carried out: as tools, by name, and inside other plans."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from portico.gateway.core.calls import Phase, ToolResult, UpstreamTarget
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import ToolNotFound, UpstreamDown
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Approval, Resolution, Via
from portico.guard.core.errors import ApprovalPending, NotPermitted, Refused
from portico.guard.core.principals import Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.testing.gateway import a_tool
from portico.workflows.core.plan import InvalidPlan
from portico.workflows.core.plan_report import StepStatus, WorkflowStatus
from portico.workflows.core.saved import (
    Admission,
    OneOfPlanAndName,
    WorkflowAsksFirst,
    WorkflowNotFound,
    WorkflowOutgrown,
)
from portico.workflows.core.texts import WORKFLOW_META
from portico.workflows.runs import RunWorkflowSpec
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.workflows.plan_room import ANA, PlanRoom, plan, step

COPY: JsonObject = {
    "inputs": {"to": {"type": "string"}, "from": {"type": "string", "default": "/x"}},
    "required": ["to"],
    "steps": [
        {"id": "read", "tool": "files.read", "arguments": {"path": {"$from": "inputs.from"}}},
        {"id": "write", "tool": "files.write", "arguments": {"path": {"$from": "inputs.to"}}},
    ],
    "output": {"read": {"$from": "read.json.path"}, "written": {"$from": "write.json.path"}},
}
LOOK: JsonObject = {"steps": [step("read")], "output": {"$from": "read.json.path"}}
CLEAR: JsonObject = {"steps": [step("gone", DELETE)], "output": {"$from": "gone.json.path"}}


CALLS_CLEAR: JsonObject = {"id": "clear", "tool": "workflows.clear"}


def ref(name: str) -> ToolRef:
    return ToolRef("workflows", name)


def calls(name: str, to: str = "/to", **more: Any) -> JsonObject:
    """A step that calls a saved one."""
    return {"id": name, "tool": "workflows.copy", "arguments": {"to": to}, **more}


@pytest.fixture
async def room() -> PlanRoom:
    room = PlanRoom()
    await room.save(copy=COPY, look=LOOK, clear=CLEAR)
    return room


def rule(ruling: Ruling, *tools: str) -> Rule:
    return Rule(name="a-rule", ruling=ruling, tools=tools, source=RuleSource.FILE)


@pytest.fixture
async def clearing() -> PlanRoom:
    """Where a rule allows the whole of a saved workflow, and a step of it needs approval."""
    room = PlanRoom(rules=[rule(Ruling.ALLOW, "workflows.*")])
    await room.save(clear=CLEAR)
    return room


async def test_called_as_a_tool_it_gives_its_output(room: PlanRoom) -> None:
    async with room.working():
        called = await room.http.call_tool(await room.bot(), ref("copy"), {"to": "/y"})

    assert called.answer.structured == {"read": "/x", "written": "/y"}
    assert json.loads(str(called.answer.content[0]["text"])) == called.answer.structured
    assert room.made == {"read /x": 1, "write /y": 1}


async def test_whoever_may_only_call_needs_not_be_allowed_to_look(room: PlanRoom) -> None:
    bot = await room.bot()
    calling = replace(bot, scopes=frozenset({Scope.TOOLS_CALL}))

    await room.http.run_workflow(calling, RunWorkflowSpec(name="look"))
    async with room.working():
        called = await room.http.call_tool(calling, ref("look"), {})

    assert called.answer.content == [{"type": "text", "text": "/read"}]


async def test_each_step_is_guarded_as_a_call_of_the_caller(room: PlanRoom) -> None:
    narrow = replace(await room.bot(), tools=(("workflows.*", "files.read"),))

    with pytest.raises(InvalidPlan, match=r"files\.write"):
        await room.http.call_tool(narrow, ref("copy"), {"to": "/y"})

    assert not room.made


async def test_whoever_may_not_use_it_may_not_by_name_either(room: PlanRoom) -> None:
    narrow = replace(await room.bot(), tools=(("files.*",),))

    with pytest.raises(Refused):
        await room.http.call_tool(narrow, ref("look"), {})
    with pytest.raises(WorkflowNotFound):
        await room.http.run_workflow(narrow, RunWorkflowSpec(name="look"))


async def test_a_rule_about_the_whole_counts_for_the_name_too() -> None:
    room = PlanRoom(rules=[rule(Ruling.DENY, "workflows.*")])
    await room.save(look=LOOK)

    with pytest.raises(Refused):
        await room.http.run_workflow(await room.bot(), RunWorkflowSpec(name="look"))


async def test_where_somebody_must_be_asked_the_name_says_to_call_the_tool(room: PlanRoom) -> None:
    with pytest.raises(WorkflowAsksFirst, match=r"workflows\.clear"):
        await room.http.run_workflow(await room.bot(), RunWorkflowSpec(name="clear"))
    with pytest.raises(ApprovalPending):
        await room.http.call_tool(await room.bot(), ref("clear"), {})

    assert not room.made


async def test_one_that_waits_for_somebody_is_answered_with_its_run(clearing: PlanRoom) -> None:
    async with clearing.working():
        called = await clearing.http.call_tool(await clearing.bot(), ref("clear"), {})

    assert not called.answer.failed
    assert "somebody has to approve it (apr_" in str(called.answer.content[0]["text"])
    assert called.answer.meta is not None
    told = called.answer.meta[WORKFLOW_META]
    assert isinstance(told, Mapping)
    assert (told["status"], told["steps"]) == ("waiting", {"gone": "waiting"})
    assert not clearing.made


async def a_clearing_that_waits(room: PlanRoom) -> Approval:
    """The whole has been approved, and a step of it waits for a second yes."""
    use, bot = room.http, await room.bot()
    with pytest.raises(ApprovalPending) as pending:
        await use.call_tool(bot, ref("clear"), {})
    asked = ApprovalId.parse(pending.value.approval)
    await use.approvals.answer_approval(ANA, asked, Reply(kind=AnswerKind.ONCE, via=Via.CLI))
    async with room.working(), asyncio.timeout(30):
        while (await room.approvals.approvals.get(ANA, asked)).outcome is None:  # noqa: ASYNC110 # nobody tells
            await asyncio.sleep(0.01)
    [inner] = [each for each in room.world.approvals.values() if each.approval.id != asked]
    assert inner.approval.tool == str(DELETE.ref)
    return await room.approvals.approvals.get(ANA, asked)


async def test_what_came_of_an_approved_one_is_told_by_its_request(room: PlanRoom) -> None:
    use, bot = room.http, await room.bot()
    asked = await a_clearing_that_waits(room)

    waiting = await use.approvals.read_approved(bot, asked.id)
    again = await use.call_tool(bot, ref("clear"), {})
    await room.everything_approved()
    told = await use.approvals.read_approved(bot, asked.id)
    made_again = await use.call_tool(bot, ref("clear"), {})

    for each in (waiting, again):
        assert "has not been called yet" in str(each.answer.content[0]["text"])
    for each in (told, made_again):
        assert each.answer.content[0]["text"] == "/gone"
    assert room.made == {"delete /gone": 1}


async def test_once_it_was_told_how_it_ended_the_same_call_asks_anew(room: PlanRoom) -> None:
    use, bot = room.http, await room.bot()
    asked = await a_clearing_that_waits(room)
    await room.everything_approved()

    await use.call_tool(bot, ref("clear"), {})
    with pytest.raises(ApprovalPending) as pending:
        await use.call_tool(bot, ref("clear"), {})

    assert pending.value.approval != str(asked.id)


async def test_either_a_plan_is_run_or_a_saved_one(room: PlanRoom) -> None:
    bot, run = await room.bot(), room.http.run_workflow

    for wish in (RunWorkflowSpec(), RunWorkflowSpec(plan=LOOK, name="look")):
        with pytest.raises(OneOfPlanAndName):
            await run(bot, wish)
    with pytest.raises(WorkflowNotFound):
        await run(bot, RunWorkflowSpec(name="nothing"))
    with pytest.raises(NotPermitted):
        await run(replace(bot, scopes=frozenset()), RunWorkflowSpec(plan=LOOK))


async def test_one_whose_steps_can_change_more_by_now_is_saved_anew_first(room: PlanRoom) -> None:
    use = room.http
    await use.set_effects(ANA, "files.read", Effect.LOCAL_WRITE)

    with pytest.raises(WorkflowOutgrown):
        await use.run_workflow(await room.bot(), RunWorkflowSpec(name="look"))
    await use.saved.save_workflow(ANA, "look", LOOK)
    started = await use.run_workflow(await room.bot(), RunWorkflowSpec(name="look"))
    await room.leg(started.run.id)

    assert room.made == {"read /read": 1}


async def test_asked_anew_the_server_offers_what_is_saved(room: PlanRoom) -> None:
    await room.gateway.index_server(ANA, "workflows")
    indexed = await room.gateway.index_server(ANA, "workflows")

    assert not indexed.changed
    assert indexed.counted.agreed == 3


async def test_a_part_of_portico_acts_for_nobody_unknown(room: PlanRoom) -> None:
    shelf = await room.gateway.catalogues.current(ANA)
    target = UpstreamTarget.of(ANA.space, shelf.server("workflows"), ANA.id)
    with pytest.raises(UpstreamDown):
        await room.gateway.catalogues.upstreams.call(
            target, "look", {}, timeout=room.http.call_tool.timeout
        )


async def test_inside_another_plan_its_steps_are_steps_of_the_same_run(room: PlanRoom) -> None:
    outer = plan(
        calls("copy"),
        step("after", WRITE, arguments={"path": {"$from": "copy.json.written"}}),
        output={"$from": "copy.json"},
    )

    report = await room.ran(outer)

    assert report.status is WorkflowStatus.DONE
    assert report.output == {"read": "/x", "written": "/to"}
    assert room.made == {"read /x": 1, "write /to": 2}
    assert len(await room.runs.page(ANA, statuses=(), kind=None, before=None, limit=9)) == 1
    names = {each.name for each in await room.runs.steps(ANA, (await _only_run(room)))}
    assert {"copy", "copy/read", "copy/write", "copy/~output"} <= names


async def test_what_an_inner_step_waits_for_is_told_of_its_caller(clearing: PlanRoom) -> None:
    run = await clearing.run(plan(CALLS_CLEAR))
    waiting = await clearing.show(run)

    await clearing.approved(waiting, "clear")
    await clearing.leg(run)

    assert waiting.status is WorkflowStatus.WAITING
    assert waiting.steps[0].state is StepStatus.WAITING
    assert str(waiting.steps[0].why).startswith("clear/gone: ")
    assert (await clearing.show(run)).status is WorkflowStatus.DONE
    assert clearing.made == {"delete /gone": 1}


async def test_where_the_whole_must_be_approved_it_waits_for_that(room: PlanRoom) -> None:
    run = await room.run(plan(CALLS_CLEAR))
    first = await room.show(run)
    await room.approved(first, "clear")
    await room.leg(run)
    second = await room.show(run)

    assert not room.made
    assert second.steps[0].approval not in {None, first.steps[0].approval}
    await room.approved(second, "clear")
    await room.leg(run)

    assert (await room.show(run)).status is WorkflowStatus.DONE
    assert room.made == {"delete /gone": 1}


async def test_rejected_inside_it_has_failed_and_says_which_step(clearing: PlanRoom) -> None:
    run = await clearing.run(plan(CALLS_CLEAR, step("other")))
    waiting = await clearing.show(run)

    await clearing.answer(waiting, "clear", AnswerKind.REJECT)
    await clearing.errand(waiting, "clear")
    await clearing.leg(run)

    report = await clearing.show(run)
    assert report.status is WorkflowStatus.FAILED
    assert report.steps[0].state is StepStatus.FAILED
    assert report.steps[0].error is not None
    assert report.steps[0].error.code == "inner_step_failed"
    assert "clear/gone" in report.steps[0].error.message


async def test_one_that_failed_inside_is_tried_again_on_resuming(room: PlanRoom) -> None:
    written: Any = room.upstreams.replies[WRITE.ref]
    room.upstreams.replies[WRITE.ref] = lambda given: replace(written(given), failed=True)
    run = await room.start(plan(calls("copy"), output={"$from": "copy.json"}))
    failed = await room.leg(run)
    room.upstreams.replies[WRITE.ref] = written
    await room.resumed(run)

    report = await room.show(run)
    assert failed.failure is not None
    assert report.status is WorkflowStatus.DONE
    assert report.output == {"read": "/x", "written": "/to"}
    assert room.made == {"read /x": 1, "write /to": 2}


async def test_what_the_plan_can_do_without_may_fail_inside(room: PlanRoom) -> None:
    room.upstreams.replies[WRITE.ref] = ToolResult([{"type": "text", "text": "no"}], failed=True)

    report = await room.ran(plan(calls("copy", on_error="skip"), step("read")))

    assert report.status is WorkflowStatus.PARTIAL
    assert [each.state for each in report.steps] == [StepStatus.FAILED, StepStatus.DONE]


async def test_a_plan_that_a_server_gives_is_only_what_it_gives_whatever_it_says() -> None:
    room = PlanRoom()
    theirs = Admission({"steps": [step("gone", DELETE)]}, {}).answer
    room.upstreams.replies[READ.ref] = theirs

    report = await room.ran(plan(step("read"), output={"$from": "read.json"}))

    assert (report.status, report.output) == (WorkflowStatus.DONE, theirs.structured)
    assert not room.made


async def test_what_was_removed_meanwhile_is_not_there(room: PlanRoom) -> None:
    run = await room.start(plan(calls("copy")))
    await room.http.saved.remove_saved(ANA, "copy")

    await room.leg(run)

    [step_] = (await room.show(run)).steps
    assert (step_.error and step_.error.code) == ToolNotFound.code


LACKING: JsonObject = {
    "steps": [{"id": "list", "tool": "files.list"}, {"id": "put", "tool": "files.put"}]
}


@pytest.fixture
def with_put() -> PlanRoom:
    """A tool that needs a path, and one that says that it gives one."""
    room = PlanRoom()
    [place] = room.world.tools
    listing = a_tool("files.list", "Names a file.", effect=Effect.LOCAL_READ)
    gives: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
    promised = replace(listing.definition, output_schema=gives)
    takes: JsonObject = {**gives, "required": ["path"]}
    put = a_tool("files.put", "Puts a file.", effect=Effect.LOCAL_WRITE, inputSchema=takes)
    room.world.tools[place] = [
        *room.world.tools[place],
        replace(listing, definition=promised, accepted=promised),
        put,
    ]
    room.upstreams.replies |= {
        listing.ref: ToolResult([], {"path": "/found"}),
        put.ref: lambda given: ToolResult([{"type": "text", "text": str(given["path"])}]),
    }
    return room


async def faults(room: PlanRoom, plan: JsonObject, caller: Principal | None = None) -> list[str]:
    with pytest.raises(InvalidPlan) as refused:
        await room.http.run_workflow(caller or await room.bot(), RunWorkflowSpec(plan=plan))
    assert room.upstreams.called == []
    return [str(fault) for fault in refused.value.diagnostics]


async def test_a_plan_that_lacks_an_argument_is_told_where_to_get_it(with_put: PlanRoom) -> None:
    told = await faults(with_put, LACKING)

    assert any("needs the argument 'path'" in fault for fault in told)
    assert any('accept "list.json.path -> put.path"' in fault for fault in told)


async def test_what_was_proposed_is_run_once_it_is_accepted(with_put: PlanRoom) -> None:
    wish = RunWorkflowSpec(plan=LACKING, accept=["list.json.path -> put.path"])

    started = await with_put.http.run_workflow(await with_put.bot(), wish)
    await with_put.leg(started.run.id)

    assert (await with_put.show(started.run.id)).output == {"put": "/found"}


async def test_to_who_may_not_look_or_without_tools_nothing_is_proposed(with_put: PlanRoom) -> None:
    calling = replace(await with_put.bot(), scopes=frozenset({Scope.TOOLS_CALL}))

    told = await faults(with_put, LACKING, calling)
    gone = await faults(with_put, {"steps": [{"id": "a", "tool": "files.nothing"}]})

    assert not any("could come from" in fault for fault in told)
    assert [fault.startswith("/steps/0/tool") for fault in gone] == [True]


async def test_when_everything_is_stopped_nothing_more_begins_inside(room: PlanRoom) -> None:
    names = [f"r{number}" for number in range(8)]
    reads = [step(name, after=names[:at][-1:]) for at, name in enumerate(names)]
    await room.save(long={"steps": [*reads, step("write", WRITE, after=names[-1:])]})
    fine: Any = room.upstreams.replies[WRITE.ref]
    room.upstreams.replies[WRITE.ref] = lambda arguments: replace(
        fine(arguments), failed=arguments["path"] == "/bad"
    )
    outer: JsonObject = {"id": "long", "tool": "workflows.long"}

    report = await room.ran(plan(outer, step("a"), step("bad", WRITE, after=["a"])))

    assert report.status is WorkflowStatus.FAILED
    assert report.steps[0].state is StepStatus.SKIPPED
    assert report.steps[0].why == "the plan was stopped by 'bad'"
    assert (room.made["read /r0"], room.made["write /write"]) == (1, 0)


async def test_how_the_server_is_doing_is_told_as_of_others(room: PlanRoom) -> None:
    before = await room.http.show_server(ANA, "workflows")
    async with room.working():
        await room.http.call_tool(await room.bot(), ref("look"), {})
    after = await room.http.show_server(ANA, "workflows")
    await room.http.restart_server(ANA, "workflows")

    assert before.server.name == after.server.name == "workflows"
    assert after.health.phase is Phase.IDLE


@pytest.mark.parametrize("said_of", ["copy", "copy/write"])
async def test_what_nobody_knows_of_inside_a_person_says(room: PlanRoom, said_of: str) -> None:
    written = room.upstreams.replies[WRITE.ref]
    room.upstreams.replies[WRITE.ref] = UpstreamDown("files", "it broke off", reached=True)
    run = await room.run(plan(calls("copy"), output={"$from": "copy.json.read"}))
    unknown = await room.show(run)
    room.upstreams.replies[WRITE.ref] = written

    await room.resolved(run, said_of, Resolution.RETRY)

    assert unknown.steps[0].state is StepStatus.UNCERTAIN
    assert str(unknown.steps[0].why).startswith("copy/write: ")
    report = await room.show(run)
    assert (report.status, report.output) == (WorkflowStatus.DONE, "/x")
    assert room.made == {"read /x": 1, "write /to": 1}


async def _only_run(room: PlanRoom) -> Any:
    [run] = await room.runs.page(ANA, statuses=(), kind=None, before=None, limit=9)
    return run.id
