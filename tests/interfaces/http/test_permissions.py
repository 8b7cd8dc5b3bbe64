"""Who is let through which door: every route of the application, against every role and scope."""

from collections.abc import Iterable

import pytest
from fastapi.routing import iter_route_contexts

from portico.guard.core.principals import OF_THE_INSTALLATION, SCOPES_OF, Role, Scope
from tests.interfaces.http.asgi import Answer
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.desk import joined
from tests.interfaces.http.doors import DOORS, OPEN, Door
from tests.interfaces.http.test_walls import filled

Route = tuple[str, str]

_EVERY = frozenset(Scope) - {Scope.INVITATION_ACCEPT}


def routes(site: Site) -> set[Route]:
    """Taken from the application itself."""
    return {
        (method, str(route.path_format))
        for route in iter_route_contexts(site.inside.routes)
        for method in route.methods or ()
        if method != "HEAD"
    }


async def test_every_route_is_in_the_table_and_nothing_else_is(site: Site) -> None:
    documents = {path for path in routes(site) if path[1].startswith("/api/v1/openapi")}

    assert routes(site) - documents - OPEN == set(DOORS)


async def key_with(site: Site, scopes: Iterable[Scope]) -> str:
    """Of the first admin, who has all that there is."""
    wish = {"name": "for this test", "scopes": sorted(scopes), "clearance": "restricted"}
    made = await site.ask("POST", "/api/v1/keys", wish)
    assert made.status == 201, made.json
    key: str = made.json["key"]
    return key


async def key_of(site: Site, role: Role) -> str:
    key, _ = await joined(site, role, roles=[role])
    return key


async def knock(site: Site, route: Route, door: Door, key: str) -> Answer:
    method, path = route
    return await site.ask(method, filled(path), door.body, key=key, query=door.query)


def let_through(answer: Answer) -> bool:
    return not (answer.status == 403 and code_of(answer) == "not_permitted")


def code_of(answer: Answer) -> str:
    """Programs that speak OpenAI's protocol are told in its form."""
    told = answer.json.get("error", answer.json)
    return str(told["code"])


def turned_away(answer: Answer, door: Door) -> bool:
    return not let_through(answer) or (door.hides and answer.status == 404)


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.requirement("telemetry:metrics:behind-a-key")
async def test_a_key_without_the_scope_is_turned_away_and_one_with_only_it_is_let_through(
    site: Site,
) -> None:
    wrong: list[tuple[Route, str, int]] = []
    for route, door in DOORS.items():
        if not door.any_of or Scope.INVITATION_ACCEPT in door.any_of:
            continue
        lacking = await knock(site, route, door, await key_with(site, _EVERY - door.any_of))
        if not turned_away(lacking, door):
            wrong.append((route, "let through without it", lacking.status))
        for scope in door.any_of if not door.lasts else ():
            alone = await knock(site, route, door, await key_with(site, [scope]))
            if not let_through(alone) or alone.status >= 500:
                wrong.append((route, f"turned away with {scope}", alone.status))

    assert wrong == []


@pytest.mark.requirement("guard:table:every-route")
@pytest.mark.requirement("telemetry:metrics:behind-a-key")
async def test_each_role_opens_the_doors_of_its_scopes_and_no_other(site: Site) -> None:
    keys = {role: await key_of(site, role) for role in Role}
    wrong: list[tuple[Route, Role, int]] = []
    for route, door in DOORS.items():
        for role, key in keys.items():
            may = not door.any_of or bool(door.any_of & SCOPES_OF[role])
            if door.lasts and may:
                continue
            answer = await knock(site, route, door, key)
            right = let_through(answer) if may else turned_away(answer, door)
            if not right or answer.status >= 500:
                wrong.append((route, role, answer.status))

    assert wrong == []


def test_every_scope_opens_some_door() -> None:
    """One that opens none would be a word without a meaning, or a door without a lock."""
    used = frozenset[Scope]().union(*(door.any_of for door in DOORS.values()))
    elsewhere = {
        Scope.RUNS_CONTROL,  # somebody else's run: tests/engine
        Scope.TRACES_READ,  # what somebody else's agent said: tests/agents
        Scope.CALLS_READ,  # everybody's calls, not only one's own: tests/gateway
        Scope.COMPARTMENTS_GRANT,  # what a clearance may name: tests/guard
        Scope.BRIDGE_MANAGE,  # what others have made on the bridge: tests/bridge
        Scope.BRIDGE_DECLASSIFY,  # what is answered to a request of one kind: tests/bridge
    }

    assert frozenset(Scope) - used == elsewhere


def test_what_reaches_beyond_a_space_comes_with_no_role() -> None:
    assert not OF_THE_INSTALLATION & frozenset[Scope]().union(*SCOPES_OF.values())
