"""Runs to be looked at: of plans, of an agent, one that waits for an answer; and who looks."""

from dataclasses import replace
from typing import Any

from portico.agents.core.model_requests import ToolCall
from portico.agents.core.traces import AgentRunStatus
from portico.guard.core.approvals import Waiter
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.label import PUBLIC
from portico.testing.agent_data import a_turn, a_use, an_agent
from portico.testing.gateway_fakes import ANYTHING
from tests.guard.approvals import an_act, an_approval
from tests.interfaces.console.conftest import Browser, console_of
from tests.interfaces.http.conftest import Site, built
from tests.interfaces.http.test_approvals import NEVER, agent
from tests.interfaces.http.test_workflows import WAIT, open_box

PLAN: dict[str, Any] = {
    "name": "tidy-up",
    "steps": [
        {"id": "look", "tool": "box.look"},
        {"id": "note", "tool": "box.note", "arguments": {"text": {"$from": "look.text"}}},
    ],
    "output": {"$from": "look.text"},
}
ASK = Rule(name="notes", ruling=Ruling.ASK, tools=("box.note",), source=RuleSource.FILE)


async def ran(site: Site, plan: dict[str, Any] = PLAN, key: str | None = None, **more: Any) -> str:
    """Run to its end, or to where it waits."""
    async with site.working():
        body = {"plan": plan, **more}
        answer = await site.ask("POST", "/api/v1/workflows", body, headers=(WAIT,), key=key)
    assert answer.status in {200, 202}, answer.json
    return str(answer.json["run"])


async def opened(console: Browser) -> Browser:
    await open_box(console.site)
    return console


async def asking() -> tuple[Browser, str]:
    """A run of a program's, which waits for Ana's yes."""
    site = await built([ANYTHING, ASK])
    console = console_of(site)
    await console.log_in()
    await open_box(site)
    key, bot = await agent(site)
    run = await ran(site, key=key)
    shown = await site.ask("GET", f"/api/v1/workflows/{run}")
    asked = an_approval(
        bot,
        act=an_act(bot, tool="box.note", text="seen"),
        id=ApprovalId.parse(shown.json["steps"][1]["approval"]),
        expires_at=NEVER,
        waiter=Waiter(RunId.parse(run), "~approval:note:1", PUBLIC),
    )
    await site.gateway.approvals.show_approval.approvals.add(bot, asked, b'{"text":"seen"}')
    return console, run


async def an_agents(console: Browser) -> str:
    """A run of the agent `clerk`, over, with one use of a tool that ran ahead."""
    site = console.site
    root = (await site.use.authenticate(site.key)).principal
    await site.agent_runs.agents.add(root, an_agent(root))
    made = await site.ask("POST", "/api/v1/agents/clerk/runs", {"message": "Write to Ana."})
    run = RunId.parse(made.json["run"])
    traces = site.agent_runs.traces
    its = (await traces.read(root, run)).run
    await traces.add_turn(root, a_turn(its, calls=(ToolCall("c", "files__read", {"a": 1}),)))
    await traces.add_use(root, replace(a_use(its), early=True))
    await traces.end(root, replace(its, status=AgentRunStatus.COMPLETED, answer="Done."))
    return str(run)
