"""The story of a login at somebody else's server, from the link to the last token."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from portico.guard.core.errors import LoginRefused, LoginUnknown
from portico.guard.core.oauth_logins import (
    Challenge,
    LoginClient,
    LoginLink,
    LoginPlace,
    browser_mark,
)
from portico.guard.core.principals import Identity
from portico.guard.oauth_logins import (
    BeginLogin,
    FinishLogin,
    FreshToken,
    LogOut,
    Returned,
    ShowPendingLogin,
)
from portico.kernel.ids import SpaceId
from portico.testing.gateway import a_server
from portico.testing.guard import MemoryAudit, MemoryPrincipals, a_space, an_identity
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from portico.testing.secrets import SIGN_IN, MemoryLoginClients, MemoryLogins, ScriptedSignIn

URL = "https://tools.example/mcp"


@dataclass
class Stage:
    """Everything that a login needs, in memory."""

    world: InMemoryStore = field(default_factory=InMemoryStore)
    sign_in: ScriptedSignIn = field(default_factory=ScriptedSignIn)
    clock: TickingClock = field(default_factory=lambda: TickingClock(BEGINNING))
    audit: MemoryAudit = field(default_factory=MemoryAudit)
    secrets: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        home, self.server = a_space(), a_server("tools")
        self.world.spaces[home.id] = home
        self.world.servers[home.id, self.server.id] = self.server
        self.clients = MemoryLoginClients(self.world)
        self.logins = MemoryLogins(self.world)
        principals = MemoryPrincipals(self.world)
        self.begin = BeginLogin(
            servers=self.sign_in,
            clients=self.clients,
            logins=self.logins,
            principals=principals,
            audit=self.audit,
            reveal=self._reveal,
            clock=self.clock,
            entropy=SeededEntropy(),
            callback_url="https://portico.example/oauth/callback",
            page_url="https://portico.example/oauth/login",
        )
        self.finish = FinishLogin(
            servers=self.sign_in,
            logins=self.logins,
            principals=principals,
            audit=self.audit,
            clock=self.clock,
        )
        self.ahead = ShowPendingLogin(logins=self.logins, principals=principals, clock=self.clock)
        self.log_out = LogOut(servers=self.sign_in, logins=self.logins, audit=self.audit)
        self.token = FreshToken(servers=self.sign_in, logins=self.logins, clock=self.clock)

    async def _reveal(self, _space: SpaceId, reference: str) -> str | None:
        return self.secrets.get(reference)

    def person(self, name: str) -> Identity:
        made = an_identity(name)
        self.world.identities[made.space, made.id] = made
        return made

    def place(self, name: str = "ana", url: str = URL) -> LoginPlace:
        who = self.person(name)
        return LoginPlace(
            space=who.space, principal=who.id, server=self.server.id, name="tools", url=url
        )

    async def logged_in(self, place: LoginPlace) -> None:
        link = await self.begin(place)
        assert link is not None
        await self.finish(self.returned(link))

    def returned(self, link: LoginLink, **other: str | None) -> Returned:
        """As from the browser in which somebody said that they want it."""
        state = parse_qs(urlsplit(link.url).query)["state"][0]
        given: dict[str, Any] = {
            "state": state,
            "to": str(self.server.id),
            "mark": browser_mark(state),
            "code": "code",
            "issuer": self.sign_in.server.issuer,
        }
        given.update(other)
        return Returned(**given)

    @property
    def noted(self) -> Sequence[str]:
        return [str(action) for action in self.audit.actions]


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def place(stage: Stage) -> LoginPlace:
    return stage.place()


async def test_a_token_is_for_one_person_at_one_address(stage: Stage) -> None:
    ana, ben = stage.place("ana"), stage.place("ben")

    await stage.logged_in(ana)

    assert await stage.token(ana) == "access-1"
    assert await stage.token(ben) is None
    assert stage.noted == ["login.begun", "login.finished"]

    await stage.logged_in(stage.place())

    assert await stage.token(stage.place(url="https://moved.example/mcp")) is None


async def test_a_link_is_for_somebody_says_until_when_and_asks_for_what_the_server_wants() -> None:
    stage = Stage()

    link = await stage.begin(stage.place(), Challenge(scope="notes"))

    assert link is not None
    assert (link.server, link.who) == ("tools", "ana")
    assert link.expires_at > stage.clock.now()
    ahead = await stage.ahead(stage.returned(link).state)
    assert (ahead.server, ahead.server_url, ahead.principal) == ("tools", URL, "ana")
    assert ahead.url.startswith("https://login.example/authorize?")
    assert parse_qs(urlsplit(ahead.url).query)["scope"] == ["notes offline_access"]
    with pytest.raises(LoginUnknown):
        await stage.ahead("another")


async def test_we_register_once_an_address_and_are_known_from_then_on(stage: Stage) -> None:
    for place, registered in (
        (stage.place("ana"), 1),
        (stage.place("ben"), 1),
        (stage.place(url="https://moved.example/mcp"), 2),
    ):
        await stage.begin(place)
        assert len(stage.sign_in.registered) == registered


async def test_nobody_is_registered_where_an_operator_has_said_who_we_are(stage: Stage) -> None:
    stage.secrets["secret:tools"] = "hush"
    place = stage.place()
    said = LoginClient(url=URL, client_id="ours", secret_reference="secret:tools", configured=True)
    await stage.clients.put(place.holder, place.server, said)

    link = await stage.begin(place)

    assert link is not None
    assert stage.sign_in.registered == []
    [attempt] = stage.world.login_attempts.values()
    known = attempt.known
    assert (known.client_id, known.secret) == ("ours", "hush")
    assert known.method == "client_secret_basic"


async def test_a_secret_that_is_not_there_is_told(stage: Stage, place: LoginPlace) -> None:
    said = LoginClient(url=URL, client_id="ours", secret_reference="secret:gone", configured=True)
    await stage.clients.put(place.holder, place.server, said)

    with pytest.raises(LoginRefused, match="nothing at secret:gone"):
        await stage.begin(place)


async def test_where_we_are_not_known_and_cannot_be_an_operator_is_told_what_to_do() -> None:
    stage = Stage(sign_in=ScriptedSignIn(server=replace(SIGN_IN, register_url=None)))

    with pytest.raises(LoginRefused) as refused:
        await stage.begin(stage.place())
    with pytest.raises(LoginRefused, match="does not register"):
        await (refuses := Stage(sign_in=ScriptedSignIn(refuses="access_denied"))).begin(
            refuses.place()
        )

    assert "login-config tools" in str(refused.value.fix)


async def test_there_is_no_link_to_nowhere_or_in_the_clear(stage: Stage) -> None:
    stage = Stage(sign_in=ScriptedSignIn(offers=False))

    assert await stage.begin(stage.place()) is None

    with pytest.raises(LoginRefused, match="in the clear"):
        await stage.begin(stage.place(url="http://tools.example/mcp"))


async def test_each_server_is_come_back_to_at_an_address_of_its_own() -> None:
    """So an answer of one that signs none cannot pass for that of another."""
    stage = Stage(sign_in=ScriptedSignIn(server=replace(SIGN_IN, says_issuer=False)))
    place = stage.place()
    link = await stage.begin(place)
    assert link is not None
    [attempt] = stage.world.login_attempts.values()
    there = f"https://portico.example/oauth/callback/{stage.server.id}"
    assert attempt.redirect_url == there
    assert stage.sign_in.registered == [there]

    with pytest.raises(LoginRefused, match="not from where you were sent"):
        await stage.finish(stage.returned(link, issuer=None, to=str(a_server("other").id)))

    assert await stage.token(place) is None


async def test_a_state_works_once_and_for_ten_minutes(stage: Stage) -> None:
    used, late = await stage.begin(stage.place()), await stage.begin(stage.place("ben"))
    assert used is not None
    assert late is not None
    await stage.finish(stage.returned(used))
    stage.clock.turn(timedelta(minutes=11))

    for link in (used, late):
        with pytest.raises(LoginUnknown):
            await stage.finish(stage.returned(link))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"issuer": "https://evil.example"}, "not from where you were sent"),
        ({"issuer": None}, "not from where you were sent"),
        ({"to": "srv_another"}, "not from where you were sent"),
        ({"mark": None}, "nobody in front of this browser was asked"),
        ({"mark": browser_mark("another")}, "nobody in front of this browser was asked"),
        ({"error": "access_denied"}, "access_denied"),
        ({"code": None}, "nothing along"),
    ],
)
async def test_an_answer_that_is_none_logs_nobody_in_and_ends_the_attempt(
    other: dict[str, str | None],
    said: str,
    stage: Stage,
    place: LoginPlace,
) -> None:
    link = await stage.begin(place)
    assert link is not None

    with pytest.raises(LoginRefused, match=said):
        await stage.finish(stage.returned(link, **other))

    assert await stage.token(place) is None
    with pytest.raises(LoginUnknown):
        await stage.finish(stage.returned(link))


async def test_who_was_disabled_meanwhile_or_has_a_code_that_is_refused_is_not_logged_in(
    stage: Stage, place: LoginPlace
) -> None:
    link, other = await stage.begin(place), await stage.begin(stage.place("ben"))
    assert link is not None
    assert other is not None
    here = (place.space, place.principal)
    disabled = replace(stage.world.identities[here], disabled_at=BEGINNING)
    stage.world.identities[here] = disabled
    stage.sign_in.refuses = "invalid_grant"

    with pytest.raises(LoginRefused, match="disabled"):
        await stage.finish(stage.returned(link))
    with pytest.raises(LoginRefused, match="invalid_grant"):
        await stage.finish(stage.returned(other))


async def test_a_token_that_ends_is_renewed_once_however_many_need_it(stage: Stage) -> None:
    place = stage.place()
    await stage.logged_in(place)
    stage.clock.turn(timedelta(hours=2))

    tokens = await asyncio.gather(*(stage.token(place) for _ in range(20)))

    assert set(tokens) == {"access-2"}
    assert len(stage.sign_in.refreshed) == 1


async def test_a_token_that_the_server_refuses_is_renewed_and_not_twice_for_two_who_were() -> None:
    stage = Stage()
    place = stage.place()
    await stage.logged_in(place)

    assert await stage.token(place, refused="access-1") == "access-2"
    assert await stage.token(place, refused="access-1") == "access-2"
    assert len(stage.sign_in.refreshed) == 1


@pytest.mark.parametrize("renews", [True, False])
async def test_who_cannot_be_renewed_has_to_log_in_again(renews: bool) -> None:
    stage = Stage(sign_in=ScriptedSignIn(renews=renews))
    place = stage.place()
    await stage.logged_in(place)
    stage.sign_in.refuses = "invalid_grant"
    stage.clock.turn(timedelta(hours=2))

    assert await stage.token(place) is None
    assert await stage.logins.get(place) is None


async def test_who_logged_out_while_somebody_waited_stays_logged_out(stage: Stage) -> None:
    place = stage.place()
    await stage.logged_in(place)
    stage.clock.turn(timedelta(hours=2))

    async with stage.logins.holding(place):
        waiting = asyncio.create_task(stage.token(place))
        await asyncio.sleep(0)
        await stage.logins.forget(place)

    assert await waiting is None
    assert stage.sign_in.refreshed == []


async def test_logging_out_is_told_there_and_written_down(stage: Stage, place: LoginPlace) -> None:
    await stage.logged_in(place)

    assert await stage.log_out(place.holder, place)
    assert not await stage.log_out(place.holder, place)

    assert [tokens.access for tokens in stage.sign_in.revoked] == ["access-1"]
    assert stage.noted[-1] == "login.ended"
