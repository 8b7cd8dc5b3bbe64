"""Plans over REST before they are run: what is wrong with one, or what it would do."""

from fastapi import APIRouter
from pydantic import BaseModel, JsonValue

from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body
from portico.kernel.effect import Effect
from portico.workflows import plan_checks as checking
from portico.workflows.core.plan import BadPlan
from portico.workflows.plan_checks import Checked


class CheckIn(Body, title="CheckIn"):
    plan: dict[str, JsonValue]


class FaultOut(BaseModel, title="FaultOut"):
    place: str
    """JSON pointer into the plan."""
    what: str
    fix: str | None


class NeedsOut(BaseModel, title="NeedsOut"):
    rule: str
    reason: str


class CheckedStep(BaseModel, title="CheckedStep"):
    id: str
    tool: str
    effect: Effect
    needs: list[str]
    approval: NeedsOut | None
    """Why somebody would be asked first, as things are now."""


class CheckOut(BaseModel, title="CheckOut"):
    ok: bool
    flaws: list[FaultOut]
    name: str | None
    effect: Effect | None
    """The worst of its steps."""
    order: list[str]
    critical_path: list[str]
    steps: list[CheckedStep]


router = APIRouter(prefix="/workflows", tags=["workflows"])


@router.post("/check", name="check_plan", responses=documented())
async def check_plan(gateway: Gateway, caller: Caller, body: CheckIn) -> CheckOut:
    """What is wrong with a plan, or what it would do. Nothing is run."""
    try:
        return _checked(await gateway.check_plan(caller, body.plan))
    except BadPlan as error:
        return _faulty(error)


def _checked(found: Checked) -> CheckOut:
    return CheckOut(
        ok=True,
        flaws=[],
        name=found.plan.name,
        effect=found.effect,
        order=[*found.order],
        critical_path=[*found.critical_path],
        steps=[_step(step) for step in found.steps],
    )


def _step(step: checking.CheckedStep) -> CheckedStep:
    asked = step.approval
    return CheckedStep(
        id=step.id,
        tool=step.tool,
        effect=step.effect,
        needs=[*step.needs],
        approval=None if asked is None else NeedsOut(rule=asked.rule, reason=asked.reason),
    )


def _faulty(error: BadPlan) -> CheckOut:
    flaws = [FaultOut(place=each.place, what=each.what, fix=each.fix) for each in error.faults]
    return CheckOut(
        ok=False, flaws=flaws, name=None, effect=None, order=[], critical_path=[], steps=[]
    )
