"""Servers of tools over REST: add them, approve them, see how they are."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import Response

from portico.engine.core.idempotency import Answer
from portico.gateway.core.calls import Phase
from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.launch import from_json, shown, to_json
from portico.gateway.core.server_approval import Proposed
from portico.gateway.core.servers import Era, Server
from portico.gateway.servers import ServerLook, ServerWish
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.once import Asked
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.server_labels import labels_out
from portico.interfaces.http.server_names import ServerName
from portico.interfaces.http.server_profiles import ConfinementOut, confinement_out
from portico.interfaces.http.server_reviews import ReviewOut, review_out
from portico.interfaces.http.words import Body, Switch, wire_object
from portico.kernel.effect import Effect

Pin = Annotated[str, Field(min_length=1, max_length=200)]


class ServerIn(
    Body, title="ServerIn", json_schema_extra=alias("portico__faces__http__servers__ServerIn")
):
    name: Annotated[str, Field(max_length=80)]
    launch: dict[str, JsonValue]
    """`{"type": "stdio", "command": …, "arguments": […], "environment": {…}}`, or
    `{"type": "http", "url": …, "headers": {…}}`. A value is a text, or `{"env": "NAME"}`."""
    timeout: Annotated[float | None, Field(gt=0, le=3600, strict=True)] = None
    """Seconds that one call may take."""


class LaunchApproval(Body, title="LaunchApproval"):
    launch_pin: Pin
    """Of the launch that was looked at; refused if it is another by now."""
    unboxed: Switch = False
    """The consent to start exactly this launch without a box, where there is none: it then has
    all rights of Portico itself."""


class Acceptance(Body, title="Acceptance"):
    pin: Pin
    """Of the review that was looked at; refused if it offers something else by now."""
    proposed: Proposed = Proposed.READS
    """Every tool is let in. Of those proposed to be reads the effect is lowered to that, or of
    `all` of them to what is proposed; the others stay `unknown`."""
    effects: dict[str, Effect] | None = Field(default=None, max_length=5_000)
    """Instead, by the tool's own name: only these are let in, with these effects."""


class VitalsOut(BaseModel, title="VitalsOut"):
    """In the process that answers."""

    phase: Phase
    process: int | None
    since: datetime | None
    until: datetime | None
    starts: int
    calls_now: int
    lacking: str | None
    """What it cannot offer on this machine, and why; only a part of Portico says so."""


class ServerOut(
    BaseModel,
    title="ServerOut",
    json_schema_extra=alias("portico__faces__http__servers__ServerOut"),
):
    name: str
    origin: str
    launch: dict[str, JsonValue]
    command: str
    """What is run or asked, as a person reads it."""
    launch_pin: str
    enabled: bool
    gone: bool
    """The file that described it does not ask for it any more."""
    launch_approved: bool
    approved: bool
    approved_by: str | None
    approved_at: datetime | None
    set_pin: str | None
    era: Era | None
    identity: str | None
    listed_at: datetime | None
    failure: str | None
    timeout: float | None
    label: str
    """What its results carry."""
    clearance: str
    """The most that may be sent to it."""
    trusted: bool
    """Whether its results count as the user's own words."""


class ServerLookOut(ServerOut, title="ServerLookOut", json_schema_extra=alias("ServerLookOut")):
    tools: dict[Standing, int]
    tokens: int
    vitals: VitalsOut
    confinement: ConfinementOut


class LogsOut(BaseModel, title="LogsOut"):
    lines: list[str]


class IndexedOut(BaseModel, title="IndexedOut"):
    server: ServerOut
    tools: int
    changed: bool
    unreadable: list[str]


router = APIRouter(prefix="/servers", tags=["servers"])


@router.get("", name="list_servers", responses=documented())
async def list_servers(gateway: Gateway, caller: Caller) -> list[ServerLookOut]:
    return [_look(look) for look in await gateway.list_servers(caller)]


@router.post(
    "", name="add_server", status_code=201, response_model=ServerOut, responses=documented(409)
)
async def add_server(gateway: Gateway, asked: Asked, body: ServerIn) -> Response:
    """It is not started before somebody approves its launch."""

    async def action() -> Answer:
        wish = ServerWish(name=body.name, launch=from_json(body.launch), timeout=body.timeout)
        server = await gateway.add_server(asked.caller, wish)
        return Answer(server_out(server).model_dump(mode="json"))

    return await asked.once("servers.add", body, action, status=201)


