"""Suggestions over REST: a plan for a task, proposed edges, feedback."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, JsonValue, StringConstraints
from starlette.responses import Response

from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import Body, RunOrSuggestionText, wire_object
from portico.interfaces.http.use_cases import Gateway
from portico.interfaces.http.workflows import told
from portico.learning.core.dataflow import Edge
from portico.learning.core.intents import Outcome
from portico.learning.core.suggestions import Mode
from portico.learning.dataflow import Proposed
from portico.learning.suggestions import about
from portico.workflows.core.plan_documents import plan_document
from portico.workflows.core.plan_learning import LONGEST_INTENT

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


proposals_router = APIRouter(prefix="/workflows", tags=["workflows"])


@proposals_router.post("/propose", name="propose_edges", responses=documented())
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


Intent = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_INTENT)]


class SuggestIn(Body, title="SuggestIn"):
    intent: Intent
    """What you want, in your own words, with the values that it needs."""


class SuggestedStepOut(BaseModel, title="SuggestedStepOut"):
    id: str
    tool: str
    effect: str
    confidence: float
    why: str
    arguments: dict[str, dict[str, str]]
    """By name: `from` (`intent`, `step` or `constant`), and `what` it is there."""


class PathOut(
    BaseModel,
    title="PathOut",
    json_schema_extra=alias("portico__faces__http__suggestions__PathOut"),
):
    hops: list[dict[str, JsonValue]]
    """Each `from` a tool `to` a tool, with its `confidence`."""
    direct: bool
    words: str


class AlternativeOut(BaseModel, title="AlternativeOut"):
    step: str
    tool: str
    """Of the same community as the one that is suggested."""
    why: str


class MissingInputOut(BaseModel, title="MissingInputOut"):
    step: str
    parameter: str
    input: str
    """The name under which it is given when the plan is run."""
    could_give: list[str]


class SuggestionOut(BaseModel, title="SuggestionOut"):
    suggestion: str | None
    """To run it by: `POST /workflows` with `suggestion`, within the hour."""
    mode: Mode
    confidence: float
    """How often suggestions that seemed as good turned out to be accepted."""
    threshold: float
    """From this on its first reads are made ahead."""
    rationale: str
    plan: dict[str, JsonValue] | None
    steps: list[SuggestedStepOut]
    paths: list[PathOut]
    alternatives: list[AlternativeOut]
    missing: list[MissingInputOut]
    staged: list[str]
    """Steps that may change something: never run before you run the plan."""
    ran_ahead: list[str]
    """Steps that are being read already; what they give is told once you run the plan."""
    expires_at: str | None


class FeedbackIn(Body, title="FeedbackIn"):
    run: RunOrSuggestionText
    """The run (`run_…`), or the suggestion that it comes from (`sug_…`)."""
    outcome: Literal["accepted", "rejected", "modified"]


class FeedbackOut(BaseModel, title="FeedbackOut"):
    suggestion: str
    run: str | None
    outcome: Outcome


router = APIRouter(tags=["suggestions"])


@router.post(
    "/suggestions", name="suggest_workflow", response_model=SuggestionOut, responses=documented()
)
async def suggest_workflow(gateway: Gateway, caller: Caller, body: SuggestIn) -> Response:
    """A plan for what you want. Nothing is run for it but reads that you may make, and those only
    if it is sure enough."""
    suggestion = await gateway.suggest.suggest_workflow(caller, body.intent)
    return told(suggestion.as_json(), 200)


@router.post("/feedback", name="give_feedback", responses=documented(404))
async def give_feedback(gateway: Gateway, caller: Caller, body: FeedbackIn) -> FeedbackOut:
    """What a suggestion was worth. To run it is to accept it, unless you say otherwise here."""
    said = await gateway.suggest.give_feedback(caller, about(body.run), Outcome(body.outcome))
    run = None if said.run is None else str(said.run)
    return FeedbackOut(
        suggestion=str(said.id), run=run, outcome=said.outcome or Outcome(body.outcome)
    )
