"""Who is let through over MCP: every method and every tool of each face, by role and by scope."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx2
import pytest

from portico.gateway.core.calls import Verb, verb_for
from portico.guard.core.principals import SCOPES_OF, Role, Scope
from portico.interfaces.mcp.bridge.server import BridgeFace
from portico.interfaces.mcp.debate.server import DebateFace
from portico.interfaces.mcp.mount import McpFace
from portico.interfaces.mcp.tool_values import ERROR_META
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.testing.gateway import seen
from tests.interfaces.http.conftest import Site, built
from tests.interfaces.http.table import laid
from tests.interfaces.http.test_permissions import key_of, key_with
from tests.interfaces.http.test_servers import LAUNCH
from tests.interfaces.mcp.doors import (
    BRIDGE,
    DEBATE,
    GATEWAY,
    LOOKED,
    MODERN,
    OF_THE_SERVER,
    ONE,
    READ,
    Door,
    Table,
    by,
    door,
)
from tests.interfaces.mcp.gateway import ERAS
from tests.interfaces.mcp.wire import BOTH, GREETING, envelope, headers

_BROKE: Final = {
    "tool_not_found",
    "wrong_verb",
    "no_such_bridge_tool",
    "bad_bridge_input",
    "no_such_debate_tool",
    "bad_debate_input",
    "no_such_door",
}
EFFECTS: Final = {
    "look": Effect.LOCAL_READ,
    "fetch": Effect.EXTERNAL_READ,
    "note": Effect.LOCAL_WRITE,
    "send": Effect.EXTERNAL_WRITE,
    "wipe": Effect.IRREVERSIBLE,
    "odd": Effect.UNKNOWN,
}
every_face = pytest.mark.parametrize(
    "table", [GATEWAY, BRIDGE, DEBATE], ids=["gateway", "bridge", "debates"]
)
every_era = pytest.mark.parametrize("era", ERAS)


@dataclass(frozen=True)
class House:
    site: Site
    face: McpFace | BridgeFace | DebateFace
    table: Table
    here: str = ""

    async def knock(self, era: str, method: str, it: Door, key: str) -> "Reply":
        params = json.loads(json.dumps(it.params).replace("HERE", self.here))
        path = it.path or self.table.path
        before = len(self.site.upstreams.called)
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.face),
            base_url="http://127.0.0.1:3100",
            headers={"Authorization": f"Bearer {key}"},
        ) as http:
            send = _modern if era == MODERN else _legacy
            answer = await send(http, path, method, params)
        calls = len(self.site.upstreams.called) - before
        return Reply(answer, calls, self.table.refusals)

    async def warmed(self, key: str) -> None:
        """At the gateway, a tool that was used before is listed directly."""
        if self.table is GATEWAY:
            assert (await self.knock(MODERN, "tools/call", LOOKED, key)).calls == 1
            await self.site.over_mcp.call_tool.tool_usage.flush()


@dataclass(frozen=True)
class Reply:
    answer: httpx2.Response
    calls: int
    """That a server behind the door was asked to make."""
    refusals: frozenset[str]

    @property
    def message(self) -> dict[str, Any]:
        told = self.answer.text
        if self.answer.headers["content-type"].startswith("text/event-stream"):
            lines = [line[5:] for line in told.splitlines() if line.startswith("data:")]
            told = next(line for line in reversed(lines) if line.strip())
        found: dict[str, Any] = json.loads(told)
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
        return self.code in self.refusals and self.calls == 0

    @property
    def waits(self) -> bool:
        result = self.message.get("result", {})
        status = result.get("structuredContent", {}).get("status")
        return status == "approval_pending" and self.calls == 0

    def as_it_should(self, it: Door) -> bool:
        """Of whoever is let through: nothing broke, and what has to be asked for waits."""
        broke = self.answer.status_code >= 500 or self.code in _BROKE
        return not (self.turned_away or broke) and self.waits == it.asks


async def _modern(
    http: httpx2.AsyncClient, path: str, method: str, params: dict[str, Any]
) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": envelope(params)}
    return await http.post(path, json=body, headers=headers(method, params))


async def _legacy(
    http: httpx2.AsyncClient, path: str, method: str, params: dict[str, Any]
) -> httpx2.Response:
    greeted = await http.post(path, json=GREETING, headers=BOTH)
    if method == "initialize" or greeted.status_code != 200:
        return greeted
    session = {
        **BOTH,
        "Mcp-Session-Id": greeted.headers["mcp-session-id"],
        "MCP-Protocol-Version": "2025-11-25",
    }
    body = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
    answer = await http.post(path, json=body, headers=session)
    await http.delete(path, headers=session)
    return answer


@asynccontextmanager
async def opened(table: Table) -> AsyncIterator[House]:
    """With the defaults of policy; behind the gateway is a server that has a tool of each kind."""
    site = await built(rules=())
    if table is BRIDGE:
        house = House(
            site, BridgeFace(site.bridge_over_mcp), table, (await laid(site)).conversation
        )
    elif table is DEBATE:
        house = House(site, DebateFace(site.debates_over_mcp), table)
    else:
        await _let_in(site)
        house = House(site, McpFace(site.over_mcp), table)
    async with house.face.running():
        if table is not GATEWAY:
            yield house
            return
        async with site.working():
            yield house


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


@every_face
async def test_every_method_and_every_tool_is_in_the_table(table: Table) -> None:
    async with opened(table) as house:
        key = house.site.key
        await house.warmed(key)
        whole = await house.knock(MODERN, "tools/list", table.methods["tools/list"], key)
        handled = set(house.face._server._request_handlers)
        if table is GATEWAY:
            one = await house.knock(MODERN, "tools/list", door(READ, path=ONE), key)
            listed = {tool["name"] for tool in one.message["result"]["tools"]}
            assert listed == {it.tool for it in OF_THE_SERVER}

    assert handled - {"tools/call"} == set(table.methods) - {"initialize"}
    listed = {tool["name"] for tool in whole.message["result"]["tools"]}
    assert listed == {it.tool for it in table.tools}


@pytest.mark.requirement("guard:table:every-route")
@every_era
@every_face
async def test_without_any_one_scope_that_it_needs_nothing_is_reached(
    table: Table, era: str
) -> None:
    every = frozenset(Scope) - {Scope.INVITATION_ACCEPT}
    wrong: list[tuple[str, Door, str, Any]] = []
    async with opened(table) as house:
        await house.warmed(house.site.key)
        needed = frozenset[Scope]().union(*(it.needs for _, it in table.doors(era)))
        without = {scope: await key_with(house.site, every - {scope}) for scope in needed}
        for method, it in table.doors(era):
            for scope in it.needs:
                reply = await house.knock(era, method, it, without[scope])
                if not reply.turned_away:
                    wrong.append((method, it, scope, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@every_era
@every_face
async def test_with_the_scopes_that_it_needs_and_no_other_it_is_reached(
    table: Table, era: str
) -> None:
    wrong: list[tuple[str, Door, Any]] = []
    keys: dict[frozenset[Scope], str] = {}
    async with opened(table) as house:
        await house.warmed(house.site.key)
        for method, it in table.doors(era):
            if it.lasts:
                continue
            # The door of one server says first what it has, which is for whoever may see tools.
            scopes = it.needs | ({READ} if it.path == ONE else set())
            if scopes not in keys:
                keys[scopes] = await key_with(house.site, scopes)
            reply = await house.knock(era, method, it, keys[scopes])
            if not reply.as_it_should(it):
                wrong.append((method, it, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@every_era
@every_face
async def test_each_role_is_let_through_by_its_scopes(table: Table, era: str) -> None:
    wrong: list[tuple[str, Door, Role, Any]] = []
    async with opened(table) as house:
        for role in Role:
            key = await key_of(house.site, role)
            await house.warmed(key)
            for method, it in table.doors(era):
                may = it.needs <= SCOPES_OF[role]
                if it.lasts and may:
                    continue
                reply = await house.knock(era, method, it, key)
                if not (reply.as_it_should(it) if may else reply.turned_away):
                    wrong.append((method, it, role, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@every_era
@pytest.mark.parametrize("role", Role)
async def test_a_tool_is_reached_by_the_verb_of_its_effect_alone_and_never_unasked(
    era: str, role: Role
) -> None:
    reached: set[tuple[Verb, str]] = set()
    async with opened(GATEWAY) as house:
        key = await key_of(house.site, role)
        for verb in Verb:
            for tool in EFFECTS:
                if (await house.knock(era, "tools/call", by(verb, tool), key)).calls:
                    reached.add((verb, tool))

    allowed = {name for name, effect in EFFECTS.items() if _at_once(effect, role)}
    assert reached == {(verb_for(EFFECTS[name]), name) for name in allowed}


def _at_once(effect: Effect, role: Role) -> bool:
    return effect.is_read_only or (not effect.destroys and role is not Role.VIEWER)


@every_face
async def test_nobody_is_let_in_without_a_key_and_below_a_face_there_is_no_door(
    table: Table,
) -> None:
    listing = table.methods["tools/list"]
    async with opened(table) as house:
        strangers = [await house.knock(era, "tools/list", listing, "ptc_nobody") for era in ERAS]
        below = [
            await house.knock(era, "tools/list", replace(listing, path=path), house.site.key)
            for era in ERAS
            for path in (f"{table.path}/", f"{table.path}/x", "/mcp/servers/", "/mcp/servers/a/b")
        ]

    assert {(it.answer.status_code, it.code) for it in strangers} == {(401, "not_authenticated")}
    assert all(it.answer.headers["www-authenticate"].startswith("Bearer") for it in strangers)
    assert {(it.answer.status_code, it.code) for it in below} == {(404, "no_such_door")}
