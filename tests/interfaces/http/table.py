"""A table on the bridge over HTTP: a project, a conversation in it, and people around it."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp

from portico.interfaces.http.streaming import MANNERS, Manners
from tests.interfaces.http.asgi import Answer, Header, ask, bearing, written
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.streaming import Stream, streaming

API = "/api/v1"


@dataclass
class Seat:
    """Somebody at the table, with a key of theirs."""

    app: ASGIApp
    id: str
    key: str

    @property
    def headers(self) -> list[Header]:
        return bearing(self.key)

    async def ask(
        self, method: str, path: str, body: object = None, *headers: Header, query: str = ""
    ) -> Answer:
        whole, sent = [*self.headers, *headers], written(body)
        return await ask(self.app, method, API + path, headers=whole, body=sent, query=query)

    async def got(
        self, method: str, path: str, body: object = None, *headers: Header, query: str = ""
    ) -> Any:
        """What must have gone well."""
        answer = await self.ask(method, path, body, *headers, query=query)
        assert answer.status < 300, answer.json
        return answer.json if answer.body else None

    async def refused(
        self, method: str, path: str, body: object = None, *, query: str = ""
    ) -> tuple[int, str]:
        answer = await self.ask(method, path, body, query=query)
        return answer.status, answer.json["code"]

    async def says(self, conversation: str, text: str, **more: object) -> Any:
        return await self.got(
            "POST", f"/conversations/{conversation}/messages", {"body": text, **more}
        )

    async def attaches(
        self, project: str, content: bytes, *, kind: bytes = b"application/zip", query: str
    ) -> Answer:
        headers = [*self.headers[:-1], (b"content-type", kind)]
        path = f"{API}/projects/{project}/attachments"
        return await ask(self.app, "POST", path, headers=headers, body=content, query=query)

    async def reads(self, conversation: str, query: str = "") -> Any:
        return await self.got("GET", f"/conversations/{conversation}/messages", query=query)

    def follows(self, *conversations: str) -> AbstractAsyncContextManager[Stream]:
        query = "&".join(f"conversation={each}" for each in conversations)
        return streaming(self.app, f"{API}/bridge/events", self.headers, query)


@dataclass
class Table:
    """Ana, a person, cleared for all; two agents, `scout` for what is confidential, `robin` for
    what is the team's. All three take part in a conversation of the team."""

    site: Site
    ana: Seat
    scout: Seat
    robin: Seat
    project: str
    conversation: str

    async def another(self, name: str, *, clearance: str) -> Seat:
        return await seated(self.ana, name, clearance=clearance)


async def laid(site: Site, *, manners: Manners = MANNERS) -> Table:
    app = site.app if manners is MANNERS else site.rebuilt(manners=manners)
    me = await site.ask("GET", f"{API}/me")
    ana = Seat(app, me.json["id"], site.key)
    scout = await seated(ana, "scout", clearance="confidential")
    robin = await seated(ana, "robin", clearance="team")
    project = await ana.got("POST", "/projects", {"name": "heron", "label": "team"})
    conversation = await ana.got(
        "POST",
        "/conversations",
        {"project": project["id"], "title": "Nests", "participants": [scout.id, robin.id]},
    )
    return Table(site, ana, scout, robin, project["id"], conversation["id"])


async def seated(ana: Seat, name: str, *, clearance: str) -> Seat:
    wish = {"kind": "agent", "name": name, "clearance": clearance}
    made = await ana.got("POST", "/principals", wish)
    key = await ana.got(
        "POST",
        "/keys",
        {"name": f"{name}'s", "principal": made["id"], "clearance": clearance},
    )
    return Seat(ana.app, made["id"], key["key"])
