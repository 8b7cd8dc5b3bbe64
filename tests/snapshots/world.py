"""A console with something in every room of it, and where to look: addresses that are opened, and
forms that are sent."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import urlencode

from portico.agents.core.model_requests import ToolCall
from portico.agents.core.traces import AgentRunStatus
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.approvals import Waiter
from portico.guard.core.principals import Role
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.label import PUBLIC
from portico.testing.agent_data import TEAM
from portico.testing.gateway import seen, text
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.memory_store import TickingClock
from tests.guard.approvals import an_act, an_approval
from tests.interfaces.console.bridge_scene import Scene
from tests.interfaces.console.chat_data import a_turn, a_use
from tests.interfaces.console.conftest import Browser, console_of, somebody
from tests.interfaces.console.requests_made import uncertain
from tests.interfaces.console.run_stage import ASK, ran
from tests.interfaces.console.shop import DROP, FIND, LAUNCH, offers
from tests.interfaces.console.test_reach import FORM, LISTS, NAME, filled
from tests.interfaces.http.conftest import Site, built
from tests.interfaces.http.desk import opened
from tests.interfaces.http.test_approvals import NEVER, agent, asks
from tests.interfaces.http.test_debates import WAIT, decided, start
from tests.interfaces.http.test_secrets import a_link, back


@dataclass(frozen=True)
class Look:
    """`part`: as a script of the page asks for it; `fields`: a form that is sent."""

    path: str
    fields: tuple[tuple[str, str], ...] | None = None
    part: bool = False
    who: str = "ana"


@dataclass
class World:
    people: dict[str, Browser]
    looks: dict[Look, None] = field(default_factory=dict)
    """In order, each once."""

    def see(self, *paths: str, part: bool = False, who: str = "ana") -> None:
        self.looks |= dict.fromkeys(Look(path, part=part, who=who) for path in paths)

    def send(
        self, path: str, fields: Mapping[str, str], *, part: bool = False, who: str = "ana"
    ) -> None:
        self.looks[Look(path, tuple(fields.items()), part=part, who=who)] = None


@asynccontextmanager
async def furnished() -> AsyncIterator[World]:
    """Ana's, who may do everything; vera may only read; nobody has not logged in."""
    console = console_of(await built([ANYTHING, ASK]))
    await console.log_in()
    world = World({"ana": console, "nobody": console_of(console.site)})
    async with console.site.working():
        there = await filled(console, "team")
        world.people["vera"] = await somebody(console, "vera", role=Role.VIEWER)
        world.see(*LISTS, *there.around, *there.places)
        await _servers_and_tools(world, console)
        await _agents_and_chats(world, console)
        await _approvals_and_runs(world, console)
        await _debates(world, console, there.scene)
        await _bridge(world, there.scene)
        await _settings(world, console)
        await _frame(world, console)
        project, doing = there.scene.table.project, {"doing": "busy", "note": "counting eggs"}
        await there.scene.table.robin.got("PUT", f"/projects/{project}/presence", doing)
        _stop(console.site)
        yield world


def _stop(site: Site) -> None:
    """From now on it is always the same moment."""
    clock = site.doors.clock
    assert isinstance(clock, TickingClock)
    clock.turn(timedelta(seconds=20))
    clock._step = timedelta()


async def _frame(world: World, console: Browser) -> None:
    nothing, site = "0" * 26, console.site
    asked = {"name": "eve", "roles": ["member"], "clearance": "team"}
    invited = await site.ask("POST", "/api/v1/invitations", asked)
    token = invited.json["link"].partition("#")[2]
    eve = (await site.ask("POST", "/api/v1/invitations/accept", key=token)).json["key"]
    link = (await site.ask("POST", "/api/v1/console-links", key=eve)).json["link"]
    world.send("/login", {"handed": link.partition("#")[2], "to": "/runs"})
    world.see("/static/no-such-file", who="nobody")
    world.see("/login", "/login?to=/runs", who="nobody")
    world.send("/login", {"key": "ptc_wrong"}, who="nobody")
    world.see("/login?to=/runs", "/welcome/servers", "/waiting", "/palette", "/no-such-place")
    world.see(f"/runs/run_{nothing}")
    world.see(f"/runs/run_{nothing}", part=True)
    world.see("/settings/secrets", f"/servers/{NAME}", "/runs", "/debates/new", who="vera")


