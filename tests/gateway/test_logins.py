"""The story of a server that wants to know who is calling, and of people who do."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.gateway.core.calls import ToolResult, UpstreamTarget
from portico.gateway.core.errors import LoginNeeded, UpstreamDown, UpstreamWantsLogin
from portico.gateway.core.servers import Http, Plain, Stdio
from portico.gateway.logins import LoggedInUpstreams, place_of
from portico.gateway.ports import house
from portico.testing.gateway import ScriptedUpstreams, a_server
from tests.guard.test_oauth_logins import URL, Stage

AMPLE = timedelta(seconds=30)
BEARER = 'Bearer resource_metadata="https://tools.example/m"'


class Picky(ScriptedUpstreams):
    """Asks whoever it does not know who they are; knows by whose conversation it is."""

    def __init__(self, stage: Stage, says: str = BEARER) -> None:
        super().__init__()
        self.stage = stage
        self.says = says
        self.asked: list[str] = []

    async def call(self, target: UpstreamTarget, *_: Any, **__: Any) -> ToolResult:
        place = place_of(target) if target.personal else None
        token = None if place is None else await self.stage.token(place)
        if token is None:
            raise UpstreamWantsLogin(target.server, self.says if not target.personal else "")
        self.asked.append(f"{target.credentials} {token}")
        return ToolResult([{"type": "text", "text": token}])


def open_to(stage: Stage, says: str = BEARER) -> tuple[LoggedInUpstreams, Picky]:
    picky = Picky(stage, says)
    made = LoggedInUpstreams(
        inside=picky, clients=stage.clients, begin_login=stage.begin, now=lambda: 0.0
    )
    return made, picky


def target_of(stage: Stage, name: str) -> UpstreamTarget:
    who = stage.person(name)
    server = replace(a_server("tools", launch=Http(URL)), id=stage.server.id)
    return UpstreamTarget.of(who.space, server, who.id)


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_whoever_is_not_logged_in_is_given_a_link_and_then_served(stage: Stage) -> None:
    upstreams, picky = open_to(stage)
    ana = target_of(stage, "ana")

    with pytest.raises(LoginNeeded) as needed:
        await upstreams.call(ana, "t", {}, timeout=AMPLE)
    assert needed.value.login_url.startswith("https://portico.example/oauth/login?")
    assert needed.value.login_url in str(needed.value.fix)
    assert "oauth/login" not in str(needed.value)
    link = await stage.begin(stage.place("ana"))
    assert link is not None
    await stage.finish(stage.returned(link))

    answer = await upstreams.call(ana, "t", {}, timeout=AMPLE)
    assert answer.content[0]["text"] == "access-1"
    assert picky.asked == [f"{ana.login} access-1"]


async def test_who_may_only_read_is_given_no_link(stage: Stage) -> None:
    upstreams, _ = open_to(stage)
    reads = replace(target_of(stage, "ana"), links=False)

    with pytest.raises(UpstreamDown, match="logged in there") as refused:
        await upstreams.call(reads, "t", {}, timeout=AMPLE)

    assert "tools:write" in str(refused.value.fix)
    assert not stage.world.login_attempts


async def test_everybody_has_a_conversation_of_their_own(stage: Stage) -> None:
    upstreams, picky = open_to(stage)
    for name in ("ana", "ben"):
        await stage.logged_in(stage.place(name))
    ana, ben = target_of(stage, "ana"), target_of(stage, "ben")

    for target in (ana, ben, ana):
        await upstreams.call(target, "t", {}, timeout=AMPLE)

    assert picky.asked == [
        f"{ana.login} access-1",
        f"{ben.login} access-2",
        f"{ana.login} access-1",
    ]


async def test_one_that_asks_for_something_else_or_lets_nobody_in_is_down(stage: Stage) -> None:
    for says, offers in (("Basic realm=tools", True), (BEARER, False)):
        stage.sign_in.offers = offers
        upstreams, _ = open_to(stage, says=says)

        with pytest.raises(UpstreamWantsLogin):
            await upstreams.call(target_of(stage, "ana"), "t", {}, timeout=AMPLE)


async def test_the_house_itself_is_given_no_link(stage: Stage) -> None:
    upstreams, _ = open_to(stage)
    target = target_of(stage, "ana")
    itself = replace(target, login=house(target.space).id)

    with pytest.raises(UpstreamDown, match="somebody who is logged in"):
        await upstreams.call(itself, "t", {}, timeout=AMPLE)

    assert stage.world.login_attempts == {}


def test_a_server_that_has_its_credentials_already_takes_no_logins() -> None:
    rows: list[Any] = [
        Stdio("program"),
        Http(URL, {"Authorization": Plain("Bearer of-the-configuration")}),
        Http(URL, {"authorization": Plain("x")}),
    ]

    for launch in rows:
        stage = Stage()
        who = stage.person("ana")

        target = UpstreamTarget.of(who.space, a_server(launch=launch), who.id)

        assert target.login is None, launch
        assert place_of(target) is None, launch
        assert not target.personal, launch
