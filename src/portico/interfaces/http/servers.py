"""MCP servers over REST: add, review, approve, label, confine."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import Response

from portico.engine.core.idempotency import StoredResponse
from portico.gateway.confinement import ProfileDetails
from portico.gateway.core.calls import Phase
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.confinement import MOST, profile_from
from portico.gateway.core.launch import from_json, shown, to_json
from portico.gateway.core.server_approval import Change, Proposed
from portico.gateway.core.servers import ConfinementMode, ProtocolRevision, Server, let_out
from portico.gateway.server_approval import ServerReview, ToolReview
from portico.gateway.servers import ConfinementStatus, Labelling, ServerDetails, ServerRegistration
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import Body, LabelText, ServerName, Switch, wire_object
from portico.interfaces.http.use_cases import Gateway
from portico.kernel.effect import Effect
from portico.kernel.label import Label
from portico.sandbox.core.profile import Network, Profile

Names = Annotated[tuple[str, ...], Field(max_length=MOST)]


class ProfileIn(Body, title="ProfileIn"):
    read: Names = ()
    """Folders and files by their whole paths, beside its own program."""
    write: Names = ()
    """Folders that it may also change."""
    network: Network = Network.NONE
    """`public`: any public address over HTTP and HTTPS. `none`: nothing but `reach`."""
    reach: Names = ()
    """Places as host:port, which may be this machine or its neighbours."""


class GrantsOut(BaseModel, title="GrantsOut"):
    read: list[str]
    write: list[str]
    network: Network
    reach: list[str]


class ConfinementOut(BaseModel, title="ConfinementOut"):
    hold: ConfinementMode
    """`boxed`; `unboxed`, with all rights of Portico itself; `refused`, because there is no box
    here; `elsewhere`, because it is not started here; or `ours`."""
    reaches: str
    """In one line, what it may reach."""
    stated: bool
    """Whether somebody has said so, or it follows from how it is started."""
    profile: GrantsOut | None


class ConsentOut(BaseModel, title="ConsentOut"):
    """To run without a box, where there is none."""

    by: str
    at: datetime
    holds: bool
    """Whether it is for the launch as it is now."""


class ProfileOut(ConfinementOut, title="ProfileOut"):
    name: str
    command: str
    default: GrantsOut
    """What it may reach if nobody says otherwise."""
    proposed: GrantsOut | None
    """Tighter, and known to suffice."""
    consent: ConsentOut | None
    let_out: str
    """What the setting `box.unboxed` has to name to run exactly this without a box."""


profiles_router = APIRouter(prefix="/servers", tags=["servers"])


@profiles_router.get("/{name}/profile", name="show_profile", responses=documented(404, 409))
async def show_profile(gateway: Gateway, caller: Caller, name: ServerName) -> ProfileOut:
    """What it may reach, what it could do with, and whether it is boxed at all."""
    return _out(await gateway.show_profile(caller, name))


@profiles_router.put("/{name}/profile", name="set_profile", responses=documented(404, 409))
async def set_profile(
    gateway: Gateway, caller: Caller, name: ServerName, body: ProfileIn
) -> ProfileOut:
    """This and nothing else, beside its own program and home. Its process is ended; to let it
    reach more than before wants `servers:approve`."""
    profile = profile_from(body.model_dump(mode="json"))
    return _out(await gateway.set_profile(caller, name, profile))


@profiles_router.delete("/{name}/profile", name="forget_profile", responses=documented(404, 409))
async def forget_profile(gateway: Gateway, caller: Caller, name: ServerName) -> ProfileOut:
    """Back to what follows from how it is started."""
    return _out(await gateway.set_profile(caller, name, None))


def confinement_out(held: ConfinementStatus) -> ConfinementOut:
    confinement = held.confinement
    profile = confinement.profile
    return ConfinementOut(
        hold=confinement.mode,
        reaches=held.said,
        stated=confinement.stated,
        profile=None if profile is None else _grants(profile),
    )


def _out(look: ProfileDetails) -> ProfileOut:
    server, consent = look.server, look.server.unsandboxed
    return ProfileOut(
        **confinement_out(look.held).model_dump(),
        name=server.name,
        command=shown(server.launch),
        default=_grants(look.default),
        proposed=None if look.proposed is None else _grants(look.proposed),
        let_out=let_out(server.name, server.launch_pin),
        consent=None
        if consent is None
        else ConsentOut(
            by=consent.by, at=consent.at, holds=consent.launch_pin == server.launch_pin
        ),
    )


def _grants(profile: Profile) -> GrantsOut:
    return GrantsOut(
        read=[*profile.read],
        write=[*profile.write],
        network=profile.network,
        reach=[str(place) for place in profile.reach],
    )


class ChangeOut(
    BaseModel,
    title="ChangeOut",
    json_schema_extra=alias("portico__faces__http__server_reviews__ChangeOut"),
):
    path: str
    before: str | None
    after: str | None


class ToolReviewOut(BaseModel, title="ToolReviewOut"):
    tool: str
    standing: ToolStatus
    effect: Effect
    """What was accepted; `unknown` if nothing was."""
    proposed: Effect
    why: str
    refused: str | None
    tokens: int
    description: str
    changes: list[ChangeOut]
    """Since it was accepted."""


class ReviewOut(BaseModel, title="ReviewOut"):
    name: str
    origin: str
    command: str
    """Exactly what would be started, or asked."""
    confinement: ConfinementOut
    """What it may reach once it is started."""
    launch_changes: list[ChangeOut]
    """Since it was allowed to be started."""
    launch_pin: str
    launch_approved: bool
    loaders: list[str]
    """Variables that decide which code runs, and whose values no pin holds."""
    pin: str
    """Of all that is looked at here beside the launch; to be named when it is accepted."""
    listed: bool
    """Whether it has been started and asked yet."""
    tools: list[ToolReviewOut]
    said: list[ChangeOut]
    """What else it says, as far as that has changed since it was accepted."""


def review_out(review: ServerReview) -> ReviewOut:
    server = review.server
    return ReviewOut(
        name=server.name,
        origin=server.origin,
        command=review.command,
        confinement=confinement_out(review.held),
        launch_changes=_changes(review.launch_changes),
        launch_pin=server.launch_pin,
        launch_approved=server.approved_launch_pin == server.launch_pin,
        loaders=[*review.loaders],
        pin=review.pin,
        listed=server.set_pin is not None,
        tools=[_tool(each) for each in review.tools],
        said=_changes(review.said),
    )


def _tool(review: ToolReview) -> ToolReviewOut:
    tool = review.tool
    return ToolReviewOut(
        tool=str(tool.ref),
        standing=review.status,
        effect=tool.effect,
        proposed=review.proposal.effect,
        why=review.proposal.why,
        refused=tool.refused,
        tokens=tool.tokens,
        description=tool.definition.description,
        changes=_changes(review.changes),
    )


def _changes(changes: Sequence[Change]) -> list[ChangeOut]:
    return [ChangeOut(path=it.path, before=it.before, after=it.after) for it in changes]


class LabellingIn(Body, title="LabellingIn"):
    """What is left away stays as it is."""

    label: LabelText | None = None
    """What its results carry; whoever is not cleared for it does not see the server."""
    clearance: LabelText | None = None
    """The most that may be sent to it."""
    trusted: Switch | None = None
    """Whether its results count as your own words, and not as a stranger's."""


