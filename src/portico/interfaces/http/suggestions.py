"""Suggestions over REST: say what you want, get a plan; and say what it was worth."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, JsonValue, StringConstraints
from starlette.responses import Response

from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.words import Body, RunOrSuggestionText
from portico.interfaces.http.workflow_out import told
from portico.learning.core.suggest.mode import Mode
from portico.learning.core.suggest.threshold import Outcome
from portico.learning.suggest.give_feedback import about
from portico.workflows.core.plan_learning import LONGEST_INTENT

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
