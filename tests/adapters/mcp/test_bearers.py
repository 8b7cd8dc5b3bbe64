"""Whose token goes with a request: always that of the person whose conversation it is."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.gateway.core.errors import UpstreamDown, UpstreamWantsLogin
from portico.gateway.core.server import Era, Http, ServerId
from portico.gateway.core.upstream import Target
from portico.guard.core.errors import LoginUnavailable
from portico.kernel.ids import PrincipalId
from portico.kernel.redaction import BLACK
from tests.adapters.mcp.pools import AMPLE, HOME, a_pool, said, target, until
from tests.adapters.mcp.serving import served

ANA, BEN = PrincipalId(UUID(int=7)), PrincipalId(UUID(int=8))


class Doorman:
    """Answers with the token that came, if it is one that it takes."""

    def __init__(self, *taken: str) -> None:
        self.taken = set(taken)
        self.seen: list[str] = []

    async def answer(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if token not in self.taken:
            return Response(status_code=401, headers={"www-authenticate": 'Bearer scope="s"'})
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        return JSONResponse(
            {"jsonrpc": "2.0", "id": message["id"], "result": self._of(message, token)}
        )

    def _of(self, message: dict[str, object], token: str) -> dict[str, object]:
        if message["method"] == "initialize":
            info = {"name": "doorman", "version": "1"}
            return {
                "protocolVersion": LATEST_HANDSHAKE_VERSION,
                "capabilities": {},
                "serverInfo": info,
            }
        return {"content": [{"type": "text", "text": token}]}

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/mcp", self.answer, methods=["GET", "POST", "DELETE"])])


class Purse:
    """The tokens of each; one that was refused is replaced by the next."""

    def __init__(self, **tokens: list[str]) -> None:
        self.tokens = {PrincipalId(UUID(int=int(who[1:]))): [*each] for who, each in tokens.items()}

    async def __call__(self, target: Target, refused: str | None) -> str | None:
        assert target.login is not None
        mine = self.tokens.get(target.login, [])
        if mine and mine[0] == refused:
            mine.pop(0)
        return mine[0] if mine else None


def personal(url: str, who: PrincipalId) -> Target:
    there = target(Http(f"{url}/mcp"), era=Era.LEGACY)
    return replace(there, login=who, id=ServerId(UUID(int=1))).of_its_caller()


async def test_two_people_talk_at_once_and_each_with_their_own_token() -> None:
    doorman = Doorman("of-ana", "of-ben")
    purse = Purse(p7=["of-ana"], p8=["of-ben"])

    async with a_pool(tokens=purse) as pool, served(doorman.app()) as url:
        both = [personal(url, who) for who in (ANA, BEN)] * 20
        calls = (pool.call(each, "t", {}, timeout=AMPLE) for each in both)
        answers = await asyncio.gather(*calls)

    assert [said(each) for each in answers] == ["of-ana", "of-ben"] * 20


async def test_nobody_gets_their_token_back_not_even_one_that_was_renewed() -> None:
    first, second = "token-1-of-ana", "token-2-of-ana"
    doorman = Doorman(first, second)

    async with a_pool(tokens=Purse(p7=[first, second])) as pool, served(doorman.app()) as url:
        ana = personal(url, ANA)
        before = await pool.call(ana, "t", {}, timeout=AMPLE)
        doorman.taken = {second}
        after = await pool.call(ana, "t", {}, timeout=AMPLE)

    assert (said(before), said(after)) == (BLACK, BLACK)
    assert {first, second} <= {*doorman.seen}


async def test_a_token_that_is_refused_is_replaced_and_the_call_made_once() -> None:
    doorman = Doorman("old", "new")

    async with a_pool(tokens=Purse(p7=["old", "new"])) as pool, served(doorman.app()) as url:
        ana = personal(url, ANA)
        await pool.call(ana, "t", {}, timeout=AMPLE)
        doorman.taken = {"new"}
        answer = await pool.call(ana, "t", {}, timeout=AMPLE)

    assert said(answer) == "new"


async def test_whoever_has_no_token_is_not_even_tried_and_may_come_again_at_once() -> None:
    doorman = Doorman("of-ana")
    purse = Purse()

    async with a_pool(tokens=purse) as pool, served(doorman.app()) as url:
        ana = personal(url, ANA)
        for _ in range(5):
            with pytest.raises(UpstreamWantsLogin):
                await pool.call(ana, "t", {}, timeout=AMPLE)
        assert doorman.seen == []
        purse.tokens[ANA] = ["of-ana"]
        answer = await pool.call(ana, "t", {}, timeout=AMPLE)
        purse.tokens[ANA] = []
        with pytest.raises(UpstreamWantsLogin):
            await pool.call(ana, "t", {}, timeout=AMPLE)

    assert said(answer) == "of-ana"


async def test_a_server_that_asks_who_is_calling_is_heard_and_not_rested_from() -> None:
    async with a_pool() as pool, served(Doorman().app()) as url:
        for _ in range(5):
            with pytest.raises(UpstreamWantsLogin) as wanted:
                await pool.call(target(Http(f"{url}/mcp")), "t", {}, timeout=AMPLE)

    assert wanted.value.challenge == 'Bearer scope="s"'


async def test_where_people_log_in_being_away_is_told_as_that() -> None:
    async def away(_target: Target, _refused: str | None) -> str | None:
        raise LoginUnavailable("https://login.example", "nobody there")

    async with a_pool(tokens=away) as pool, served(Doorman().app()) as url:
        with pytest.raises(UpstreamDown, match="nobody there") as down:
            await pool.call(personal(url, ANA), "t", {}, timeout=AMPLE)

    assert not isinstance(down.value, UpstreamWantsLogin)


async def test_a_call_that_waits_for_its_token_is_not_made_once_its_server_was_stopped() -> None:
    doorman = Doorman("of-ana")
    asked, given = asyncio.Event(), asyncio.Event()
    given.set()

    async def slowly(_target: Target, _refused: str | None) -> str | None:
        asked.set()
        await given.wait()
        return "of-ana"

    async with a_pool(tokens=slowly) as pool, served(doorman.app()) as url:
        ana = personal(url, ANA)
        await pool.call(ana, "t", {}, timeout=AMPLE)
        await until(lambda: len(doorman.seen) == 4)  # the standing stream is asked for beside it
        given.clear()
        asked.clear()
        call = asyncio.ensure_future(pool.call(ana, "t", {}, timeout=AMPLE))
        await asked.wait()
        await pool.stop(HOME, "server")
        doorman.seen.clear()
        given.set()
        with pytest.raises(UpstreamDown, match="it was ended") as ended:
            await call

    assert not ended.value.reached
    assert doorman.seen == []


async def test_a_token_is_known_as_a_secret_for_a_while() -> None:
    secrets = KnownSecrets(["lasting-secret"])

    for number in range(600):
        secrets.learn_passing(f"token-number-{number:04}")
    secrets.learn("another-lasting")

    assert "token-number-0599" not in secrets.clean("x token-number-0599")
    assert "token-number-0000" in secrets.clean("x token-number-0000")
    assert "lasting" not in secrets.clean("lasting-secret another-lasting")
