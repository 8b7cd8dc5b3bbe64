"""Who is let through at the bridge's door: every method and every tool, by role and by scope."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import pytest

from portico.faces.mcp.bridge.mount import BRIDGE, BridgeFace
from portico.faces.mcp.bridge.tools import EVERY
from portico.guard.core.roles import SCOPES_OF, Role, Scope
from tests.faces.http.conftest import built
from tests.faces.http.table import Table, laid
from tests.faces.http.test_permissions import key_of, key_with
from tests.faces.mcp.gateway import ERAS
from tests.faces.mcp.test_permissions import LEGACY, MODERN, Door, House, Reply, call, door

READ, WRITE = Scope.BRIDGE_READ, Scope.BRIDGE_WRITE
_EVERY = frozenset(Scope) - {Scope.INVITATION_ACCEPT}
_LISTEN: Final = {"notifications": {"resourceSubscriptions": ["portico://conversations/HERE"]}}
_HERE: Final = {"uri": "portico://conversations/HERE"}

METHODS: Final[Mapping[str, Door]] = {
    "initialize": door(eras=(LEGACY,)),
    "ping": door(eras=(LEGACY,)),
    "server/discover": door(eras=(MODERN,)),
    "tools/list": door(),
    "resources/templates/list": door(),
    "resources/list": door(READ),
    "resources/read": door(READ, params=_HERE),
    "resources/subscribe": door(READ, params=_HERE, eras=(LEGACY,)),
    "resources/unsubscribe": door(params=_HERE, eras=(LEGACY,)),
    "subscriptions/listen": door(READ, params=_LISTEN, eras=(MODERN,), lasts=True),
}
"""But `tools/call`, which is a table of its own."""

TOOLS: Final[Mapping[str, Door]] = {
    "whoami": call("whoami", READ),
    "projects": call("projects", READ),
    "project_set": call("project_set", WRITE, given={"name": "egret", "doing": "there"}),
    "conversations": call("conversations", READ),
    "conversation_set": call(
        "conversation_set", READ, WRITE, given={"project": "heron", "title": "Eggs"}
    ),
    "send": call("send", WRITE, given={"conversation": "HERE", "body": "a", "to": ["ana"]}),
    "read": call("read", READ, given={"conversations": ["HERE"]}),
    "inbox": call("inbox", READ),
    "search": call("search", READ, given={"query": "a"}),
    "change": call("change", WRITE, given={"message": "msg_" + "0" * 26, "body": "b"}),
    "memory_get": call("memory_get", READ, given={"project": "heron", "key": "a"}),
    "memory_set": call(
        "memory_set", READ, WRITE, given={"project": "heron", "key": "a", "value": 1}
    ),
    "memory_find": call("memory_find", READ, given={"project": "heron"}),
    "lease": call(
        "lease",
        READ,
        WRITE,
        given={"do": "take", "project": "heron", "resource": "a", "queue": True},
    ),
    "task": call("task", READ, WRITE, given={"do": "add", "project": "heron", "title": "a"}),
    "attach": call("attach", READ, WRITE, given={"project": "heron", "name": "a.txt", "text": "a"}),
}
NO_LEASE: Final = {"lease": "lse_" + "0" * 26, "token": 1}
NO_WORK: Final = {"task": "wrk_" + "0" * 26}
OTHERS: Final = [
    call("projects", READ, given={"project": "heron"}),
    call("project_set", READ, WRITE, given={"project": "heron", "doing": "busy"}),
    call("conversations", READ, given={"conversation": "HERE"}),
    call("conversation_set", READ, WRITE, given={"conversation": "HERE", "add": ["ana"]}),
    call("read", READ, given={"attachment": "0" * 64}),
    call("read", READ, given={"thread": "msg_" + "0" * 26}),
    call("change", WRITE, given={"message": "msg_" + "0" * 26, "delete": True}),
    call("change", WRITE, given={"message": "msg_" + "0" * 26, "lower_to": "public"}),
    call("memory_set", READ, WRITE, given={"project": "heron", "key": "b", "forget": True}),
    call("memory_get", READ, given={"project": "heron", "key": "a", "history": True}),
    call("lease", WRITE, given={"do": "renew", **NO_LEASE}),
    call("lease", WRITE, given={"do": "release", **NO_LEASE}),
    call("lease", READ, given={"do": "list", "project": "heron"}),
    call("lease", READ, given={"do": "check", "project": "heron", "resource": "a", "token": 1}),
    call("task", READ, given={"do": "list", "project": "heron"}),
    call("task", READ, given={"do": "show", **NO_WORK}),
    call("task", WRITE, given={"do": "claim", **NO_WORK}),
    call("task", WRITE, given={"do": "hand_over", "token": 1, **NO_WORK}),
    call("task", WRITE, given={"do": "done", "token": 1, **NO_WORK}),
]


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[House, Table]]:
    table = await laid(await built(rules=()))
    face = BridgeFace(table.site.bridge_over_mcp)
    async with face.running():
        yield House(table.site, face), table


def filled(it: Door, table: Table) -> Door:
    return replace(it, params=_filled(it.params, table), path=BRIDGE)


def _filled(value: Any, table: Table) -> Any:
    if isinstance(value, str):
        return value.replace("HERE", table.conversation)
    if isinstance(value, list):
        return [_filled(each, table) for each in value]
    if isinstance(value, Mapping):
        return {name: _filled(each, table) for name, each in value.items()}
    return value


def every_door(era: str, table: Table) -> Iterable[tuple[str, Door]]:
    for method, it in METHODS.items():
        if era in it.eras:
            yield method, filled(it, table)
    for it in [*TOOLS.values(), *OTHERS]:
        yield "tools/call", filled(it, table)


def broke(reply: Reply) -> bool:
    codes = {"no_such_bridge_tool", "bad_bridge_input", "no_such_door"}
    return reply.answer.status_code >= 500 or reply.code in codes


async def test_every_method_and_every_tool_of_the_bridge_is_in_the_table() -> None:
    async with opened() as (house, _):
        handled = set(house.face._server._request_handlers)

    assert handled - {"tools/call"} == set(METHODS) - {"initialize"}
    assert {tool.name for tool in EVERY} == set(TOOLS)


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_without_any_one_scope_that_it_needs_nothing_of_the_bridge_is_reached(
    era: str,
) -> None:
    wrong: list[tuple[str, Door, str, Any]] = []
    async with opened() as (house, table):
        without = {it: await key_with(house.site, _EVERY - {it}) for it in (READ, WRITE)}
        for method, it in every_door(era, table):
            for scope in it.needs:
                reply = await house.knock(era, method, it, without[scope])
                if reply.code != "not_permitted":
                    wrong.append((method, it, scope, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_with_the_scopes_that_it_needs_and_no_other_the_bridge_is_reached(era: str) -> None:
    wrong: list[tuple[str, Door, Any]] = []
    async with opened() as (house, table):
        keys = {
            frozenset(needs): await key_with(house.site, needs or {Scope.STATUS_READ})
            for needs in ((), (READ,), (WRITE,), (READ, WRITE))
        }
        for method, it in every_door(era, table):
            if it.lasts:
                continue
            reply = await house.knock(era, method, it, keys[it.needs])
            if reply.turned_away or broke(reply):
                wrong.append((method, it, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_each_role_is_let_through_at_the_bridge_by_its_scopes(era: str) -> None:
    wrong: list[tuple[str, Door, Role, Any]] = []
    async with opened() as (house, table):
        for role in Role:
            key = await key_of(house.site, role)
            for method, it in every_door(era, table):
                may = it.needs <= SCOPES_OF[role]
                if it.lasts and may:
                    continue
                reply = await house.knock(era, method, it, key)
                if reply.turned_away is may or broke(reply):
                    wrong.append((method, it, role, reply.message))

    assert wrong == []


@pytest.mark.parametrize("path", ["/mcp/bridge/", "/mcp/bridge/x"])
async def test_below_the_bridge_there_is_no_door(path: str) -> None:
    async with opened() as (house, table):
        it = replace(METHODS["tools/list"], path=path)
        reply = await house.knock(MODERN, "tools/list", it, table.robin.key)

    assert (reply.answer.status_code, reply.code) == (404, "no_such_door")


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_key_nobody_is_let_in(era: str) -> None:
    async with opened() as (house, table):
        it = filled(METHODS["tools/list"], table)
        reply = await house.knock(era, "tools/list", it, "ptc_nobody")

    assert (reply.answer.status_code, reply.code) == (401, "not_authenticated")
