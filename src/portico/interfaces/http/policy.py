"""Policy over REST: the rules of a space, and why something is decided so."""

from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from portico.engine.core.idempotency import StoredResponse
from portico.guard.core.access_request import Allowed, Decision, Denied, NeedsApproval
from portico.guard.core.policy import Explanation
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    RULE_NAME,
    Body,
    LabelText,
    OneLine,
    Page,
    Switch,
    ToolList,
)
from portico.interfaces.http.use_cases import Gateway
from portico.kernel.effect import Effect
from portico.kernel.label import Label

_WORDS: Final[dict[type, "DecisionWord"]] = {
    Allowed: "allowed",
    NeedsApproval: "needs_approval",
    Denied: "denied",
}

DecisionWord = Literal["allowed", "needs_approval", "denied"]
RuleName = Annotated[str, StringConstraints(max_length=100, pattern=RULE_NAME)]
RuleNamePath = Annotated[str, Path(max_length=100, pattern=RULE_NAME)]
Whom = Annotated[list[Annotated[OneLine, Field(max_length=200)]], Field(max_length=200)]
Days = Annotated[int, Field(ge=1, le=3650, strict=True)]


class RuleIn(Body, title="RuleIn"):
    name: RuleName | None = None
    """Made up if left away."""
    decision: Ruling
    tools: ToolList
    """Which tools it is about, with wildcards: `github.*`."""
    but: ToolList = Field(default=[], alias="except")
    """Which of these it is not about."""
    who: Whom = Field(default=[])
    """Names with wildcards, `role:member`, `kind:agent`, `key:ID`; everybody if left away."""
    effects: Annotated[list[Effect], Field(max_length=10)] = Field(default=[])
    """And what is worse if it denies or asks, what is milder if it allows; every effect if left
    away."""
    reads: Switch = False
    """`ask` only: for calls that only read, too."""
    tainted: Switch = False
    """`allow` only: also in a task that has read what strangers wrote, or more than the server is
    cleared for."""
    upto: LabelText = "public"
    """With `tainted`: the most that such a task can have read; no more than you may."""
    days: Days | None = None
    """How long it is in force; until it is removed if left away."""


class RuleOut(BaseModel, title="RuleOut"):
    name: str
    decision: Ruling
    tools: list[str]
    but: list[str] = Field(alias="except")
    who: list[str]
    effects: list[Effect]
    reads: bool
    tainted: bool
    upto: str
    """The most that a tainted task can have read."""
    context: str | None
    """The task that it is only for."""
    expires_at: datetime | None
    source: RuleSource
    made_by: str | None
    made_at: datetime | None
    approval: str | None
    """The request for approval whose answer made it."""


class OtherwiseOut(BaseModel, title="OtherwiseOut"):
    when: str
    decision: DecisionWord
    rule: str
    reason: str


class TaskOut(BaseModel, title="TaskOut"):
    """What has been read in the task that the decision is for."""

    id: str
    label: str
    untrusted: bool


class ExplanationOut(BaseModel, title="ExplanationOut"):
    principal: str
    key: str | None
    """The key that it is told of. Null: of none, and of a task that no key is at; each key has a
    task and may have a list of its own, for which ask with `key:ID`."""
    tool: str
    effect: Effect
    decision: DecisionWord
    rule: str
    """What decided: a rule's name, or a default's, as `default:reads`."""
    reason: str
    matched: list[RuleOut]
    """Every rule that is about this, whether it decided or not."""
    context: TaskOut
    otherwise: list[OtherwiseOut]
    """What would change the decision."""


router = APIRouter(prefix="/policy", tags=["policy"])


@router.get("/rules", name="list_rules", responses=documented())
async def list_rules(gateway: Gateway, caller: Caller) -> Page[RuleOut]:
    """Every rule in force: of the file, for all spaces, and of this space."""
    found = await gateway.policy.list_rules(caller)
    return Page(data=[_rule(rule) for rule in found], next=None)


@router.post(
    "/rules", name="add_rule", status_code=201, response_model=RuleOut, responses=documented(409)
)
async def add_rule(gateway: Gateway, asked: IdempotentCreate, body: RuleIn) -> Response:
    """In force at once, in every process within two seconds at the latest."""
    rule = Rule(
        name=body.name or "",
        ruling=body.decision,
        tools=tuple(body.tools),
        but=tuple(body.but),
        who=tuple(body.who),
        effects=frozenset(body.effects),
        reads=body.reads,
        tainted=body.tainted,
        max_label=Label.parse(body.upto),
    )
    lifetime = None if body.days is None else timedelta(days=body.days)

    async def action() -> StoredResponse:
        made = await gateway.policy.add_rule(asked.caller, rule, lifetime)
        return StoredResponse(_rule(made).model_dump(mode="json", by_alias=True))

    return await asked.once("policy.add_rule", body, action, status=201)


@router.delete("/rules/{name}", name="remove_rule", status_code=204, responses=documented(404, 409))
async def remove_rule(gateway: Gateway, caller: Caller, name: RuleNamePath) -> None:
    """Of this space; what stands in the file is changed there."""
    await gateway.policy.remove_rule(caller, name)


@router.get("/explain", name="explain", responses=documented(404))
async def explain(
    gateway: Gateway,
    caller: Caller,
    principal: Annotated[str, Query(min_length=1, max_length=200)],
    tool: Annotated[str, Query(min_length=1, max_length=300)],
) -> ExplanationOut:
    """What would be decided, why, and what would change it. `principal`: a name, an id, or
    `key:ID`, with which what that key can do is told exactly."""
    return _explained(await gateway.policy.explain(caller, principal, tool))


def _rule(rule: Rule) -> RuleOut:
    return RuleOut.model_validate(
        {
            "name": rule.name,
            "decision": rule.ruling,
            "tools": [*rule.tools],
            "except": [*rule.but],
            "who": [*rule.who],
            "effects": sorted(rule.effects, key=lambda effect: effect.rank),
            "reads": rule.reads,
            "tainted": rule.tainted,
            "upto": str(rule.max_label),
            "context": None if rule.context is None else str(rule.context),
            "expires_at": rule.expires_at,
            "source": rule.source,
            "made_by": rule.made_by,
            "made_at": rule.made_at,
            "approval": None if rule.approval is None else str(rule.approval),
        }
    )


def _explained(found: Explanation) -> ExplanationOut:
    act, context, decision = found.access_request, found.context, found.decision
    return ExplanationOut(
        principal=act.caller.name,
        key=act.caller.key,
        tool=act.target.tool,
        effect=act.target.effect,
        decision=_word(decision),
        rule=decision.rule,
        reason=decision.reason,
        matched=[_rule(rule) for rule in found.matched],
        context=TaskOut(id=str(context.id), label=str(context.label), untrusted=context.untrusted),
        otherwise=[
            OtherwiseOut(
                when=each.when,
                decision=_word(each.decision),
                rule=each.decision.rule,
                reason=each.decision.reason,
            )
            for each in found.otherwise
        ],
    )


def _word(decision: Decision) -> DecisionWord:
    return _WORDS[type(decision)]