async def _servers_and_tools(world: World, console: Browser) -> None:
    site = console.site
    await offers(console, FIND, DROP)
    site.upstreams.offers["shop"] = seen({**FIND, "description": "Finds and sends."}, DROP)
    await console.does("/servers/shop/restart")
    await site.ask("POST", "/api/v1/servers", {"name": "waits", "launch": LAUNCH})
    await offers(console, FIND, server="dead")
    site.upstreams.dead.add("dead")
    await console.post("/servers/dead/restart")
    block = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'
    world.see("/servers/_add", "/servers/shop", "/servers/shop/review", "/servers/shop/remove")
    world.see("/servers/waits", "/servers/waits/review", "/servers/dead", "/servers?only=attention")
    world.send("/servers/_add", {"step": "look", "text": block})
    world.send("/servers/_add", {"step": "look", "text": "nothing:"})
    world.send("/servers/dead/restart", {})
    tool = f"{NAME}.find_customer"
    site.upstreams.replies[ToolRef(NAME, "find_customer")] = text("word " * 10_000)
    called = await console.post("/tools/call", {"tool": tool, "arg.kestrel": "1"})
    link = called.body.decode().partition('href="/tools/result?')[2].partition('"')[0]
    world.see(f"/tools/result?{link.replace('&amp;', '&')}")
    world.see("/tools/shop.find_customer", "/tools?open=shop", "/graph?community=1")
    world.see(f"/graph?tool={tool}", "/tools/shop.delete_customer")
    for part in (
        "/tools/body",
        "/tools/group?server=shop",
        f"/graph/chosen?tool={tool}",
        "/graph/chosen?community=1",
    ):
        world.see(part, part=True)
    world.see(f"/graph/path?from={tool}&to={NAME}.delete_customer", part=True)
    called_one = {"tool": "shop.delete_customer", "arg.id": "cus-1"}
    world.send("/tools/call", called_one)
    world.send("/tools/call", called_one, part=True)
    world.send("/tools/call", {"tool": "box.look", "as_raw": "1", "raw": "{nothing"})
    await back(site, await a_link(site))
    world.see("/servers/tools")
    await console.does("/welcome/samples", {"sample": ["time", "fetch"]})
    await console.does("/figures/ahead", {"mode": "shadow"})
    world.see("/figures?range=1h", "/figures/table?range=24h")


async def _agents_and_chats(world: World, console: Browser) -> None:
    desk = await opened(console.site)
    await console.does(f"/agents/{NAME}", {**FORM, "description": "Another.", "was": "1"})
    world.see("/agents/new", "/agents/new?from=reviewer", f"/agents/{NAME}/versions?from=1&to=2")
    wrong = {**FORM, "name": "no good", "turns": "many", "more": "nothing.here"}
    world.send("/agents/new", wrong)
    world.send("/agents/new", {**FORM, "find": "read", "look": "yes"})
    await console.does("/agents/new", {**FORM, "name": "lost", "more": "builtin.*"})
    world.see("/agents/lost")
    tried = await console.does(f"/agents/{NAME}/try", {"message": "Write to Bob."})
    world.see(tried)
    world.send(f"/agents/{NAME}/try", {"message": "Else."}, part=True)
    world.send(f"/agents/{NAME}/try", {"message": ""}, part=True)

    waits, over, failed = [
        RunId.parse((await console.does("/chat", {"agent": "clerk", "message": message}))[6:])
        for message in ("Write to Bob.", "Write to Eve.", "Write to Ben.")
    ]
    traces = desk.runs.traces
    call = ToolCall("c1", "mail__send", {"to": "bob@else.example"})
    turn = a_turn(1, "I shall *write*.", calls=(call,), thought="Shall I?", notes=("A note.",))
    await traces.add_turn(desk.ana, replace(turn, run=waits))
    _, bot = await agent(console.site, "writer")
    waiter = Waiter(waits, "~approval:call-1-0:1", TEAM)
    asked = await asks(console.site, bot, "chat", waiter=waiter)
    await traces.mark(desk.ana, waits, AgentRunStatus.WAITING, label=TEAM)
    await traces.add_turn(desk.ana, replace(turn, run=over))
    await traces.add_use(desk.ana, replace(a_use(run=over, call="c1"), early=True))
    await traces.add_turn(desk.ana, replace(a_turn(2, "Done."), run=over))
    await desk.ends(over)
    await desk.ends(failed, status=AgentRunStatus.FAILED, error="No model.", error_code="no_model")
    for run in (waits, over, failed):
        world.see(f"/chat/{run}", f"/chat/{run}/trace", f"/runs/{run}")
    for each in ("side", "foot", "earlier"):
        world.see(f"/chat/{waits}/{each}", part=True)
    world.see(f"/chat/{waits}/turns/1", part=True)
    world.see("/chat/rows", part=True)
    world.see(f"/runs/{over}/timeline", f"/runs/{over}/steps/turn-1")
    world.send("/chat", {"agent": "nobody", "message": "Kept words"})
    world.send(f"/chat/{over}/say", {"message": " "})
    world.send(f"/chat/{waits}/say", {"message": "And to Ida."}, part=True)
    world.send(f"/chat/{waits}/approvals/{asked.id}", {"answer": "yes"})