@router.get("/{name}", name="show_server", responses=documented(404))
async def show_server(gateway: Gateway, caller: Caller, name: ServerName) -> ServerLookOut:
    return _look(await gateway.show_server(caller, name))


@router.delete("/{name}", name="remove_server", status_code=204, responses=documented(404, 409))
async def remove_server(gateway: Gateway, caller: Caller, name: ServerName) -> None:
    """One that was added here; one that a file describes is removed there."""
    await gateway.remove_server(caller, name)


@router.post("/{name}/enable", name="enable_server", responses=documented(404))
async def enable_server(gateway: Gateway, caller: Caller, name: ServerName) -> ServerOut:
    return server_out(await gateway.switch_server(caller, name, enabled=True))


@router.post("/{name}/disable", name="disable_server", responses=documented(404))
async def disable_server(gateway: Gateway, caller: Caller, name: ServerName) -> ServerOut:
    """Its tools are not found and its process is ended; what was approved stays approved."""
    return server_out(await gateway.switch_server(caller, name, enabled=False))


@router.post("/{name}/restart", name="restart_server", responses=documented(404))
async def restart_server(gateway: Gateway, caller: Caller, name: ServerName) -> IndexedOut:
    """End it, start it anew, and ask it what it offers."""
    indexed = await gateway.restart_server(caller, name)
    return IndexedOut(
        server=server_out(indexed.server),
        tools=indexed.counted.there,
        changed=indexed.changed,
        unreadable=[f"{each.name}: {each.reason}" for each in indexed.unreadable],
    )


@router.get("/{name}/logs", name="show_logs", responses=documented(404))
async def show_logs(gateway: Gateway, caller: Caller, name: ServerName) -> LogsOut:
    """What its process last wrote for people, without secrets; for whoever approves servers."""
    look = await gateway.show_server(caller, name)
    return LogsOut(lines=[*look.vitals.last_words])


@router.post("/{name}/approve-launch", name="approve_launch", responses=documented(404, 409))
async def approve_launch(
    gateway: Gateway, caller: Caller, name: ServerName, body: LaunchApproval
) -> ServerOut:
    """Let it be started, exactly as it is described now."""
    made = await gateway.approve_launch(caller, name, body.launch_pin, unboxed=body.unboxed)
    return server_out(made)


@router.get("/{name}/review", name="review_server", responses=documented(404))
async def review_server(gateway: Gateway, caller: Caller, name: ServerName) -> ReviewOut:
    """What it offers, which effects are proposed and why, and what changed since."""
    [review] = await gateway.review_servers(caller, name)
    return review_out(review)


@router.post("/{name}/accept", name="accept_tools", responses=documented(404, 409))
async def accept_tools(
    gateway: Gateway, caller: Caller, name: ServerName, body: Acceptance
) -> ServerOut:
    """Let its tools be found and called, exactly as they are now."""
    effects = body.proposed if body.effects is None else body.effects
    return server_out(await gateway.accept_tools(caller, name, body.pin, effects))


def server_out(server: Server) -> ServerOut:
    identity = server.identity
    return ServerOut(
        name=server.name,
        origin=server.origin,
        launch=wire_object(to_json(server.launch)),
        command=shown(server.launch),
        launch_pin=server.launch_pin,
        enabled=server.enabled,
        gone=server.gone_at is not None,
        launch_approved=server.approved_launch_pin == server.launch_pin,
        approved=server.approved,
        approved_by=server.approved_by,
        approved_at=server.approved_at,
        set_pin=server.set_pin,
        era=server.era,
        identity=None if identity is None else f"{identity.name} {identity.version}",
        listed_at=server.listed_at,
        failure=server.failure,
        timeout=server.timeout,
        **labels_out(server).model_dump(),
    )


def _look(look: ServerLook) -> ServerLookOut:
    vitals = look.vitals
    return ServerLookOut(
        **server_out(look.server).model_dump(),
        tools=dict(look.tools),
        tokens=look.tokens,
        confinement=confinement_out(look.held),
        vitals=VitalsOut(
            phase=vitals.phase,
            process=vitals.process,
            since=vitals.since,
            until=vitals.until,
            starts=vitals.starts,
            calls_now=vitals.calls_now,
            lacking=vitals.lacking,
        ),
    )
