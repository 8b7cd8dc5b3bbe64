"""Who is let through over MCP: every method and every tool of the door, by role and by scope."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest

from portico.faces.mcp.answers import ERROR_META
from portico.faces.mcp.bridge.mount import BridgeFace
from portico.faces.mcp.debate.mount import DebateFace
from portico.faces.mcp.mount import McpFace
from portico.gateway.core.call import Verb, verb_for
from portico.gateway.core.offers import our_uri
from portico.guard.core.roles import SCOPES_OF, Role, Scope
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.testing.upstreams import seen
from tests.faces.http.conftest import Site, built
from tests.faces.http.test_permissions import key_of, key_with
from tests.faces.http.test_servers import LAUNCH
from tests.faces.mcp.gateway import ERAS
from tests.faces.mcp.wire import BOTH, envelope, headers

MODERN, LEGACY = ERAS
READ, CALL, WRITE = Scope.TOOLS_READ, Scope.TOOLS_CALL, Scope.TOOLS_WRITE
ONE: Final = "/mcp/servers/box"
_EVERY = frozenset(Scope) - {Scope.INVITATION_ACCEPT}
_REFUSALS: Final = {"not_permitted", "refused"}
EFFECTS: Final = {
    "look": Effect.LOCAL_READ,
    "fetch": Effect.EXTERNAL_READ,
    "note": Effect.LOCAL_WRITE,
    "send": Effect.EXTERNAL_WRITE,
    "wipe": Effect.IRREVERSIBLE,
    "odd": Effect.UNKNOWN,
}


@dataclass(frozen=True)
class Door:
    """All of `needs` opens it, and nothing less does."""

    needs: frozenset[Scope]
    params: Mapping[str, Any]
    eras: tuple[str, ...] = ERAS
    lasts: bool = False
    """Answers for as long as somebody listens: only the refusals are asked for."""
    asks: bool = False
    """Whoever is let through waits for a person's word."""
    path: str = "/mcp"


def door(*needs: Scope, params: Mapping[str, Any] | None = None, **more: Any) -> Door:
    return Door(frozenset(needs), params or {}, **more)


def call(name: str, *needs: Scope, given: Mapping[str, Any] | None = None, **more: Any) -> Door:
    return door(*needs, params={"name": name, "arguments": dict(given or {})}, **more)


def by(verb: Verb, tool: str, *needs: Scope, **more: Any) -> Door:
    return call(verb, *needs, given={"tool": f"box.{tool}", "arguments": {}}, **more)


PROMPT: Final = {"type": "ref/prompt", "name": "box__hello"}
METHODS: Final[Mapping[str, Door]] = {
    "initialize": door(eras=(LEGACY,)),
    "ping": door(eras=(LEGACY,)),
    "server/discover": door(eras=(MODERN,)),
    "logging/setLevel": door(params={"level": "info"}, eras=(LEGACY,)),
    "subscriptions/listen": door(
        READ, params={"notifications": {"toolsListChanged": True}}, eras=(MODERN,), lasts=True
    ),
    "tools/list": door(READ),
    "resources/list": door(READ),
    "resources/templates/list": door(READ),
    "prompts/list": door(READ),
    "resources/read": door(CALL, params={"uri": our_uri("box", "file:///notes")}),
    "prompts/get": door(CALL, params={"name": "box__hello"}),
    "completion/complete": door(
        CALL, params={"ref": PROMPT, "argument": {"name": "city", "value": "p"}}
    ),
}
"""But `tools/call`, which is a table of its own."""