async def _approvals_and_runs(world: World, console: Browser) -> None:
    site = console.site
    _, bot = await agent(site, "asker")
    for name, changes in (("one", {}), ("two", {"tainted": True}), ("three", {})):
        made = await asks(site, bot, name, **changes)
        world.see(f"/inbox/{made.id}")
    unsure = await uncertain(console)
    world.see(f"/inbox/{unsure.id}", f"/inbox/{unsure.id}/why", "/inbox/list")
    world.send(f"/inbox/{made.id}/edit", {"arguments": "{nothing"})
    world.send(f"/inbox/{made.id}/answer", {"answer": "yes"})

    key, other = await agent(site, "runner")
    waits = await ran(site, key=key)
    shown = await site.ask("GET", f"/api/v1/workflows/{waits}")
    given = an_approval(
        other,
        act=an_act(other, tool="box.note", text="seen"),
        id=ApprovalId.parse(shown.json["steps"][1]["approval"]),
        expires_at=NEVER,
        waiter=Waiter(RunId.parse(waits), "~approval:note:1", PUBLIC),
    )
    await site.gateway.approvals.show_approval.approvals.add(other, given, b'{"text":"seen"}')
    site.upstreams.replies[ToolRef("box", "look")] = ToolResult(
        [{"type": "text", "text": "no room"}], failed=True
    )
    failed = await ran(site)
    drill = {"kind": "drill", "input": {"steps": 3, "fail_at": 2}}
    drilled = (await site.ask("POST", "/api/v1/runs", drill, headers=(WAIT,))).json["id"]
    program = {"code": "print(1 + 1)\n2"}
    told = await site.ask("POST", "/api/v1/programs", program, headers=(WAIT,))
    world.see(f"/inbox/{given.id}/why")
    for run in (waits, failed, drilled, told.json["run"]):
        at = f"/runs/{run}"
        world.see(at, f"{at}/parts?{await _known(console, at)}")
    world.see(f"/runs/{waits}?step=note", f"/runs/{failed}?step=look")
    for step in ("look", "note"):
        world.see(f"/runs/{waits}/steps/{step}", f"/runs/{failed}/steps/{step}", part=True)
    world.see(f"/runs/{failed}/output?step=look", f"/runs/{drilled}/steps/step-2")
    world.send(f"/runs/{failed}/cancel", {})
    world.send(f"/runs/{waits}/answer", {"step": "note", "answer": "yes"})


async def _known(console: Browser, at: str) -> str:
    """What a page says that it shows, when it asks for what has changed."""
    page = await console.sees(at)
    found = {name: re.search(rf'data-{name}="([^"]*)"', page) for name in ("shape", "scale")}
    return urlencode({"steps": "*", **{name: it[1] for name, it in found.items() if it}})


async def _debates(world: World, console: Browser, scene: Scene) -> None:
    site, project = console.site, scene.table.project
    site.debates.say("yes", "yes", "no", "yes")
    two = {"preset": "debate", "thoroughness": 1.0, "project": project}
    decided_one = f"/debates/{(await decided(site, **two))['id']}"
    await console.does(decided_one, {"do": "outcome", "way": "answer", "answer": "no"})
    site.debates.say("yes", "no", "yes", "no")
    voices = ["openai:gpt", "anthropic:claude"]
    none = f"/debates/{(await decided(site, voices=voices, preset='vote'))['id']}"
    started = await start(site, {"question": "Is it?", "guests": 1, "kind": "yes_no"})
    seat = f"/debates/{started.json['id']}"
    await console.does(f"{seat}/seat", {"do": "join"})
    await site.ask("POST", f"/api/v1{seat}/join", headers=(WAIT,))
    world.see(decided_one, f"{decided_one}/board", f"{decided_one}/log", none, seat)
    world.see(f"{seat}/seat", f"{seat}/seat/part", f"/debates/new?project={project}")
    world.see(f"{decided_one}/replay?preset=quorum&thoroughness=0.5", part=True)
    world.see(f"{decided_one}/replay?preset=vote&without=openai:gpt", "/debates?state=no_decision")
    world.see(f"/debates/new?conversation={scene.table.conversation}")
    asked = {"question": "Is the heron a bird?", "thoroughness": "1"}
    world.send("/debates/estimate", asked, part=True)
    world.send("/debates/estimate", {"question": " "}, part=True)
    world.send("/debates/new", {**asked, "choices": "one\none"})
    world.send(f"{seat}/seat", {"do": "answer", "answer": "perhaps"})
    world.send(none, {"do": "stop"})


