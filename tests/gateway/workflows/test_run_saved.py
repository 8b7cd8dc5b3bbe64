"""Saved workflows carried out: as tools, by name, and inside other plans."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from portico.gateway.core.call import Answer
from portico.gateway.core.errors import BadArguments, ToolNotFound, UpstreamDown
from portico.gateway.core.plan.faults import BadPlan
from portico.gateway.core.plan.report import StepStanding, WorkflowStatus
from portico.gateway.core.saved_workflow import Admission
from portico.gateway.core.saved_workflow_errors import (
    OneOfPlanAndName,
    WorkflowAsksFirst,
    WorkflowNotFound,
    WorkflowOutgrown,
)
from portico.gateway.core.tool import ToolRef
from portico.gateway.core.upstream import Phase, Target
from portico.gateway.core.workflow_words import WORKFLOW_META
from portico.gateway.workflows.run_workflow import RunWorkflowWish
from portico.guard.answer_approval import Reply
from portico.guard.core.approval import AnswerKind, Approval, Resolution, Via
from portico.guard.core.errors import ApprovalPending, NotPermitted, Refused
from portico.guard.core.roles import Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.testing.gateway import a_tool
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.gateway.workflows.plan_room import ANA, PlanRoom, plan, step

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


def ref(name: str) -> ToolRef:
    return ToolRef("workflows", name)


def calls(name: str, to: str = "/to", **more: Any) -> JsonObject:
    """A step that calls a saved one."""
    return {"id": name, "tool": "workflows.copy", "arguments": {"to": to}, **more}


async def a_room(**saved: JsonObject) -> PlanRoom:
    room = PlanRoom()
    for name, document in saved.items():
        await room.gateway.over_http.saved.save_workflow(ANA, name, document)
    return room


def rule(ruling: Ruling, *tools: str) -> Rule:
    return Rule(name="a-rule", ruling=ruling, tools=tools, source=RuleSource.FILE)


async def test_called_as_a_tool_it_gives_its_output() -> None:
    room = await a_room(copy=COPY)

    async with room.working():
        called = await room.gateway.over_http.call_tool(await room.bot(), ref("copy"), {"to": "/y"})

    assert called.answer.structured == {"read": "/x", "written": "/y"}
    assert json.loads(str(called.answer.content[0]["text"])) == called.answer.structured
    assert room.made == {"read /x": 1, "write /y": 1}


async def test_whoever_may_only_call_needs_not_be_allowed_to_look() -> None:
    room = await a_room(look=LOOK)
    bot = await room.bot()
    calling = replace(bot, scopes=frozenset({Scope.TOOLS_CALL}))

    await room.gateway.over_http.run_workflow(calling, RunWorkflowWish(name="look"))
    async with room.working():
        called = await room.gateway.over_http.call_tool(calling, ref("look"), {})

    assert called.answer.content == [{"type": "text", "text": "/read"}]


async def test_its_arguments_are_held_against_its_schema() -> None:
    room = await a_room(copy=COPY)

    with pytest.raises(BadArguments):
        await room.gateway.over_http.call_tool(await room.bot(), ref("copy"), {"too": "/y"})

    assert not room.made


async def test_each_step_is_guarded_as_a_call_of_the_caller() -> None:
    room = await a_room(copy=COPY)
    narrow = replace(await room.bot(), tools=(("workflows.*", "files.read"),))

    with pytest.raises(BadPlan, match=r"files\.write"):
        await room.gateway.over_http.call_tool(narrow, ref("copy"), {"to": "/y"})

    assert not room.made


async def test_whoever_may_not_use_it_may_not_by_name_either() -> None:
    room = await a_room(look=LOOK)
    narrow = replace(await room.bot(), tools=(("files.*",),))

    with pytest.raises(Refused):
        await room.gateway.over_http.call_tool(narrow, ref("look"), {})
    with pytest.raises(WorkflowNotFound):
        await room.gateway.over_http.run_workflow(narrow, RunWorkflowWish(name="look"))


async def test_a_rule_about_the_whole_counts_for_the_name_too() -> None:
    room = PlanRoom(rules=[rule(Ruling.DENY, "workflows.*")])
    await room.gateway.over_http.saved.save_workflow(ANA, "look", LOOK)

    with pytest.raises(Refused):
        await room.gateway.over_http.run_workflow(await room.bot(), RunWorkflowWish(name="look"))


async def test_where_somebody_has_to_be_asked_the_name_says_to_call_the_tool() -> None:
    room = await a_room(clear=CLEAR)

    with pytest.raises(WorkflowAsksFirst, match=r"workflows\.clear"):
        await room.gateway.over_http.run_workflow(await room.bot(), RunWorkflowWish(name="clear"))
    with pytest.raises(ApprovalPending):
        await room.gateway.over_http.call_tool(await room.bot(), ref("clear"), {})

    assert not room.made


async def test_one_that_waits_for_somebody_is_answered_with_its_run() -> None:
    allow = Rule(name="whole", ruling=Ruling.ALLOW, tools=("workflows.*",), source=RuleSource.FILE)
    room = PlanRoom(rules=[allow])
    await room.gateway.over_http.saved.save_workflow(ANA, "clear", CLEAR)

    async with room.working():
        called = await room.gateway.over_http.call_tool(await room.bot(), ref("clear"), {})

    assert not called.answer.failed
    assert "somebody has to approve it (apr_" in str(called.answer.content[0]["text"])
    assert called.answer.meta is not None
    told = called.answer.meta[WORKFLOW_META]
    assert isinstance(told, Mapping)
    assert (told["status"], told["steps"]) == ("waiting", {"gone": "waiting"})
    assert not room.made


async def a_clearing_that_waits(room: PlanRoom) -> Approval:
    """The whole has been approved, and a step of it waits for a second yes."""
    use, bot = room.gateway.over_http, await room.bot()
    with pytest.raises(ApprovalPending) as pending:
        await use.call_tool(bot, ref("clear"), {})
    asked = ApprovalId.parse(pending.value.approval)
    await use.approvals.answer_approval(ANA, asked, Reply(kind=AnswerKind.ONCE, via=Via.CLI))
    async with room.working(), asyncio.timeout(10):
        while (await room.approvals.approvals.get(ANA, asked)).outcome is None:  # noqa: ASYNC110 # nobody tells
            await asyncio.sleep(0.01)
    [inner] = [each for each in room.world.approvals.values() if each.approval.id != asked]
    assert inner.approval.tool == str(DELETE.ref)
    return await room.approvals.approvals.get(ANA, asked)


async def test_what_came_of_one_that_was_approved_is_told_by_its_request_as_it_goes_on() -> None:
    room = await a_room(clear=CLEAR)
    use, bot = room.gateway.over_http, await room.bot()
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


async def test_once_it_was_told_how_it_ended_the_same_call_asks_anew() -> None:
    room = await a_room(clear=CLEAR)
    use, bot = room.gateway.over_http, await room.bot()
    asked = await a_clearing_that_waits(room)
    await room.everything_approved()

    await use.call_tool(bot, ref("clear"), {})
    with pytest.raises(ApprovalPending) as pending:
        await use.call_tool(bot, ref("clear"), {})

    assert pending.value.approval != str(asked.id)


async def test_run_by_name_it_is_a_run_like_any_other() -> None:
    room = await a_room(look=LOOK)

    started = await room.gateway.over_http.run_workflow(
        await room.bot(), RunWorkflowWish(name="look")
    )
    await room.leg(started.run.id)

    assert (await room.show(started.run.id)).output == "/read"


async def test_either_a_plan_is_run_or_a_saved_one() -> None:
    room = await a_room(look=LOOK)
    bot, run = await room.bot(), room.gateway.over_http.run_workflow

    for wish in (RunWorkflowWish(), RunWorkflowWish(plan=LOOK, name="look")):
        with pytest.raises(OneOfPlanAndName):
            await run(bot, wish)
    with pytest.raises(WorkflowNotFound):
        await run(bot, RunWorkflowWish(name="nothing"))
    with pytest.raises(NotPermitted):
        await run(replace(bot, scopes=frozenset()), RunWorkflowWish(plan=LOOK))


async def test_one_whose_steps_can_change_more_by_now_is_refused_until_it_is_saved_again() -> None:
    room = await a_room(look=LOOK)
    use = room.gateway.over_http
    await use.set_effects(ANA, "files.read", Effect.LOCAL_WRITE)

    with pytest.raises(WorkflowOutgrown):
        await use.run_workflow(await room.bot(), RunWorkflowWish(name="look"))
    await use.saved.save_workflow(ANA, "look", LOOK)
    started = await use.run_workflow(await room.bot(), RunWorkflowWish(name="look"))
    await room.leg(started.run.id)

    assert room.made == {"read /read": 1}


async def test_asked_anew_the_server_offers_what_is_saved() -> None:
    room = await a_room(look=LOOK, copy=COPY)

    await room.gateway.index_server(ANA, "workflows")
    indexed = await room.gateway.index_server(ANA, "workflows")

    assert not indexed.changed
    assert indexed.counted.agreed == 2


async def test_a_part_of_portico_acts_for_nobody_unknown() -> None:
    room = await a_room(look=LOOK)
    shelf = await room.gateway.catalogues.current(ANA)
    target = Target.of(ANA.space, shelf.server("workflows"), ANA.id)
    with pytest.raises(UpstreamDown):
        await room.gateway.catalogues.upstreams.call(
            target, "look", {}, timeout=room.gateway.over_http.call_tool.timeout
        )


async def test_inside_another_plan_its_steps_are_steps_of_the_same_run() -> None:
    room = await a_room(copy=COPY)
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


async def test_it_is_called_once_an_item() -> None:
    room = await a_room(copy=COPY)
    each = calls("copy", for_each={"in": ["/a", "/b"]}, arguments={"to": {"$from": "item"}})

    report = await room.ran(plan(each, output={"$from": "copy.items[].json.written"}))

    assert report.output == ["/a", "/b"]
    assert report.steps[0].items is not None
    assert report.steps[0].items.over == 2


async def test_what_an_inner_step_waits_for_is_told_of_the_step_that_called() -> None:
    allow = Rule(name="whole", ruling=Ruling.ALLOW, tools=("workflows.*",), source=RuleSource.FILE)
    room = PlanRoom(rules=[allow])
    await room.gateway.over_http.saved.save_workflow(ANA, "clear", CLEAR)
    run = await room.run(plan({"id": "clear", "tool": "workflows.clear"}))
    waiting = await room.show(run)

    await room.approved(waiting, "clear")
    await room.leg(run)

    assert waiting.status is WorkflowStatus.WAITING
    assert waiting.steps[0].state is StepStanding.WAITING
    assert str(waiting.steps[0].why).startswith("clear/gone: ")
    report = await room.show(run)
    assert report.status is WorkflowStatus.DONE
    assert room.made == {"delete /gone": 1}


async def test_where_the_whole_has_to_be_approved_it_is_carried_out_when_it_was() -> None:
    room = await a_room(clear=CLEAR)
    run = await room.run(plan({"id": "clear", "tool": "workflows.clear"}))
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


async def test_rejected_inside_it_has_failed_and_says_which_step() -> None:
    allow = Rule(name="whole", ruling=Ruling.ALLOW, tools=("workflows.*",), source=RuleSource.FILE)
    room = PlanRoom(rules=[allow])
    await room.gateway.over_http.saved.save_workflow(ANA, "clear", CLEAR)
    run = await room.run(plan({"id": "clear", "tool": "workflows.clear"}, step("other")))
    waiting = await room.show(run)

    await room.answer(waiting, "clear", AnswerKind.REJECT)
    await room.errand(waiting, "clear")
    await room.leg(run)

    report = await room.show(run)
    assert report.status is WorkflowStatus.FAILED
    assert report.steps[0].state is StepStanding.FAILED
    assert report.steps[0].error is not None
    assert report.steps[0].error.code == "inner_step_failed"
    assert "clear/gone" in report.steps[0].error.message


async def test_one_that_failed_inside_is_tried_again_when_the_run_is_resumed() -> None:
    room = await a_room(copy=COPY)
    broken = True

    def write(arguments: JsonObject) -> Answer:
        room.made[f"write {arguments['path']}"] += 1
        return Answer([{"type": "text", "text": '{"path": "/to"}'}], failed=broken)

    room.upstreams.replies[WRITE.ref] = write
    run = await room.start(plan(calls("copy"), output={"$from": "copy.json"}))
    failed = await room.leg(run)
    broken = False
    await room.resumed(run)

    assert failed.failure is not None
    report = await room.show(run)
    assert (report.status, report.output) == (
        WorkflowStatus.DONE,
        {"read": "/x", "written": "/to"},
    )
    assert room.made == {"read /x": 1, "write /to": 2}


async def test_what_the_plan_can_do_without_may_fail_inside() -> None:
    room = await a_room(copy=COPY)
    room.upstreams.replies[WRITE.ref] = Answer([{"type": "text", "text": "no"}], failed=True)

    report = await room.ran(plan(calls("copy", on_error="skip"), step("read")))

    assert report.status is WorkflowStatus.PARTIAL
    assert [each.state for each in report.steps] == [StepStanding.FAILED, StepStanding.DONE]


async def test_two_deep_is_carried_out_too() -> None:
    outer: JsonObject = {"steps": [calls("copy")], "output": {"$from": "copy.json.written"}}
    room = await a_room(copy=COPY, outer=outer)

    report = await room.ran(
        plan({"id": "o", "tool": "workflows.outer"}, output={"$from": "o.text"})
    )

    assert report.output == "/to"
    names = {each.name for each in await room.runs.steps(ANA, await _only_run(room))}
    assert {"o/copy/write", "o/copy/~output", "o/~output"} <= names


async def test_a_plan_that_a_server_gives_is_only_what_it_gives() -> None:
    room = PlanRoom()
    theirs: JsonObject = {"plan": {"steps": [step("gone", DELETE)]}}
    room.upstreams.replies[READ.ref] = Answer([], theirs)

    report = await room.ran(plan(step("read"), output={"$from": "read.json"}))

    assert report.output == theirs
    assert not room.made


async def test_also_if_it_says_that_it_is_one_of_ours() -> None:
    room = PlanRoom()
    theirs = Admission({"steps": [step("gone", DELETE)]}, {}).answer
    room.upstreams.replies[READ.ref] = theirs

    report = await room.ran(plan(step("read"), output={"$from": "read.json"}))

    assert report.output == theirs.structured
    assert report.status is WorkflowStatus.DONE
    assert not room.made


async def test_what_was_removed_meanwhile_is_not_there() -> None:
    room = await a_room(copy=COPY)
    run = await room.start(plan(calls("copy")))
    await room.gateway.over_http.saved.remove_saved(ANA, "copy")

    await room.leg(run)

    [step_] = (await room.show(run)).steps
    assert step_.error is not None
    assert step_.error.code == ToolNotFound.code


PUT = a_tool(
    "files.put",
    "Puts a file somewhere else.",
    effect=Effect.LOCAL_WRITE,
    inputSchema={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
LACKING: JsonObject = {
    "steps": [{"id": "list", "tool": "files.list"}, {"id": "put", "tool": "files.put"}]
}


def with_put() -> PlanRoom:
    """A tool that needs a path, and one that says that it gives one."""
    room = PlanRoom()
    [place] = room.world.tools
    listing = a_tool("files.list", "Names a file.", effect=Effect.LOCAL_READ)
    gives: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
    promised = replace(listing.definition, output_schema=gives)
    room.world.tools[place] = [
        *room.world.tools[place],
        replace(listing, definition=promised, accepted=promised),
        PUT,
    ]
    room.upstreams.replies |= {
        listing.ref: Answer([], {"path": "/found"}),
        PUT.ref: lambda given: Answer([{"type": "text", "text": str(given["path"])}]),
    }
    return room


async def test_a_plan_that_lacks_an_argument_is_told_where_it_could_come_from_and_not_run() -> None:
    room = with_put()

    with pytest.raises(BadPlan) as refused:
        await room.gateway.over_http.run_workflow(await room.bot(), RunWorkflowWish(plan=LACKING))

    told = [str(fault) for fault in refused.value.faults]
    assert any("needs the argument 'path'" in fault for fault in told)
    assert any('accept "list.json.path -> put.path"' in fault for fault in told)
    assert room.upstreams.called == []


async def test_what_was_proposed_is_run_once_it_is_accepted() -> None:
    room = with_put()
    wish = RunWorkflowWish(plan=LACKING, accept=["list.json.path -> put.path"])

    started = await room.gateway.over_http.run_workflow(await room.bot(), wish)
    await room.leg(started.run.id)

    assert (await room.show(started.run.id)).output == {"put": "/found"}


async def test_whoever_may_not_look_for_tools_is_proposed_nothing() -> None:
    room = with_put()
    calling = replace(await room.bot(), scopes=frozenset({Scope.TOOLS_CALL}))

    with pytest.raises(BadPlan) as refused:
        await room.gateway.over_http.run_workflow(calling, RunWorkflowWish(plan=LACKING))

    assert not any("could come from" in str(fault) for fault in refused.value.faults)


async def test_with_tools_that_are_not_there_nothing_is_proposed() -> None:
    room = with_put()
    wrong: JsonObject = {"steps": [{"id": "a", "tool": "files.nothing"}]}

    with pytest.raises(BadPlan) as refused:
        await room.gateway.over_http.run_workflow(await room.bot(), RunWorkflowWish(plan=wrong))

    assert [fault.place for fault in refused.value.faults] == ["/steps/0/tool"]


async def test_when_everything_is_stopped_nothing_more_begins_inside() -> None:
    names = [f"r{number}" for number in range(8)]
    reads = [step(name, after=names[:at][-1:]) for at, name in enumerate(names)]
    room = await a_room(long={"steps": [*reads, step("write", WRITE, after=names[-1:])]})

    def write(arguments: JsonObject) -> Answer:
        room.made[f"write {arguments['path']}"] += 1
        return Answer([{"type": "text", "text": "no"}], failed=arguments["path"] == "/bad")

    room.upstreams.replies[WRITE.ref] = write
    outer = plan(
        {"id": "long", "tool": "workflows.long"}, step("a"), step("bad", WRITE, after=["a"])
    )
    report = await room.ran(outer)

    assert report.status is WorkflowStatus.FAILED
    assert report.steps[0].state is StepStanding.SKIPPED
    assert report.steps[0].why == "the plan was stopped by 'bad'"
    assert room.made["read /r0"] == 1
    assert room.made["write /write"] == 0


async def test_how_the_server_is_doing_is_told_as_of_others() -> None:
    room = await a_room(look=LOOK)

    before = await room.gateway.over_http.show_server(ANA, "workflows")
    async with room.working():
        await room.gateway.over_http.call_tool(await room.bot(), ref("look"), {})
    after = await room.gateway.over_http.show_server(ANA, "workflows")
    await room.gateway.over_http.restart_server(ANA, "workflows")

    assert before.server.name == after.server.name == "workflows"
    assert after.vitals.phase is Phase.IDLE


@pytest.mark.parametrize("said_of", ["copy", "copy/write"])
async def test_where_nobody_knows_of_an_inner_step_a_person_says_so(said_of: str) -> None:
    room = await a_room(copy=COPY)
    written = room.upstreams.replies[WRITE.ref]
    room.upstreams.replies[WRITE.ref] = UpstreamDown("files", "it broke off", reached=True)
    run = await room.run(plan(calls("copy"), output={"$from": "copy.json.read"}))
    unknown = await room.show(run)
    room.upstreams.replies[WRITE.ref] = written

    await room.resolved(run, said_of, Resolution.RETRY)

    assert unknown.steps[0].state is StepStanding.UNCERTAIN
    assert str(unknown.steps[0].why).startswith("copy/write: ")
    report = await room.show(run)
    assert (report.status, report.output) == (WorkflowStatus.DONE, "/x")
    assert room.made == {"read /x": 1, "write /to": 1}


async def _only_run(room: PlanRoom) -> Any:
    [run] = await room.runs.page(ANA, statuses=(), kind=None, before=None, limit=9)
    return run.id