TOOLS: Final[Mapping[str, Door]] = {
    "search_tools": call("search_tools", READ, given={"queries": ["look"]}),
    "describe_tools": call("describe_tools", READ, given={"tools": ["box.look"]}),
    "call_read": by(Verb.READ, "look", CALL),
    "call_write": by(Verb.WRITE, "note", CALL, WRITE),
    "call_destructive": by(Verb.DESTRUCTIVE, "wipe", CALL, WRITE, asks=True),
    "read_result": call("read_result", CALL, given={"result": "res_" + "0" * 26}),
    "run_workflow": call(
        "run_workflow", CALL, given={"plan": {"steps": [{"id": "a", "tool": "box.look"}]}}
    ),
    "workflow_status": call("workflow_status", given={"run": "run_" + "0" * 26}),
    "run_program": call("run_program", CALL, given={"code": "1"}),
    "feedback": call("feedback", CALL, given={"run": "sug_" + "0" * 26, "outcome": "accepted"}),
    "box__look": call("box__look", READ, CALL),
}
OF_THE_SERVER: Final[Mapping[str, Door]] = {
    "look": call("look", CALL, path=ONE),
    "fetch": call("fetch", CALL, path=ONE),
    "note": call("note", CALL, WRITE, path=ONE),
    "send": call("send", CALL, WRITE, path=ONE),
    "wipe": call("wipe", CALL, WRITE, asks=True, path=ONE),
    "odd": call("odd", CALL, WRITE, asks=True, path=ONE),
}
OTHERS: Final = [
    call("read_result", CALL, given={"result": "apr_" + "0" * 26}),
    call("run_workflow", READ, given={"intent": "look into the box"}),
    by(Verb.READ, "fetch", CALL),
    by(Verb.WRITE, "send", CALL, WRITE),
    by(Verb.DESTRUCTIVE, "odd", CALL, WRITE, asks=True),
]
CALLS: Final = [*TOOLS.values(), *OF_THE_SERVER.values(), *OTHERS]


@dataclass(frozen=True)
class House:
    site: Site
    face: McpFace | BridgeFace | DebateFace

    async def knock(self, era: str, method: str, door: Door, key: str) -> "Reply":
        before = len(self.site.upstreams.called)
        transport = httpx2.ASGITransport(self.face)
        bearer = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:3100", headers=bearer
        ) as http:
            send = _modern if era == MODERN else _legacy
            answer = await send(http, method, door)
        return Reply(answer, len(self.site.upstreams.called) - before)


@dataclass(frozen=True)
class Reply:
    answer: httpx2.Response
    calls: int
    """That a server behind the door was asked to make."""

    @property
    def message(self) -> dict[str, Any]:
        told = self.answer
        if told.headers["content-type"].startswith("text/event-stream"):
            return _last_of(told.text)
        found: dict[str, Any] = told.json()
        return found

    @property
    def code(self) -> str | None:
        """Of a refusal, wherever it stands."""
        message = self.message
        if "jsonrpc" not in message:
            return str(message["code"])
        told = message.get("error", {}).get("data") or message.get("result", {}).get("_meta", {})
        found: str | None = (told.get(ERROR_META) or told).get("code")
        return found

    @property
    def turned_away(self) -> bool:
        return self.code in _REFUSALS and self.calls == 0

    @property
    def waits(self) -> bool:
        result = self.message.get("result", {})
        status = result.get("structuredContent", {}).get("status")
        return status == "approval_pending" and self.calls == 0


def _last_of(stream: str) -> dict[str, Any]:
    told = [line[5:] for line in stream.splitlines() if line.startswith("data:")]
    found: dict[str, Any] = json.loads(next(text for text in reversed(told) if text.strip()))
    return found


async def _modern(http: httpx2.AsyncClient, method: str, door: Door) -> httpx2.Response:
    params = dict(door.params)
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": envelope(params)}
    return await http.post(door.path, json=body, headers=headers(method, params))


async def _legacy(http: httpx2.AsyncClient, method: str, door: Door) -> httpx2.Response:
    greeting = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}
    greeted = await http.post(door.path, json=hello, headers=BOTH)
    if method == "initialize" or greeted.status_code != 200:
        return greeted
    session = {
        **BOTH,
        "Mcp-Session-Id": greeted.headers["mcp-session-id"],
        "MCP-Protocol-Version": "2025-11-25",
    }
    body = {"jsonrpc": "2.0", "id": 2, "method": method, "params": dict(door.params)}
    answer = await http.post(door.path, json=body, headers=session)
    await http.delete(door.path, headers=session)
    return answer


@asynccontextmanager
async def opened() -> AsyncIterator[House]:
    """With the defaults of policy, and one server that has a tool of each kind."""
    site = await built(rules=())
    await _let_in(site)
    face = McpFace(site.over_mcp)
    async with face.running(), site.working():
        yield House(site, face)


