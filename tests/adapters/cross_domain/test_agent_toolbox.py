"""Agents beside the gateway, guard and engine: their tools, names and talk."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from portico.adapters.cross_domain import event_sinks
from portico.adapters.cross_domain.tool_servers import LAUNCH, AgentTools, Running, tool_definition
from portico.agents.core.agents import Agent, AgentSpec
from portico.agents.core.errors import AgentNameTaken, NameInRules
from portico.agents.core.events import (
    AgentStreamItem,
    ReasoningDelta,
    RunFinished,
    RunNotice,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
)
from portico.agents.core.model_requests import Usage
from portico.agents.core.traces import AgentRunStatus, ToolUse, WholeTrace
from portico.agents.runs import AgentRunSpec, StartedAgentRun
from portico.engine.event_log import WatchTopics
from portico.gateway.core.calls import OnBehalf, Phase, ToolResult, UpstreamTarget
from portico.gateway.core.errors import UpstreamDown, UpstreamTimedOut
from portico.guard.core.approvals import AnswerKind, Resolution
from portico.guard.core.errors import Overreach, PrincipalDisabled
from portico.guard.core.principals import Scope
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, PrincipalId, RunId, SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.agent_data import an_agent, an_agent_spec
from portico.testing.agents import a_call, says, wants
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.agents.town import ANA, Town
from tests.gateway.open_room import WRITE

READS = wants(a_call("files__read", path="/a"))
WRITES = wants(a_call("files__write", path="/a"))
DELETES = wants(a_call("files__delete", path="/a"))


def only(trace: WholeTrace) -> ToolUse:
    [use] = trace.uses
    return use


async def test_a_tool_is_called_as_the_agent_in_the_task_of_its_run() -> None:
    town = Town(WRITES, says("Done."))

    trace = await town.ran_agent()
    [kept] = town.world.calls.values()

    assert (trace.run.status, trace.run.answer) == (AgentRunStatus.COMPLETED, "Done.")
    assert (only(trace).tool, only(trace).failed) == ("files.write", False)
    assert '"did": "write"' in only(trace).text
    assert (kept.call.principal, kept.call.context) == (town.agent.principal, trace.run.context)


async def test_what_needs_approval_waits_and_goes_on_with_what_came_of_it() -> None:
    town = Town(DELETES, says("Deleted."))
    waiting = await town.ran_agent()
    run = waiting.run.run
    asked = await town.asked(run)

    await town.say(asked)
    await town.leg(run)
    trace = await town.trace(run)
    told = await town.happened(run)

    assert waiting.run.status is AgentRunStatus.WAITING
    assert (asked.requester.id, asked.requester.name) == (town.agent.principal, "clerk")
    assert trace.run.status is AgentRunStatus.COMPLETED
    assert (only(trace).failed, only(trace).approval) == (False, asked.id)
    assert town.writes == {"delete /a": 1}
    [waits] = [each for each in told if isinstance(each, ToolCallAwaitingApproval)]
    assert (waits.approval, waits.expires_at) == (asked.id, asked.expires_at)


async def test_what_was_rejected_is_said_to_the_model() -> None:
    town = Town(DELETES, says("Then not."))
    run = (await town.ran_agent()).run.run

    await town.say(await town.asked(run), AnswerKind.REJECT)
    await town.leg(run)
    trace = await town.trace(run)

    assert trace.run.status is AgentRunStatus.COMPLETED
    assert (only(trace).failed, only(trace).code) == (True, "approval_rejected")
    assert town.writes == {}


async def test_what_is_not_on_its_list_is_refused_by_the_gate() -> None:
    town = Town(WRITES, says("I may not."), tools=("files.read",))

    trace = await town.ran_agent()
    denied = [each for each in town.audited if each["action"] == "call.denied"]

    assert (only(trace).failed, only(trace).code) == (True, "tool_not_allowed")
    assert only(trace).tool == "files.write"
    began = [
        each for each in await town.happened(trace.run.run) if isinstance(each, ToolCallStarted)
    ]
    assert [each.tool for each in began] == ["files.write"]
    assert "portico agents edit clerk" in only(trace).text
    assert [(each["subject"], each["rule"]) for each in denied] == [("files.write", "default:list")]
    assert town.made == {}


NEVER = Rule(name="never", ruling=Ruling.DENY, tools=("files.write",))


@pytest.mark.parametrize(
    ("call", "rules", "tool", "code", "said"),
    [
        (a_call("files__burn", path="/a"), (), "files__burn", "tool_not_found", ""),
        (
            a_call("files__write", path=3),
            (),
            "files.write",
            "bad_arguments",
            "files.write was not called, its arguments do not fit: path: must be string. "
            "It takes files.write(path?: str)",
        ),
        (
            a_call("files__write", path="/a"),
            (NEVER,),
            "files.write",
            "refused",
            "portico policy explain",
        ),
        (a_call("files__write", path="/a"), (), "files.write", "tool_failed", "no room"),
    ],
    ids=["not there", "wrong arguments", "refused", "failed"],
)
async def test_why_a_call_was_not_made_is_told_with_what_would_do(
    call: Any, rules: tuple[Rule, ...], tool: str, code: str, said: str
) -> None:
    town = Town(wants(call), says("Well."), rules=rules)
    town.upstreams.replies[WRITE.ref] = ToolResult(
        [{"type": "text", "text": "no room"}], failed=True
    )

    use = only(await town.ran_agent())

    assert (use.failed, use.tool, use.code) == (True, tool, code)
    assert said in use.text
    assert "describe_tools" not in use.text


async def test_of_what_may_have_been_done_a_person_says_what_became_of_it() -> None:
    town = Town(WRITES, says("Well."))
    town.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files", 1)
    waiting = await town.ran_agent()
    run = waiting.run.run

    await town.resolve(run, "call-1-0", Resolution.DONE)
    await town.leg(run)
    trace = await town.trace(run)

    assert waiting.run.status is AgentRunStatus.WAITING
    assert only(trace).text == "It was done. Nobody knows what it answered."
    assert any(isinstance(each, RunNotice) for each in await town.happened(run))


async def test_what_is_too_long_is_read_page_by_page_in_its_own_run_alone() -> None:
    read_on = wants(a_call("read_result", result="call-1-0", page=2))
    town = Town(READS, read_on, says("Read."), read_on, says("Nothing."), page_size=20)

    trace = await town.ran_agent()
    other = await town.ran_agent()

    assert trace.uses[0].text.endswith('read_result(result="call-1-0", page=2)]')
    assert "[page 2 of" in trace.uses[1].text
    assert (only(other).failed, only(other).code) == (True, "result_not_found")


async def test_many_tools_are_shown_by_a_search() -> None:
    town = Town()
    caller = await town.identities.acting(ANA, await town.made_agent())

    few = await town.toolbox.offers(caller, "read a file", 10, 10_000)
    many = await town.toolbox.offers(caller, "read a file", 3, 10_000)
    tight = await town.toolbox.offers(caller, "read a file", 10, 5)

    assert [shown.name for shown in few.shown] == [
        "files__delete",
        "files__read",
        "files__write",
        "read_result",
    ]
    assert (few.searched, many.searched, tight.searched) == (False, True, True)
    own = ["search_tools", "call_tool", "read_result"]
    assert [shown.name for shown in many.shown] == own
    assert await town.toolbox.offers(caller, "read a file", 3, 10_000) == many

    town = Town(tools=())
    caller = await town.identities.acting(ANA, await town.made_agent())

    assert (await town.toolbox.offers(caller, "anything", 10, 10_000)).shown == ()


RUN = RunId.mint(BEGINNING, SeededEntropy("run"))
SPEC = an_agent_spec("scout")
TARGET = UpstreamTarget(
    space=ANA.space,
    server="agents",
    launch=LAUNCH,
    launch_pin="p",
    acting=OnBehalf(ANA, call="cal_1"),
)
MINUTE = timedelta(minutes=1)


class Runs:
    """Start, and end as they were told to."""

    def __init__(self, came: RunFinished | ToolCallAwaitingApproval | None) -> None:
        self.came = came
        self.wishes: list[AgentRunSpec] = []

    async def start(self, caller: Principal, wish: AgentRunSpec) -> StartedAgentRun:
        self.wishes.append(wish)
        return StartedAgentRun(RUN, replayed=False, agent=an_agent(caller))

    async def answer(
        self, caller: Principal, run: RunId, *, patience: timedelta
    ) -> RunFinished | ToolCallAwaitingApproval | None:
        return self.came

    async def offered(self, space: SpaceId) -> list[tuple[AgentSpec, Effect]]:
        return [(SPEC, Effect.LOCAL_READ)]

    def tools(self) -> AgentTools:
        tools = AgentTools()
        tools.bring(Running(start=self.start, answer=self.answer, offered=self.offered))
        return tools


def ended(status: AgentRunStatus, answer: str = "", error: str | None = None) -> RunFinished:
    return RunFinished(
        run=RUN, status=status, answer=answer, error=error, usage=Usage(), money=Decimal(0)
    )


async def test_a_call_is_a_run_in_the_name_of_whoever_calls_once_for_each_call() -> None:
    runs = Runs(ended(AgentRunStatus.COMPLETED, "Found."))
    tools = runs.tools()

    answer = await tools.call(TARGET, "scout", {"message": "Look."}, timeout=MINUTE)

    assert runs.wishes == [AgentRunSpec(agent="scout", message="Look.", key="cal_1")]
    assert (answer.failed, answer.content) == (False, [{"type": "text", "text": "Found."}])
    assert [tool["name"] for tool in (await tools.look(TARGET)).tools] == ["scout"]
    assert tools.knows(ANA.space, "agents")
    assert tools.health(ANA.space, "agents").phase is Phase.IDLE


@pytest.mark.parametrize(
    ("came", "status", "failed"),
    [
        (ended(AgentRunStatus.FAILED, error="It broke."), "failed", True),
        (ended(AgentRunStatus.EXHAUSTED, "So far."), "exhausted", False),
        (None, "running", False),
        (
            ToolCallAwaitingApproval(
                turn=1,
                call="c",
                tool="files.delete",
                approval=ApprovalId.mint(BEGINNING, SeededEntropy("asked")),
                expires_at=None,
            ),
            "waiting",
            False,
        ),
    ],
)
async def test_what_has_not_been_answered_is_said(
    came: RunFinished | ToolCallAwaitingApproval | None, status: str, *, failed: bool
) -> None:
    answer = await Runs(came).tools().call(TARGET, "scout", {"message": "?"}, timeout=MINUTE)

    assert isinstance(answer.structured, dict)
    assert (answer.structured["status"], answer.failed) == (status, failed)
    assert answer.structured["run"] == str(RUN)


async def test_nobody_calls_for_nobody_and_none_are_there_before_they_are_brought() -> None:
    with pytest.raises(UpstreamDown):
        await (
            Runs(None)
            .tools()
            .call(replace(TARGET, acting=None), "scout", {"message": "?"}, timeout=MINUTE)
        )
    with pytest.raises(UpstreamDown):
        await AgentTools().look(TARGET)


def test_its_definition_says_what_its_tools_can_do_and_changes_with_all_of_it() -> None:
    reads = tool_definition(SPEC, Effect.LOCAL_READ)
    deletes = tool_definition(SPEC, Effect.IRREVERSIBLE)
    other = tool_definition(replace(SPEC, instructions="Do evil."), Effect.LOCAL_READ)

    assert reads["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "openWorldHint": True,
    }
    assert deletes["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "openWorldHint": True,
    }
    assert other != reads
    assert other["description"] == reads["description"]


async def test_nobody_makes_an_agent_that_has_more_than_they() -> None:
    town = Town(label=Label(Level.RESTRICTED))
    low = replace(ANA, clearance=Label(Level.TEAM))
    listed = replace(ANA, tools=(("git.*",),))

    with pytest.raises(Overreach):
        await town.identities.add(low, town.agent)
    with pytest.raises(Overreach):
        await town.identities.add(listed, town.agent)


async def test_a_name_is_given_once_and_is_free_when_its_agent_is_gone() -> None:
    town = Town()
    await town.made_agent()
    other = replace(town.agent, principal=PrincipalId.mint(BEGINNING, SeededEntropy("other")))

    with pytest.raises(AgentNameTaken):
        await town.identities.add(ANA, other)
    await town.identities.remove(ANA, town.agent)
    await town.identities.remove(ANA, town.agent)
    await town.identities.add(ANA, other)

    gone = await town.identities.principals.get(ANA, town.agent.principal)
    assert gone.name == f"clerk ({town.agent.principal})"
    with pytest.raises(PrincipalDisabled):
        await town.identities.acting(ANA, town.agent)


async def test_what_changes_of_an_agent_changes_of_its_principal() -> None:
    town = Town()
    agent = await town.made_agent()
    before = len(town.audited)
    changed = replace(agent, spec=replace(agent.spec, name="scribe", tools=("files.read",)))

    await town.identities.change(ANA, agent)
    await town.identities.change(ANA, changed)
    made = await town.identities.principals.get(ANA, agent.principal)

    assert (made.name, made.tools) == ("scribe", ("files.read",))
    assert [each["action"] for each in town.audited[before:]] == ["principal.changed"]
    with pytest.raises(AgentNameTaken):
        await town.identities.change(ANA, replace(agent, spec=replace(agent.spec, name="bot")))


async def test_in_a_run_it_has_no_more_than_its_starter() -> None:
    town = Town()
    agent = await town.made_agent()
    starter = replace(
        ANA,
        scopes=frozenset({Scope.TOOLS_CALL, Scope.KEYS_OWN}),
        clearance=Label(Level.PUBLIC),
        tools=(("files.read",),),
    )

    acting = await town.identities.acting(starter, agent)

    assert acting.id == agent.principal
    assert acting.scopes == {Scope.TOOLS_CALL}
    assert acting.clearance == Label(Level.PUBLIC)
    assert acting.tools == (("files.*",), ("files.read",))
    assert acting.key is None


async def test_an_agent_that_an_agent_has_started_starts_none() -> None:
    town = Town()
    agent = await town.made_agent()
    client = replace(ANA, kind=PrincipalKind.AGENT, key="its own")

    by_person = await town.identities.acting(ANA, agent)
    by_client = await town.identities.acting(client, agent)
    by_agent = await town.identities.acting(by_person, agent)

    assert by_person.may(Scope.AGENTS_RUN)
    assert by_client.may(Scope.AGENTS_RUN)
    assert not by_agent.may(Scope.AGENTS_RUN)


CHIEF = replace(ANA, scopes=ANA.scopes | {Scope.POLICY_WRITE})


def about(whom: str, ruling: Ruling = Ruling.DENY, **changes: Any) -> Rule:
    name = f"{ruling}-{whom}".replace("*", "any")
    return Rule(name=name, ruling=ruling, tools=("files.*",), who=(whom,), **changes)


def called(town: Town, name: str) -> Agent:
    return replace(town.agent, spec=replace(town.agent.spec, name=name))


NARROWS = (about("clerk", Ruling.ALLOW), about("scribe", Ruling.ASK))


@pytest.mark.parametrize(
    ("rules", "by_anybody"),
    [
        ((about("clerk"),), False),
        ((about("scribe", Ruling.ALLOW, tainted=True),), False),
        ((about("scr*", Ruling.ALLOW),), False),
        (NARROWS, True),
    ],
    ids=["sheds a rule", "takes one", "takes one of many", "only narrows"],
)
async def test_no_agent_comes_under_other_rules_by_another_name(
    rules: tuple[Rule, ...], by_anybody: bool
) -> None:
    town = Town(rules=rules)
    agent = await town.made_agent(CHIEF)

    if not by_anybody:
        with pytest.raises(NameInRules):
            await town.identities.change(ANA, called(town, "scribe"))
        assert (await town.identities.principals.get(ANA, agent.principal)).name == "clerk"

    await town.identities.change(ANA if by_anybody else CHIEF, called(town, "scribe"))


@pytest.mark.parametrize("how", ["renamed", "removed"])
async def test_what_was_allowed_to_an_agent_goes_with_its_name(how: str) -> None:
    town = Town(rules=(about("*"), about("role:member"), about("somebody")))
    agent = await town.made_agent(CHIEF)
    answer = about("clerk", Ruling.ALLOW, approval=ApprovalId.mint(BEGINNING, SeededEntropy("a")))
    await town.approvals.rules.add(ANA, answer)

    if how == "renamed":
        await town.identities.change(ANA, called(town, "scribe"))
    else:
        await town.identities.remove(ANA, agent)

    left = {rule.name for rule in await town.approvals.rules.all(ANA)}
    assert left == {"deny-any", "deny-role:member", "deny-somebody"}
    assert "policy.rule_removed" in [each["action"] for each in town.audited]


TEAM = Label(Level.TEAM)
NEXT = TurnStarted(turn=2, model="m")


@asynccontextmanager
async def heard(town: Town, run: RunId) -> AsyncIterator["asyncio.Queue[AgentStreamItem]"]:
    """What is told of a run from now on, as it comes."""
    told: asyncio.Queue[AgentStreamItem] = asyncio.Queue()

    async def listen() -> None:
        async for each in town.talk.follow(ANA, run, after=None):
            told.put_nowait(each)

    async with asyncio.TaskGroup() as group:
        listening = group.create_task(listen())
        await town.talk.publish(ANA, run, TurnStarted(turn=1, model="m"), label=TEAM)
        await told.get()
        yield told
        listening.cancel()


async def test_what_is_said_is_heard_live_and_kept() -> None:
    town = Town()
    run = (await town.begin()).run

    async with heard(town, run) as told:
        async with town.talk.speaking(ANA, run, turn=1, attempt=1, label=TEAM) as speaking:
            speaking.add("Good ")
            live = await told.get()
            speaking.think("Hm.")
            thought = await told.get()
            speaking.add("day.")
        await town.talk.publish(ANA, run, NEXT, label=TEAM)
        rest = [(await told.get()).event]
        while rest[-1] != NEXT:
            rest.append((await told.get()).event)

    assert live == AgentStreamItem(TextDelta(turn=1, attempt=1, offset=0, text="Good "), None)
    assert thought == AgentStreamItem(ReasoningDelta(turn=1, attempt=1, offset=0, text="Hm."), None)
    assert TextDelta(turn=1, attempt=1, offset=0, text="Good day.") in rest


async def test_whoever_comes_later_has_it_from_what_is_kept() -> None:
    """What no database holds is marked as unknown, and told all the same."""
    town = Town()
    run = (await town.begin()).run
    odd = ToolCallStarted(
        turn=1, call="c\0", tool="find\ud800", arguments={"\0": ["a\0b", {"c": 1}]}
    )
    async with town.talk.speaking(ANA, run, turn=1, attempt=1, label=TEAM) as speaking:
        speaking.think("Hm.")
        speaking.add("half \ud800 and \0")
    await town.talk.publish(ANA, run, NEXT, odd, label=TEAM)
    await town.runs.cancel(ANA, run)

    told = [each.event async for each in town.talk.follow(ANA, run, after=None)]

    assert ReasoningDelta(turn=1, attempt=1, offset=0, text="Hm.") in told
    assert TextDelta(turn=1, attempt=1, offset=0, text="half ? and \ufffd") in told
    assert told[-2:] == [
        NEXT,
        ToolCallStarted(
            turn=1, call="c\ufffd", tool="find?", arguments={"\ufffd": ["a\ufffdb", {"c": 1}]}
        ),
    ]
    assert WatchTopics(seal=town.talk.encrypt)(ANA, [f"~talk:{run}"], None) == {}


async def test_it_is_known_of_which_calls_it_was_told_that_they_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_sinks, "_PAGE", 2)
    town = Town()
    run, other = (await town.begin()).run, (await town.begin()).run
    nothing = await town.talk.ended_calls(ANA, run)
    for number in range(5):
        call = f"c{number}"
        ended = ToolCallFinished(turn=1, call=call, tool="t", text="", failed=False, seconds=0.0)
        began = ToolCallStarted(turn=1, call=f"{call} began", tool="t", arguments={})
        await town.talk.publish(ANA, run, began, ended, label=TEAM)
        await town.talk.publish(ANA, other, replace(ended, call="another's"), label=TEAM)

    assert nothing == set()
    assert await town.talk.ended_calls(ANA, run) == {"c0", "c1", "c2", "c3", "c4"}


async def test_whoever_knows_an_end_can_ask_whether_it_went_on() -> None:
    town = Town(says("Good day."))
    run = (await town.ran_agent()).run.run
    told = [each async for each in town.follow(ANA, run)]
    cursors = [each.cursor for each in told if each.cursor is not None]

    assert await town.talk.went_on(ANA, run, after=cursors[0])
    assert not await town.talk.went_on(ANA, run, after=cursors[-1])
