"""Proposed edges over REST: where arguments that a plan leaves out could come from."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, JsonValue, StringConstraints

from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.words import Body, wire_object
from portico.learning.core.dataflow.propose import Edge
from portico.learning.dataflow.propose_edges import Proposed
from portico.workflows.core.plan_documents import plan_document

AcceptedEdge = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class ProposeIn(Body, title="ProposeIn"):
    plan: dict[str, JsonValue]
    accept: Annotated[list[AcceptedEdge], Field(max_length=2_000)] = Field(default_factory=list)
    """Edges that are meant, `read.json.path -> write.path`, or `all-sure` for all that are sure."""


class EdgeOut(
    BaseModel, title="EdgeOut", json_schema_extra=alias("portico__faces__http__proposals__EdgeOut")
):
    edge: str
    """As it is accepted."""
    from_step: str
    path: str
    """JMESPath into what that step gives."""
    to_step: str
    parameter: str
    confidence: float
    reason: str
    ambiguous: bool
    """Something else would do nearly as well: nobody but you can say which is meant."""
    sure: bool


class MissingOut(BaseModel, title="MissingOut"):
    step: str
    parameter: str
    could_give: list[str]
    """Tools that are not in the plan and might, the likeliest first."""


class ProposedOut(BaseModel, title="ProposedOut"):
    edges: list[EdgeOut]
    missing: list[MissingOut]
    """What has to be said, and no step of the plan seems to give."""
    left_out: list[str] = Field(default_factory=list)
    """Steps of a long plan for which nothing was sought."""
    plan: dict[str, JsonValue] | None
    """With what was accepted; null if nothing was."""


router = APIRouter(prefix="/workflows", tags=["workflows"])


@router.post("/propose", name="propose_edges", responses=documented())
async def propose_edges(gateway: Gateway, caller: Caller, body: ProposeIn) -> ProposedOut:
    """Where arguments that a plan leaves out could come from. Nothing is run, and nothing is taken
    as meant that you do not accept."""
    proposed = await gateway.propose_edges(caller, body.plan, accept=body.accept)
    return _proposed(proposed, written=bool(body.accept))


def _edge(edge: Edge, *, sure: bool) -> EdgeOut:
    return EdgeOut(
        edge=str(edge),
        from_step=edge.from_step,
        path=edge.path,
        to_step=edge.to_step,
        parameter=edge.parameter,
        confidence=round(edge.confidence, 3),
        reason=edge.reason,
        ambiguous=edge.ambiguous,
        sure=sure,
    )


def _proposed(proposed: Proposed, *, written: bool) -> ProposedOut:
    return ProposedOut(
        edges=[_edge(edge, sure=proposed.is_sure(edge)) for edge in proposed.edges],
        missing=[
            MissingOut(step=it.step, parameter=it.parameter, could_give=[*it.could_give])
            for it in proposed.missing
        ],
        left_out=[*proposed.left_out],
        plan=wire_object(plan_document(proposed.plan)) if written else None,
    )