async def _let_in(site: Site) -> None:
    tools: list[JsonObject] = [
        {"name": name, "inputSchema": {"type": "object"}} for name in EFFECTS
    ]
    site.upstreams.offers["box"] = seen(
        *tools,
        resources=[{"uri": "file:///notes", "name": "notes"}],
        prompts=[{"name": "hello"}],
    )
    site.upstreams.results |= {
        "file:///notes": {"contents": [{"uri": "file:///notes", "text": "a"}]},
        "hello": {"messages": []},
        "complete": {"completion": {"values": ["paris"]}},
    }
    made = await site.ask("POST", "/api/v1/servers", {"name": "box", "launch": LAUNCH})
    pin = {"launch_pin": made.json["launch_pin"]}
    await site.ask("POST", "/api/v1/servers/box/approve-launch", pin)
    await site.ask("POST", "/api/v1/servers/box/restart")
    review = await site.ask("GET", "/api/v1/servers/box/review")
    body = {"pin": review.json["pin"], "effects": EFFECTS}
    accepted = await site.ask("POST", "/api/v1/servers/box/accept", body)
    assert accepted.status == 200, accepted.json


def every_door(era: str) -> Iterable[tuple[str, Door]]:
    yield from ((method, it) for method, it in METHODS.items() if era in it.eras)
    yield from (("tools/call", it) for it in CALLS)


async def warmed(house: House, key: str) -> None:
    """A tool that was used before is listed directly."""
    used = await house.knock(MODERN, "tools/call", TOOLS["call_read"], key)
    assert used.calls == 1
    await house.site.over_mcp.call_tool.habits.write_down()


def as_it_should(reply: Reply, door: Door) -> bool:
    """Of whoever is let through: nothing broke, and what has to be asked for waits."""
    broke = reply.answer.status_code >= 500 or reply.code in {"tool_not_found", "wrong_verb"}
    return not (reply.turned_away or broke) and reply.waits == door.asks


async def test_every_method_and_every_tool_is_in_the_table() -> None:
    async with opened() as house:
        await warmed(house, house.site.key)
        whole = await house.knock(MODERN, "tools/list", METHODS["tools/list"], house.site.key)
        one = await house.knock(MODERN, "tools/list", door(READ, path=ONE), house.site.key)
        handled = set(house.face._server._request_handlers)

    assert handled - {"tools/call"} == set(METHODS) - {"initialize"}
    assert {tool["name"] for tool in whole.message["result"]["tools"]} == set(TOOLS)
    assert {tool["name"] for tool in one.message["result"]["tools"]} == set(OF_THE_SERVER)


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_without_any_one_scope_that_it_needs_nothing_is_reached(era: str) -> None:
    wrong: list[tuple[str, Door, str, Any]] = []
    async with opened() as house:
        await warmed(house, house.site.key)
        without = {it: await key_with(house.site, _EVERY - {it}) for it in (READ, CALL, WRITE)}
        for method, it in every_door(era):
            for scope in it.needs:
                reply = await house.knock(era, method, it, without[scope])
                if not reply.turned_away:
                    wrong.append((method, it, scope, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_with_the_scopes_that_it_needs_and_no_other_it_is_reached(era: str) -> None:
    wrong: list[tuple[str, Door, Any]] = []
    async with opened() as house:
        await warmed(house, house.site.key)
        for method, it in every_door(era):
            if it.lasts:
                continue
            # The door of one server says first what it has, which is for whoever may see tools.
            scopes = it.needs | ({READ} if it.path == ONE else set())
            reply = await house.knock(era, method, it, await key_with(house.site, scopes))
            if not as_it_should(reply, it):
                wrong.append((method, it, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_each_role_is_let_through_by_its_scopes(era: str) -> None:
    wrong: list[tuple[str, Door, Role, Any]] = []
    async with opened() as house:
        for role in Role:
            key = await key_of(house.site, role)
            await warmed(house, key)
            for method, it in every_door(era):
                may = it.needs <= SCOPES_OF[role]
                if it.lasts and may:
                    continue
                reply = await house.knock(era, method, it, key)
                if not (as_it_should(reply, it) if may else reply.turned_away):
                    wrong.append((method, it, role, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("role", Role)
async def test_a_tool_is_reached_by_the_verb_of_its_effect_alone_and_never_unasked(
    era: str, role: Role
) -> None:
    reached: set[tuple[Verb, str]] = set()
    async with opened() as house:
        key = await key_of(house.site, role)
        for verb in Verb:
            for tool in EFFECTS:
                if (await house.knock(era, "tools/call", by(verb, tool), key)).calls:
                    reached.add((verb, tool))

    allowed = {name for name, effect in EFFECTS.items() if _at_once(effect, role)}
    assert reached == {(verb_for(EFFECTS[name]), name) for name in allowed}


def _at_once(effect: Effect, role: Role) -> bool:
    return effect.reads_only or (not effect.destroys and role is not Role.VIEWER)