class LabelsOut(BaseModel, title="LabelsOut"):
    label: str
    clearance: str
    trusted: bool


labels_router = APIRouter(prefix="/servers", tags=["servers"])


@labels_router.put("/{name}/label", name="label_server", responses=documented(404))
async def label_server(
    gateway: Gateway, caller: Caller, name: ServerName, body: LabellingIn
) -> LabelsOut:
    """By somebody who is cleared for what it was and for what it becomes."""
    wish = Labelling(
        label=None if body.label is None else Label.parse(body.label),
        clearance=None if body.clearance is None else Label.parse(body.clearance),
        trusted=body.trusted,
    )
    return labels_out(await gateway.label_server(caller, name, wish))


def labels_out(server: Server) -> LabelsOut:
    return LabelsOut(
        label=str(server.label), clearance=str(server.clearance), trusted=server.trusted
    )


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
    era: ProtocolRevision | None
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
    tools: dict[ToolStatus, int]
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
async def add_server(gateway: Gateway, asked: IdempotentCreate, body: ServerIn) -> Response:
    """It is not started before somebody approves its launch."""

    async def action() -> StoredResponse:
        wish = ServerRegistration(
            name=body.name, launch=from_json(body.launch), timeout=body.timeout
        )
        server = await gateway.add_server(asked.caller, wish)
        return StoredResponse(server_out(server).model_dump(mode="json"))

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
    return LogsOut(lines=[*look.health.last_words])


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
        era=server.protocol_revision,
        identity=None if identity is None else f"{identity.name} {identity.version}",
        listed_at=server.listed_at,
        failure=server.failure,
        timeout=server.timeout,
        **labels_out(server).model_dump(),
    )


def _look(look: ServerDetails) -> ServerLookOut:
    vitals = look.health
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
