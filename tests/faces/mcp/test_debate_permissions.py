"""Who is let through at the door of debates: every method and every tool, by role and by scope."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import pytest

from portico.faces.mcp.debate.mount import DEBATE, DebateFace
from portico.faces.mcp.debate.tools import EVERY
from portico.guard.core.roles import SCOPES_OF, Role, Scope
from tests.faces.http.conftest import built
from tests.faces.http.test_permissions import key_of, key_with
from tests.faces.mcp.gateway import ERAS
from tests.faces.mcp.test_permissions import LEGACY, MODERN, Door, House, Reply, call, door

READ, RUN, JOIN = Scope.DEBATES_READ, Scope.DEBATES_RUN, Scope.DEBATES_JOIN
_EVERY = frozenset(Scope) - {Scope.INVITATION_ACCEPT}
NONE: Final = {"debate": "dbt_" + "0" * 26}
ESTIMATE: Final = {"estimate_only": True}

METHODS: Final[Mapping[str, Door]] = {
    "initialize": door(eras=(LEGACY,)),
    "ping": door(eras=(LEGACY,)),
    "server/discover": door(eras=(MODERN,)),
    "tools/list": door(),
}
"""But `tools/call`, which is a table of its own."""

TOOLS: Final[Mapping[str, Door]] = {
    "debate": call("debate", READ, RUN, given={"question": "Is it so?", **ESTIMATE}),
    "analyze": call("analyze", READ, RUN, given={"task": "Move house", **ESTIMATE}),
    "join_debate": call("join_debate", JOIN, given=NONE),
    "outcome": call("outcome", RUN, given={**NONE, "right": True}),
    "replay": call("replay", READ, given=NONE),
    "debate_status": call("debate_status", READ),
}
OTHERS: Final = [
    call("join_debate", JOIN, given={**NONE, "answer": "yes"}),
    call("debate_status", READ, given=NONE),
    call("debate_status", READ, RUN, given={**NONE, "stop": True}),
    call("debate", READ, RUN, given={"question": "Is it so?", "wait": 0}),
]


@asynccontextmanager
async def opened() -> AsyncIterator[House]:
    site = await built(rules=())
    face = DebateFace(site.debates_over_mcp)
    async with face.running():
        yield House(site, face)


def every_door(era: str) -> Iterable[tuple[str, Door]]:
    for method, it in METHODS.items():
        if era in it.eras:
            yield method, replace(it, path=DEBATE)
    for it in [*TOOLS.values(), *OTHERS]:
        yield "tools/call", replace(it, path=DEBATE)


def broke(reply: Reply) -> bool:
    codes = {"no_such_debate_tool", "bad_debate_input", "no_such_door"}
    return reply.answer.status_code >= 500 or reply.code in codes


async def test_every_method_and_every_tool_of_debates_is_in_the_table() -> None:
    async with opened() as house:
        handled = set(house.face._server._request_handlers)

    assert handled - {"tools/call"} == set(METHODS) - {"initialize"}
    assert {tool.name for tool in EVERY} == set(TOOLS)


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_without_any_one_scope_that_it_needs_no_debate_is_reached(era: str) -> None:
    wrong: list[tuple[str, Door, str, Any]] = []
    async with opened() as house:
        without = {it: await key_with(house.site, _EVERY - {it}) for it in (READ, RUN, JOIN)}
        for method, it in every_door(era):
            for scope in it.needs:
                reply = await house.knock(era, method, it, without[scope])
                if reply.code != "not_permitted":
                    wrong.append((method, it, scope, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_with_the_scopes_that_it_needs_and_no_other_debates_are_reached(era: str) -> None:
    wrong: list[tuple[str, Door, Any]] = []
    async with opened() as house:
        keys = {
            frozenset(needs): await key_with(house.site, needs or {Scope.STATUS_READ})
            for needs in ((), (READ,), (RUN,), (JOIN,), (READ, RUN))
        }
        for method, it in every_door(era):
            reply = await house.knock(era, method, it, keys[it.needs])
            if reply.turned_away or broke(reply):
                wrong.append((method, it, reply.message))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("era", ERAS)
async def test_each_role_is_let_through_at_debates_by_its_scopes(era: str) -> None:
    wrong: list[tuple[str, Door, Role, Any]] = []
    async with opened() as house:
        for role in Role:
            key = await key_of(house.site, role)
            for method, it in every_door(era):
                may = it.needs <= SCOPES_OF[role]
                reply = await house.knock(era, method, it, key)
                if reply.turned_away is may or broke(reply):
                    wrong.append((method, it, role, reply.message))

    assert wrong == []


@pytest.mark.parametrize("path", ["/mcp/debate/", "/mcp/debate/x"])
async def test_below_debates_there_is_no_door(path: str) -> None:
    async with opened() as house:
        it = replace(METHODS["tools/list"], path=path)
        reply = await house.knock(MODERN, "tools/list", it, house.site.key)

    assert (reply.answer.status_code, reply.code) == (404, "no_such_door")


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_key_nobody_is_let_in(era: str) -> None:
    async with opened() as house:
        it = replace(METHODS["tools/list"], path=DEBATE)
        reply = await house.knock(era, "tools/list", it, "ptc_nobody")

    assert (reply.answer.status_code, reply.code) == (401, "not_authenticated")
