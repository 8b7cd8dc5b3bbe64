"""A plan that is saved is a tool: found, described, narrowed and taken away as others are."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from portico.gateway.core.catalog_snapshot import ToolRef, ToolStatus
from portico.gateway.core.errors import (
    ServerBuiltIn,
    ServerDisabled,
    ServerNotFound,
    ToolNotFound,
    ToolRefused,
)
from portico.gateway.core.servers import OURS, WORKFLOWS, Server
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.gateway import an_approved_server
from portico.testing.guard import MemoryAudit, a_person, an_identity
from portico.workflows.core.plan import InvalidPlan
from portico.workflows.core.saved import (
    InvalidWorkflowName,
    WorkflowCycle,
    WorkflowNestedTooDeep,
    WorkflowNotFound,
    WorkflowSecret,
)
from tests.gateway.open_room import ANA, SECRETARY, VIEWER, OpenRoom

CONFIDENTIAL = Label(Level.CONFIDENTIAL)


def plan(*tools: str, **more: Any) -> JsonObject:
    steps = [{"id": f"s{number}", "tool": tool} for number, tool in enumerate(tools)]
    return {"steps": steps, **more}


REPORT = plan(
    "sky.forecast",
    "files.write",
    description="Writes a report on the weather.",
    inputs={"city": {"type": "string"}},
    required=["city"],
)


@pytest.fixture
def room() -> OpenRoom:
    return OpenRoom()


async def ours(room: OpenRoom) -> Server:
    [found] = [its for its in await room.doors.servers.all(ANA) if its.origin == OURS]
    return found


async def saved(room: OpenRoom, caller: Principal = ANA) -> list[str]:
    return [look.saved.name for look in await room.use.saved.list_saved(caller)]


async def test_it_is_a_tool_at_once_with_a_schema_and_an_effect_of_its_own(room: OpenRoom) -> None:
    saved = (await room.use.saved.save_workflow(ANA, "report", REPORT)).workflow

    shelf = await room.gateway.catalogues.current(VIEWER)
    tool = shelf.find(ToolRef(WORKFLOWS, "report"))
    assert tool.effect is saved.effect is Effect.LOCAL_WRITE
    assert tool.definition.description == "Writes a report on the weather."
    assert tool.definition.input_schema["required"] == ["city"]
    assert (saved.saved_by, saved.saved_by_name) == (ANA.id, "ana")


async def test_it_is_found_by_what_it_does_and_described(room: OpenRoom) -> None:
    await room.use.saved.save_workflow(ANA, "report", REPORT)

    found = await room.use.find_tools(VIEWER, ["write a report on the weather"])
    described = await room.gateway.describe_tools(VIEWER, ["workflows.report"])

    assert "workflows.report" in found.text
    assert "write" in found.text
    assert described.tools[0]["tool"] == "workflows.report"


async def test_the_server_is_made_with_the_first_and_is_a_part_of_portico(room: OpenRoom) -> None:
    assert all(its.origin != OURS for its in await room.doors.servers.all(ANA))

    await room.use.saved.save_workflow(ANA, "one", plan("files.read"))
    await room.use.saved.save_workflow(ANA, "two", plan("sky.forecast"))

    server = await ours(room)
    assert (server.name, server.approved, server.approved_by) == (WORKFLOWS, True, "ana")
    assert await saved(room) == ["one", "two"]
    with pytest.raises(ServerBuiltIn):
        await room.use.remove_server(ANA, WORKFLOWS)


async def test_two_who_save_the_first_at_once_make_one_server(room: OpenRoom) -> None:
    save = room.use.saved.save_workflow

    await asyncio.gather(save(ANA, "one", plan("files.read")), save(ANA, "two", plan("files.read")))

    assert (await ours(room)).name == WORKFLOWS
    assert len(await saved(room, ANA)) == 2


async def test_where_somebody_elses_server_has_the_name_it_takes_another(room: OpenRoom) -> None:
    theirs = an_approved_server(WORKFLOWS)
    room.world.servers[ANA.space, theirs.id] = theirs

    await room.use.saved.save_workflow(ANA, "report", REPORT)

    [look] = await room.use.saved.list_saved(ANA)
    assert str(look.ref) == "workflows-2.report"


async def test_saved_anew_it_is_what_was_saved_last(room: OpenRoom) -> None:
    await room.use.saved.save_workflow(ANA, "report", REPORT)
    await room.use.saved.save_workflow(ANA, "other", plan("files.read"))

    await room.use.saved.save_workflow(
        ANA, "report", plan("files.delete"), description="Otherwise."
    )

    shelf = await room.gateway.catalogues.current(ANA)
    tool = shelf.find(ToolRef(WORKFLOWS, "report"))
    assert (tool.effect, tool.definition.description) == (Effect.IRREVERSIBLE, "Otherwise.")
    assert shelf.find(ToolRef(WORKFLOWS, "other")).effect is Effect.LOCAL_READ


async def test_without_a_description_it_says_what_it_calls(room: OpenRoom) -> None:
    saved = await room.use.saved.save_workflow(
        ANA, "both", plan("files.read", "sky.forecast", "files.read")
    )

    assert saved.workflow.description == "Calls files.read, sky.forecast."


async def test_one_that_is_removed_is_no_tool_any_more(room: OpenRoom) -> None:
    await room.use.saved.save_workflow(ANA, "report", REPORT)
    await room.use.saved.save_workflow(ANA, "other", plan("files.read"))

    await room.use.saved.remove_saved(ANA, "report")

    shelf = await room.gateway.catalogues.current(ANA)
    with pytest.raises(ToolNotFound):
        shelf.find(ToolRef(WORKFLOWS, "report"))
    assert shelf.find(ToolRef(WORKFLOWS, "other")).effect is Effect.LOCAL_READ
    with pytest.raises(WorkflowNotFound):
        await room.use.saved.remove_saved(ANA, "report")
    with pytest.raises(WorkflowNotFound):
        await room.use.saved.show_saved(ANA, "report")


async def test_of_a_space_that_has_saved_none_there_is_nothing_to_see(room: OpenRoom) -> None:
    assert await saved(room) == []
    with pytest.raises(WorkflowNotFound):
        await room.use.saved.remove_saved(ANA, "report")


@pytest.mark.parametrize(
    "who",
    [
        VIEWER,
        a_person("mia", roles=[Role.MEMBER]),
        as_principal(an_identity("bot", kind=PrincipalKind.AGENT, roles=[Role.ADMIN])),
    ],
)
async def test_members_and_agents_save_and_remove_nothing(room: OpenRoom, who: Principal) -> None:
    await room.use.saved.save_workflow(ANA, "report", REPORT)

    with pytest.raises(NotPermitted):
        await room.use.saved.save_workflow(who, "mine", plan("files.read"))
    with pytest.raises(NotPermitted):
        await room.use.saved.remove_saved(who, "report")
    with pytest.raises(NotPermitted):
        await room.use.saved.list_saved(replace(who, scopes=frozenset()))

    assert await saved(room) == ["report"]


async def test_a_plan_that_cannot_be_carried_out_is_not_saved(room: OpenRoom) -> None:
    with pytest.raises(InvalidPlan) as refused:
        await room.use.saved.save_workflow(ANA, "report", plan("files.read", "files.raed"))
    with pytest.raises(InvalidWorkflowName):
        await room.use.saved.save_workflow(ANA, "a report", REPORT)

    assert [fault.place for fault in refused.value.diagnostics] == ["/steps/1/tool"]
    assert await saved(room) == []


async def test_inputs_that_are_no_schema_are_refused(room: OpenRoom) -> None:
    deep: JsonObject = {}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}}

    with pytest.raises((ToolRefused, InvalidPlan)):
        await room.use.saved.save_workflow(ANA, "deep", plan("files.read", inputs={"a": deep}))

    assert await saved(room) == []


async def test_one_may_call_another_but_not_itself_however_far_around(room: OpenRoom) -> None:
    save = room.use.saved.save_workflow
    await save(ANA, "a", plan("files.delete"))
    await save(ANA, "b", plan("workflows.a"))
    await save(ANA, "c", plan("workflows.b"))

    with pytest.raises(WorkflowCycle) as circle:
        await save(ANA, "a", plan("files.read", "workflows.b"))
    with pytest.raises(WorkflowNestedTooDeep):
        await save(ANA, "d", plan("workflows.c"))

    assert circle.value.way == ("a", "b", "a")
    shelf = await room.gateway.catalogues.current(ANA)
    assert shelf.find(ToolRef(WORKFLOWS, "c")).effect is Effect.IRREVERSIBLE
    assert set(await saved(room)) == {"a", "b", "c"}


async def test_what_few_may_know_of_is_not_told_by_a_plan_that_many_see(room: OpenRoom) -> None:
    room.label("sky", CONFIDENTIAL)

    with pytest.raises(WorkflowSecret) as refused:
        await room.use.saved.save_workflow(SECRETARY, "report", REPORT)
    await room.use.saved.save_workflow(SECRETARY, "plain", plan("files.read"))
    room.label(WORKFLOWS, CONFIDENTIAL)
    room.bus.wake(ANA.space, "catalogue")
    await room.use.saved.save_workflow(SECRETARY, "report", REPORT)

    assert refused.value.server == "sky"
    assert await saved(room, SECRETARY) == [
        "plain",
        "report",
    ]
    assert await saved(room) == []
    with pytest.raises(ServerNotFound):
        await room.use.saved.remove_saved(ANA, "plain")


async def test_one_whose_server_is_labelled_higher_since_is_not_seen(room: OpenRoom) -> None:
    """Its description and its schema name what it calls."""
    await room.use.saved.save_workflow(ANA, "report", REPORT)
    outer: JsonObject = {"id": "s", "tool": "workflows.report", "arguments": {"city": "Ulm"}}
    await room.use.saved.save_workflow(ANA, "outer", {"steps": [outer]})
    await room.use.saved.save_workflow(ANA, "plain", plan("files.read"))
    room.label("sky", CONFIDENTIAL)
    room.bus.wake(ANA.space, "catalogue")

    shelf = await room.gateway.catalogues.offered(ANA)

    assert {ref.name for ref in shelf.tools if ref.server == WORKFLOWS} == {"plain"}
    assert await saved(room) == ["plain"]
    assert len(await saved(room, SECRETARY)) == 3
    for name in ("report", "outer"):
        with pytest.raises(ToolNotFound):
            await room.gateway.describe_tools(ANA, [f"workflows.{name}"])
    seen = await room.gateway.describe_tools(SECRETARY, ["workflows.report"])
    assert "weather" in seen.text


async def test_its_plan_is_shown_to_whoever_may_use_all_that_it_calls(room: OpenRoom) -> None:
    """Literal arguments stand in it."""
    await room.use.saved.save_workflow(ANA, "report", REPORT)
    narrow = replace(VIEWER, tools=(("workflows.*",),))

    theirs = await room.use.saved.show_saved(narrow, "report")
    whole = await room.use.saved.show_saved(VIEWER, "report")

    assert theirs.plan is None
    assert whole.plan == REPORT


async def test_whoever_may_use_other_tools_only_does_not_see_it(room: OpenRoom) -> None:
    await room.use.saved.save_workflow(ANA, "report", REPORT)
    narrow = replace(VIEWER, tools=(("sky.*",),))

    assert await saved(room, narrow) == []
    assert len(await saved(room, VIEWER)) == 1


async def test_switched_off_none_of_them_may_be_used_and_that_is_told(room: OpenRoom) -> None:
    await room.use.saved.save_workflow(ANA, "report", REPORT)

    await room.use.switch_server(ANA, WORKFLOWS, enabled=False)

    shelf = await room.gateway.catalogues.current(ANA)
    with pytest.raises(ServerDisabled):
        shelf.find(ToolRef(WORKFLOWS, "report"))
    [look] = await room.use.saved.list_saved(ANA)
    assert look.status is ToolStatus.PENDING


async def test_both_are_in_the_audit(room: OpenRoom) -> None:
    assert isinstance(room.doors.audit, MemoryAudit)
    await room.use.saved.save_workflow(ANA, "report", REPORT)
    await room.use.saved.remove_saved(ANA, "report")

    told = [(act["action"], act["subject"]) for act in room.doors.audit.acts]
    assert told[-2:] == [
        ("workflow.saved", "workflows.report"),
        ("workflow.removed", "workflows.report"),
    ]
