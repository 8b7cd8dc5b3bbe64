"""Agents as tools: what they are shown as, and what a call of one comes to."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.adapters.joins.agent_tools import LAUNCH, AgentTools, Running, tool_definition
from portico.agents.core.agent import AgentSpec
from portico.agents.core.asking import Usage
from portico.agents.core.happening import RunEnded, ToolWaits
from portico.agents.core.trace import AgentRunStatus
from portico.agents.start_run import AgentRunWish, StartedAgentRun
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.upstream import OnBehalf, Phase, Target
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, RunId, SpaceId
from portico.kernel.principal import Principal
from portico.testing.agent_data import an_agent, an_agent_spec
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.agents.town import ANA

RUN = RunId.mint(BEGINNING, SeededEntropy("run"))
SPEC = an_agent_spec("scout")
TARGET = Target(
    space=ANA.space,
    server="agents",
    launch=LAUNCH,
    launch_pin="p",
    acting=OnBehalf(ANA, call="cal_1"),
)
MINUTE = timedelta(minutes=1)


class Runs:
    """Start, and end as they were told to."""

    def __init__(self, came: RunEnded | ToolWaits | None) -> None:
        self.came = came
        self.wishes: list[AgentRunWish] = []

    async def start(self, caller: Principal, wish: AgentRunWish) -> StartedAgentRun:
        self.wishes.append(wish)
        return StartedAgentRun(RUN, replayed=False, agent=an_agent(caller))

    async def answer(
        self, caller: Principal, run: RunId, *, patience: timedelta
    ) -> RunEnded | ToolWaits | None:
        return self.came

    async def offered(self, space: SpaceId) -> list[tuple[AgentSpec, Effect]]:
        return [(SPEC, Effect.LOCAL_READ)]

    def tools(self) -> AgentTools:
        tools = AgentTools()
        tools.bring(Running(start=self.start, answer=self.answer, offered=self.offered))
        return tools


def ended(status: AgentRunStatus, answer: str = "", error: str | None = None) -> RunEnded:
    return RunEnded(
        run=RUN, status=status, answer=answer, error=error, usage=Usage(), money=Decimal(0)
    )


async def test_a_call_is_a_run_in_the_name_of_whoever_calls_once_for_each_call() -> None:
    runs = Runs(ended(AgentRunStatus.COMPLETED, "Found."))
    tools = runs.tools()

    answer = await tools.call(TARGET, "scout", {"message": "Look."}, timeout=MINUTE)

    assert runs.wishes == [AgentRunWish(agent="scout", message="Look.", key="cal_1")]
    assert (answer.failed, answer.content) == (False, [{"type": "text", "text": "Found."}])
    assert tools.knows(ANA.space, "agents")
    assert tools.vitals(ANA.space, "agents").phase is Phase.IDLE


@pytest.mark.parametrize(
    ("came", "status", "failed"),
    [
        (ended(AgentRunStatus.FAILED, error="It broke."), "failed", True),
        (ended(AgentRunStatus.EXHAUSTED, "So far."), "exhausted", False),
        (None, "running", False),
        (
            ToolWaits(
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
    came: RunEnded | ToolWaits | None, status: str, *, failed: bool
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


async def test_those_that_are_exposed_are_shown() -> None:
    shown = await Runs(None).tools().look(TARGET)

    assert [tool["name"] for tool in shown.tools] == ["scout"]


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
