"""What an operator looks at before approving a server, as it goes over the wire."""

from collections.abc import Sequence

from pydantic import BaseModel

from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.server_approval import Change
from portico.gateway.server_approval import ServerReview, ToolReview
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.server_profiles import ConfinementOut, confinement_out
from portico.kernel.effect import Effect


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
    standing: Standing
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
        standing=review.standing,
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
