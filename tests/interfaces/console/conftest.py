"""The console on in-memory doors, and somebody who has logged in to it."""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from urllib.parse import urlencode

import pytest
from starlette.types import ASGIApp

from portico.engine.event_log import Tails
from portico.guard.core.principals import Role
from portico.guard.principals import PrincipalSpec
from portico.interfaces.console.app import build
from portico.interfaces.console.live import PageEventText
from portico.interfaces.console.page import ConsoleServices
from portico.interfaces.console.sessions import COOKIE
from portico.interfaces.http.streaming import Manners
from portico.kernel.label import Label
from portico.kernel.principal import PrincipalKind
from tests.interfaces.http.asgi import Answer, Header, ask
from tests.interfaces.http.conftest import HOST, Site, built
from tests.interfaces.http.streaming import Stream, streaming

_SESSION = re.compile(rf"{COOKIE}=([^;]+)")


@dataclass
class Browser:
    """Somebody's: it keeps the cookie, and says where a form comes from."""

    app: ASGIApp
    site: Site
    house: ConsoleServices
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> list[Header]:
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return [HOST, (b"cookie", kept.encode())]

    async def get(self, path: str, *headers: Header, part: bool = False) -> Answer:
        path, _, query = path.partition("?")
        htmx: list[Header] = [(b"hx-request", b"true")] if part else []
        return await ask(
            self.app, "GET", path, headers=[*self.headers, *htmx, *headers], query=query
        )

    async def post(
        self, path: str, fields: Mapping[str, str | Sequence[str]] | None = None, *headers: Header
    ) -> Answer:
        path, _, query = path.partition("?")
        own: list[Header] = [
            (b"sec-fetch-site", b"same-origin"),
            (b"content-type", b"application/x-www-form-urlencoded"),
        ]
        body = urlencode(fields or {}, doseq=True).encode()
        sent = [*self.headers, *own, *headers]
        return await ask(self.app, "POST", path, headers=sent, body=body, query=query)

    async def sees(self, path: str) -> str:
        """A page that must be there, as text."""
        answer = await self.get(path)
        assert answer.status == 200, (answer.status, answer.body[:2000])
        return answer.body.decode()

    async def does(self, path: str, fields: Mapping[str, str | Sequence[str]] | None = None) -> str:
        """A form that must be taken: where it leads."""
        answer = await self.post(path, fields)
        assert answer.status == 303, (answer.status, answer.body[:2000])
        return answer.headers["location"]

    async def log_in(self, key: str | None = None) -> None:
        answer = await self.post("/login", {"key": key or self.site.key})
        assert answer.status == 303, answer.body
        found = _SESSION.search(answer.headers["set-cookie"])
        assert found is not None
        self.cookies[COOKIE] = found[1]

    def live(self, *topics: str, after: str | None = None) -> AbstractAsyncContextManager[Stream]:
        headers = [*self.headers]
        if after is not None:
            headers.append((b"last-event-id", after.encode()))
        return streaming(self.app, "/live", headers, f"topics={','.join(topics)}")


def console_of(site: Site, manners: Manners | None = None) -> Browser:
    doors = site.doors
    house = ConsoleServices(
        use=site.use,
        gateway=site.gateway,
        rooms=site.rooms,
        log=doors.event_log,
        tails=Tails(log=doors.event_log, bus=doors.bus, seal=doors.seal, wording=PageEventText()),
        clock=doors.clock,
        entropy=doors.entropy,
        manners=manners or Manners(heartbeat=60.0, wait_timeout=60.0),
    )
    return Browser(build(house), site, house)


@pytest.fixture
async def console() -> Browser:
    """Ana's, who may do everything."""
    browser = console_of(await built())
    await browser.log_in()
    return browser


@pytest.fixture
async def stranger() -> Browser:
    """Who has not logged in."""
    return console_of(await built())


async def somebody(
    console: Browser, name: str, *, role: Role = Role.MEMBER, clearance: str = "team"
) -> Browser:
    """Another person at the same console, with less than Ana has."""
    use = console.site.use
    ana = (await use.authenticate(console.site.key)).principal
    wish = PrincipalSpec(
        kind=PrincipalKind.PERSON,
        name=name,
        roles=frozenset({role}),
        clearance=Label.parse(clearance),
    )
    made = await use.add_principal(ana, wish)
    key = await console.site.ask(
        "POST", "/api/v1/keys", {"name": f"{name}s", "principal": str(made.id)}
    )
    assert key.status == 201, key.json
    browser = Browser(console.app, console.site, console.house)
    await browser.log_in(key.json["key"])
    return browser
