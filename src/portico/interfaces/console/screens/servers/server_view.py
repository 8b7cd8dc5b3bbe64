"""One server: how it is started, what it may reach, and what waits for somebody's yes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.gateway.catalog import ToolLook
from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.launch import shown, to_json
from portico.gateway.core.server_approval import Change
from portico.gateway.core.servers import ADDED, OURS, Hold, Http, Stdio
from portico.gateway.core.surface import one_line
from portico.gateway.server_approval import ServerReview, ToolReview
from portico.gateway.servers import ServerLook
from portico.interfaces.console.screens.tools.effects import Mark, effect_mark, standing_mark
from portico.interfaces.console.screens.tools.view import tool_href
from portico.interfaces.console.server_states import transport_of
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.sandbox.core.profile import Profile

TOOLS: Final = 60
WAITING: Final = 25
"""Tools that wait, on the page of their server; all of them are on a page of their own."""
REVIEW: Final = 40
_RANK: Final = (Standing.CHANGED, Standing.NEW, Standing.PENDING, Standing.REFUSED, Standing.GONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    name: str
    transport: str
    origin: str
    ours: bool
    removable: bool
    enabled: bool
    may_start: bool
    stdio: bool
    http: bool
    command: str
    launch: JsonObject
    launch_pin: str
    reaches: str
    hold: Hold
    stated: bool
    identity: str
    era: str
    approved_by: str | None
    approved_at: datetime | None
    listed_at: datetime | None
    failure: str | None
    label: str
    clearance: str
    trusted: bool
    timeout: float | None
    tokens: int
    said: str
    """What it says of itself, as far as somebody has approved it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLine:
    name: str
    href: str
    line: str
    effect: Mark
    standing: Mark | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTool:
    name: str
    href: str
    standing: Mark
    proposed: Mark
    proposed_value: str
    why: str
    line: str
    changes: Sequence[Change]
    refused: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    command: str
    launch_pin: str
    launch_approved: bool
    launch_changes: Sequence[Change]
    loaders: Sequence[str]
    reaches: str
    refused: bool
    """No box, and nobody has agreed to do without."""
    unboxed: bool
    pin: str
    listed: bool
    waiting: Sequence[WaitingTool]
    said: Sequence[Change]
    reads: int
    writes: int
    others: int
    undecided: int
    """Let in as unknown, though an effect is proposed."""

    @property
    def tools_wait(self) -> bool:
        return self.launch_approved and self.listed and bool(self.usable or self.said)

    @property
    def usable(self) -> int:
        return self.reads + self.writes + self.others


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    read: str
    write: str
    network: str
    reach: str


def server_view(look: ServerLook) -> ServerView:
    server, held = look.server, look.held
    who = server.identity
    return ServerView(
        name=server.name,
        transport=transport_of(server),
        origin=server.origin,
        ours=server.origin == OURS,
        removable=server.origin == ADDED or server.gone_at is not None,
        enabled=server.enabled,
        may_start=server.may_start,
        stdio=isinstance(server.launch, Stdio),
        http=isinstance(server.launch, Http),
        command=shown(server.launch),
        launch=to_json(server.launch),
        launch_pin=server.launch_pin,
        reaches=held.said,
        hold=held.confinement.hold,
        stated=held.confinement.stated,
        identity="" if who is None else f"{who.name} {who.version}",
        era="" if server.era is None else str(server.era),
        approved_by=server.approved_by,
        approved_at=server.approved_at,
        listed_at=server.listed_at,
        failure=server.failure,
        label=str(server.label),
        clearance=str(server.clearance),
        trusted=server.trusted,
        timeout=server.timeout,
        tokens=look.tokens,
        said=server.said,
    )


def tool_lines(looks: Sequence[ToolLook], start: int = 0) -> Sequence[ToolLine]:
    return [
        ToolLine(
            name=look.tool.ref.name,
            href=tool_href(look.tool.ref),
            line=one_line(look.tool.definition),
            effect=effect_mark(look.tool.effect),
            standing=None if look.standing is Standing.LIVE else standing_mark(look.standing),
            tokens=look.tool.tokens,
        )
        for look in looks[start : start + TOOLS]
    ]


def review_view(review: ServerReview) -> Review:
    server, hold = review.server, review.held.confinement.hold
    at_rest = [each for each in review.tools if each.standing is Standing.LIVE]
    waiting = sorted(
        (each for each in review.tools if each.standing not in {Standing.LIVE, Standing.GONE}),
        key=lambda each: (_RANK.index(each.standing), each.tool.ref.name),
    )
    counted = Counter(_kind(each.proposal.effect) for each in waiting if each.tool.refused is None)
    return Review(
        command=review.command,
        launch_pin=server.launch_pin,
        launch_approved=server.approved_launch_pin == server.launch_pin,
        launch_changes=review.launch_changes,
        loaders=review.loaders,
        reaches=review.held.said,
        refused=hold is Hold.REFUSED,
        unboxed=hold is Hold.UNBOXED,
        pin=review.pin,
        listed=server.set_pin is not None,
        waiting=[_waiting(each) for each in waiting],
        said=review.said,
        reads=counted["read"],
        writes=counted["write"],
        others=counted["other"],
        undecided=sum(1 for each in at_rest if _undecided(each)),
    )


def _undecided(each: ToolReview) -> bool:
    known = each.proposal.effect is not Effect.UNKNOWN
    return each.tool.effect is Effect.UNKNOWN and known


def _kind(effect: Effect) -> str:
    if effect.reads_only:
        return "read"
    return "other" if effect.destroys else "write"


def _waiting(review: ToolReview) -> WaitingTool:
    tool, proposed = review.tool, review.proposal
    return WaitingTool(
        name=tool.ref.name,
        href=tool_href(tool.ref),
        standing=standing_mark(review.standing),
        proposed=effect_mark(proposed.effect),
        proposed_value=str(proposed.effect),
        why=proposed.why,
        line=one_line(tool.definition),
        changes=review.changes,
        refused=tool.refused,
    )


def grants(profile: Profile | None) -> Grants:
    its = profile or Profile()
    return Grants(
        read="\n".join(its.read),
        write="\n".join(its.write),
        network=str(its.network),
        reach="\n".join(str(place) for place in its.reach),
    )
