"""Agents are made, changed and taken away by whoever may; whose runs one sees."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from portico.agents.core.agents import AgentFilter, AgentSpec, ToolMode
from portico.agents.core.errors import (
    AgentChanged,
    AgentNameTaken,
    AgentNotFound,
    AgentRunNotFound,
    AgentVersionNotFound,
    InvalidAgent,
    ModelKeyMissing,
    ModelUnavailable,
    NameInRules,
    ProviderNotFound,
)
from portico.agents.core.model_requests import ModelInfo, ModelRef, Support
from portico.agents.core.traces import AgentRunStatus, TraceFilter, TracePlace
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.errors import NotPermitted, Overreach
from portico.guard.core.principals import Role
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run, an_agent_spec
from portico.testing.agents import SMALL, MemoryModelRegistry, a_model
from tests.agents.data_room import DataRoom, data_room

SECRET = Label(Level.CONFIDENTIAL)


@pytest.fixture
async def room() -> DataRoom:
    return await data_room()


async def fields(room: DataRoom, spec: AgentSpec, caller: Principal | None = None) -> list[str]:
    return [flaw.field for flaw in await room.use.check_agent(caller or room.root, spec)]


@pytest.mark.requirement("agents:data:principal")
async def test_an_agent_is_a_principal_with_its_tools_and_its_label(room: DataRoom) -> None:
    agent = await room.use.create_agent(room.root, an_agent_spec(label=SECRET))

    identity = await room.principals.get(room.root, agent.principal)
    assert (identity.kind, identity.name, identity.tools) == ("agent", "clerk", ("files.*",))
    assert identity.clearance == SECRET
    assert "agent.added" in room.audit.actions


async def test_a_name_that_a_rule_allows_something_is_not_anybodys_to_give(room: DataRoom) -> None:
    allows = Rule(name="yes", ruling=Ruling.ALLOW, tools=("files.*",), who=("clerk",))
    await room.rules.add(room.root, allows)
    member = await room.joined("mel", Role.MEMBER)

    with pytest.raises(NameInRules, match="The rule yes is about 'clerk'"):
        await room.use.create_agent(member, an_agent_spec(label=PUBLIC))

    await room.use.create_agent(room.root, an_agent_spec())


async def test_a_name_is_not_given_twice_nor_a_flaw_to_anything(room: DataRoom) -> None:
    await room.joined("clerk", Role.MEMBER)

    with pytest.raises(AgentNameTaken):
        await room.use.create_agent(room.root, an_agent_spec())

    assert await room.use.list_agents(room.root, AgentFilter(), after=None, limit=9) == []
    assert "agent.added" not in room.audit.actions

    with pytest.raises(InvalidAgent) as refused:
        await room.use.create_agent(room.root, an_agent_spec(name="?", model="x"))

    assert [flaw.field for flaw in refused.value.field_errors] == ["name", "model"]
    assert room.audit.actions == []


async def test_whoever_only_looks_makes_changes_and_removes_nothing(room: DataRoom) -> None:
    await room.use.create_agent(room.root, an_agent_spec())
    viewer = await room.joined("vera", Role.VIEWER)
    use, spec = room.use, an_agent_spec("other")

    for act in (
        use.create_agent(viewer, spec),
        use.change_agent(viewer, "clerk", spec, was=None),
        use.remove_agent(viewer, "clerk"),
        use.duplicate_agent(viewer, "clerk", "other"),
        use.restore_version(viewer, "clerk", 1),
        use.import_agent(viewer, "", replace=False),
    ):
        with pytest.raises(NotPermitted):
            await act
    assert (await use.show_agent(viewer, "clerk")).version == 1


async def test_a_change_is_told_to_the_principal_and_to_the_audit(room: DataRoom) -> None:
    agent = await room.use.create_agent(room.root, an_agent_spec())

    changed = await room.use.change_agent(
        room.root, "clerk", an_agent_spec("scribe", tools=("files.read",)), was=1
    )

    identity = await room.principals.get(room.root, agent.principal)
    assert (changed.id, changed.version) == (agent.id, 2)
    assert (identity.name, identity.tools) == ("scribe", ("files.read",))
    (act,) = [act for act in room.audit.acts if act["action"] == "agent.changed"]
    facts = act["facts"]
    assert isinstance(facts, Mapping)
    assert facts["changed"] == ["name", "tools"]


async def test_what_is_the_same_makes_no_version(room: DataRoom) -> None:
    agent = await room.use.create_agent(room.root, an_agent_spec())

    assert await room.use.change_agent(room.root, "clerk", agent.spec, was=None) == agent
    with pytest.raises(AgentChanged):
        await room.use.change_agent(room.root, "clerk", agent.spec, was=2)


async def test_one_whose_tools_are_listed_gives_no_others(room: DataRoom) -> None:
    await room.use.create_agent(room.root, an_agent_spec())
    narrow = replace(room.root, tools=(("files.read",),))

    assert await fields(room, an_agent_spec(tools=("files.*",)), narrow) == ["tools.0"]
    made = await room.use.create_agent(narrow, an_agent_spec("reader", tools=("files.read",)))
    assert made.spec.tools == ("files.read",)
    with pytest.raises(Overreach):
        await room.use.change_agent(narrow, "clerk", an_agent_spec(tools=()), was=None)
    with pytest.raises(Overreach):
        await room.use.remove_agent(narrow, "clerk")


async def test_an_agent_that_is_removed_asks_for_nothing_more(room: DataRoom) -> None:
    agent = await room.use.create_agent(room.root, an_agent_spec())

    await room.use.remove_agent(room.root, "clerk")

    assert (await room.principals.get(room.root, agent.principal)).disabled_at is not None
    assert room.audit.actions[-1] == "agent.removed"
    again = await room.use.create_agent(room.root, an_agent_spec())
    assert again.principal != agent.principal


@pytest.mark.requirement("agents:data:labels")
async def test_what_an_agent_is_told_counts_as_read(room: DataRoom) -> None:
    await room.use.create_agent(room.root, an_agent_spec(label=SECRET))
    assert (await room.contexts.get(room.root)).label == PUBLIC
    await room.use.list_agents(room.root, AgentFilter(), after=None, limit=9)
    assert (await room.contexts.get(room.root)).label == PUBLIC

    await room.use.show_agent(room.root, "clerk")

    assert (await room.contexts.get(room.root)).label == SECRET
    assert await fields(room, an_agent_spec("copy")) == ["label"]


async def test_a_copy_of_a_secret_agent_is_as_secret(room: DataRoom) -> None:
    await room.use.create_agent(room.root, an_agent_spec(label=SECRET))

    copy = await room.use.duplicate_agent(room.root, "clerk", "scribe")

    assert copy.spec.label == SECRET
    low = await room.joined("bob", Role.MEMBER)
    with pytest.raises(AgentNotFound):
        await room.use.duplicate_agent(low, "clerk", "mine")


async def test_versions_are_read_compared_and_taken_back(room: DataRoom) -> None:
    first = await room.use.create_agent(room.root, an_agent_spec())
    await room.use.change_agent(room.root, "clerk", an_agent_spec("scribe", tools=()), was=1)

    versions = await room.use.list_versions(room.root, "scribe")
    changes = await room.use.diff_versions(room.root, "scribe", 2, 1)
    back = await room.use.restore_version(room.root, "scribe", 1)

    assert [version.number for version in versions] == [2, 1]
    assert [change.field for change in changes] == ["name", "tools"]
    assert (back.version, back.spec) == (3, replace(first.spec, name="scribe"))
    with pytest.raises(AgentVersionNotFound):
        await room.use.diff_versions(room.root, "scribe", 1, 9)


async def test_a_model_that_is_not_there_is_a_flaw(room: DataRoom) -> None:
    spec = an_agent_spec(model="local:large", fallbacks=("local:small",))

    assert await fields(room, spec) == ["model"]


class Failing(MemoryModelRegistry):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        raise self.error


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (ProviderNotFound("x", []), ["model"]),
        (ModelUnavailable("x", "no answer"), []),
        (ModelKeyMissing("x", "env:KEY"), []),
    ],
)
async def test_one_whose_provider_does_not_answer_now_is_believed(
    room: DataRoom, error: Exception, wrong: list[str]
) -> None:
    check = replace(room.use.check_agent, book=Failing(error))

    found = await check(room.root, an_agent_spec())

    assert [flaw.field for flaw in found] == wrong


@pytest.mark.parametrize(
    ("can", "changes", "wrong"),
    [
        ({"tools": Support.NO, "structured": Support.NO}, {}, ["model"]),
        ({"tools": Support.NO, "structured": Support.NO}, {"tools": ()}, []),
        ({"tools": Support.NO}, {}, []),
        ({"tools": Support.NO}, {"tool_mode": ToolMode.NATIVE}, ["model"]),
        ({"tools": Support.UNKNOWN, "structured": Support.NO}, {}, []),
    ],
)
async def test_a_model_that_cannot_call_tools_is_a_flaw_where_there_are_some(
    room: DataRoom, can: dict[str, Any], changes: dict[str, Any], wrong: list[str]
) -> None:
    room.book.models[SMALL] = a_model(**can)

    assert await fields(room, an_agent_spec(**changes)) == wrong


async def test_whoever_may_see_agents_is_warned_of_tools_that_cannot_be_used(
    room: DataRoom,
) -> None:
    viewer, nobody = await room.joined("vera", Role.VIEWER), await room.joined("nick")
    spec = an_agent_spec(tools=("mail.send",))

    [found] = await room.use.check_agent.warnings(viewer, spec)

    assert found.field == "tools"
    assert await room.use.check_agent.warnings(room.root, an_agent_spec()) == []
    with pytest.raises(NotPermitted):
        await room.use.check_agent.warnings(nobody, spec)


ALL = TraceFilter()


async def test_members_see_their_own_and_operators_everybodys(room: DataRoom) -> None:
    ana, bob = await room.joined("ana", Role.MEMBER), await room.joined("bob", Role.OPERATOR)
    run = an_agent_run(ana)
    await room.traces.add(ana, run, a_saying(run))
    await room.traces.add_turn(ana, a_turn(run))
    await room.traces.add_use(ana, a_use(run))
    cy = await room.joined("cy", Role.MEMBER)

    for whoever, count in ((ana, 1), (bob, 1), (cy, 0)):
        assert len(await room.use.list_traces(whoever, ALL, before=None, limit=9)) == count
        assert len(await room.use.show_tool_stats(whoever, ALL)) == count
        assert len(await room.use.show_model_stats(whoever, ALL)) == count
    mine = TraceFilter(mine=True)
    assert await room.use.list_traces(bob, mine, before=None, limit=9) == []
    assert (await room.use.show_trace(bob, run.run)).run.run == run.run
    for look in (room.use.show_trace, room.use.export_trace):
        with pytest.raises(AgentRunNotFound):
            await look(cy, run.run)


async def test_what_is_seen_of_a_run_counts_as_read_and_as_a_strangers(room: DataRoom) -> None:
    run = an_agent_run(room.root, label=SECRET)
    await room.traces.add(room.root, run, a_saying(run))
    await room.use.show_tool_stats(room.root, ALL)
    before = await room.contexts.get(room.root)

    await room.use.list_traces(room.root, ALL, before=None, limit=9)

    after = await room.contexts.get(room.root)
    assert (before.label, before.untrusted) == (PUBLIC, False)
    assert (after.label, after.untrusted) == (SECRET, True)


async def test_a_run_that_could_not_say_that_it_ended_is_shown_as_it_is(room: DataRoom) -> None:
    broken, unknown, on = runs = [an_agent_run(room.root, number) for number in (1, 2, 3)]
    for run in runs:
        await room.traces.add(room.root, run, a_saying(run))
    room.settling.broken.add(broken.run)
    room.settling.unknown.add(unknown.run)

    listed = await room.use.list_traces(room.root, ALL, before=None, limit=9)
    shown = await room.use.show_trace(room.root, broken.run)

    assert {run.run: run.status for run in listed} == {
        broken.run: "failed",
        unknown.run: "running",
        on.run: "running",
    }
    assert shown.run.status == "failed"
    assert {run.asked for run in listed} == {"Write to Ana."}


async def test_a_run_that_ends_while_it_is_looked_at_is_shown_whole(room: DataRoom) -> None:
    run = an_agent_run(room.root)
    await room.traces.add(room.root, run, a_saying(run))
    await room.traces.add_turn(room.root, a_turn(run))

    async def ends() -> None:
        await room.traces.add_turn(room.root, a_turn(run, 2, label=SECRET))
        ended = replace(run, status=AgentRunStatus.COMPLETED, turns=2, label=SECRET)
        assert await room.traces.end(room.root, ended)

    room.settling.meanwhile.append(ends)
    shown = await room.use.show_trace(room.root, run.run)

    assert shown.run.status == "completed"
    assert [turn.number for turn in shown.turns] == [1, 2]
    assert (await room.contexts.get(room.root)).label == SECRET


async def test_a_list_goes_on_from_a_place_and_from_nothing_else(room: DataRoom) -> None:
    runs = [an_agent_run(room.root, number) for number in (1, 2)]
    for run in runs:
        await room.traces.add(room.root, run, a_saying(run))

    rest = await room.use.list_traces(room.root, ALL, before=str(TracePlace.of(runs[1])), limit=9)

    assert [run.run for run in rest] == [runs[0].run]
    with pytest.raises(InvalidCursor):
        await room.use.list_traces(room.root, ALL, before="x", limit=9)


async def test_without_the_scope_there_is_no_list(room: DataRoom) -> None:
    nobody = replace(room.root, scopes=frozenset())

    with pytest.raises(NotPermitted):
        await room.use.list_traces(nobody, ALL, before=None, limit=9)
    with pytest.raises(NotPermitted):
        await room.use.show_tool_stats(nobody, ALL)
    with pytest.raises(NotPermitted):
        await room.use.show_model_stats(nobody, ALL)