async def _bridge(world: World, scene: Scene) -> None:
    console, table, at, project = scene.console, scene.table, scene.at, scene.project
    me = (await table.ana.got("GET", "/me"))["id"]
    said = await scene.says("Have you got it?", addressed=[me], acknowledge={})
    soon = (console.house.clock.now() + timedelta(seconds=40)).isoformat()
    await scene.says("And this?", addressed=[me], acknowledge={"until": soon})
    await scene.says("Four by now.", reply_to=said)
    added = await table.site.ask(
        "POST", f"/api/v1/projects/{table.project}/attachments", query="name=eggs.html"
    )
    own = await table.ana.says(
        table.conversation, "Three eggs, @scout.", attachments=[added.json["digest"]]
    )
    changed, gone = [
        f"{at}/messages/{(await table.ana.says(table.conversation, words))['id']}"
        for words in ("Five.", "Six.")
    ]
    await console.does(f"{changed}/edit", {"body": "Seven."})
    await console.does(f"{gone}/delete", {})
    secret = {"label": "confidential"}
    key = "The key is AKIAIOSFODNN7EXAMPLE."
    lowered = f"{at}/messages/{(await table.ana.says(table.conversation, key, **secret))['id']}"
    for value in ("In the reeds.", "By the river."):
        await console.does(f"{project}/memory", {"key": "nest", "value": value, "label": "team"})
    work = await table.ana.got("POST", f"/projects/{table.project}/work", {"title": "Count eggs"})
    await console.does(f"{project}/work/{work['id']}", {"do": "claim"})
    await table.robin.got("POST", f"/projects/{table.project}/leases", {"resource": "nest/**"})
    await console.does(f"{project}/leases", {"resource": "river/**", "minutes": "10"})
    await console.post(f"{lowered}/lower", {"to": "team"})
    world.see(f"{at}?reply={said}")
    world.see(at, project, f"{project}/work", f"{project}/memory", f"{project}/around", "/bridge")
    world.see(f"{project}/memory/history?key=nest", "/bridge/inbox", "/bridge/next", lowered)
    world.see(changed, gone, f"{at}/messages/{said}", f"{at}/messages/{own['id']}", "/bridge/new")
    world.see(f"{at}/audience?label=team", f"{at}/older", f"{at}/newer", part=True)
    world.see("/bridge/search?q=eggs", "/bridge/search?q=nothing", f"{project}/work?state=done")
    world.send(f"{lowered}/lower", {"to": "team"})
    world.send(f"{changed}/edit", {"body": " "})
    world.send(at, {"body": " ", "label": "team"})
    world.send("/bridge/new", {"name": " ", "label": "team"})
    world.send(f"{project}/new", {"title": " ", "label": "team"})
    world.send(f"{project}/work", {"title": " ", "label": "team"})
    world.send(f"{project}/leases", {"resource": "nest/eggs", "minutes": "10"})
    world.send(f"{project}/memory", {"key": "nest", "value": "2", "label": "team", "version": "7"})


async def _settings(world: World, console: Browser) -> None:
    invited = {"name": "carla", "role": "member", "clearance": "team"}
    await console.post("/settings/people", {**invited, "once": "i1"})
    await console.does("/settings/secrets", {"name": "github", "value": "hush"})
    rule = {"decision": "ask", "name": "careful", "tools": "mail.send", "days": "3"}
    await console.does("/settings/policy", {**rule, "who": "role:member", "except": "mail.x"})
    for tab in ("", "/keys", "/people", "/policy", "/secrets", "/about"):
        world.see(f"/settings{tab}")
    world.see("/audit")
    world.send("/audit/verify", {})
    world.send("/settings/keys", {"name": "report", "holder": "me", "days": "30"})
    world.send("/settings/keys", {"name": "", "holder": "me"})
    world.send("/settings/people", {**invited, "name": "dora"})
    world.send("/settings/people", {**invited, "name": ""})
    world.send("/settings/policy", {**rule, "name": "none", "tools": "nothing"})
    world.send("/settings/secrets", {"name": "no name", "value": "hush"})
