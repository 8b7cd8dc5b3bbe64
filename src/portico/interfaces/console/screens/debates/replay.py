"""Decide a debate anew by other rules, beside what was decided: nobody is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.debate.core.conduct import brief, percent, verdict_words
from portico.debate.core.debates import DebateStatus, Decision, Replayed, ReplayWish
from portico.debate.core.questions import Preset
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.forms import BadForm
from portico.interfaces.console.page import part, wants_part
from portico.interfaces.console.screens.debates.look import debate_at, drawn
from portico.interfaces.console.screens.debates.wishes import share
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError

_ROUNDS: Final = {"1": 1, "2": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one way of deciding made of it."""

    answer: str
    decided: bool
    sure: str
    value: float
    told: str
    options: tuple[tuple[str, float, str], ...]
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    was: Side | None
    now: Side
    same: bool
    notes: tuple[str, ...]


async def show(request: Request) -> Response:
    desk, which = desk_of(request), debate_at(request)
    asked = _asked(request)
    found: Beside | None = None
    problem: PorticoError | None = None
    try:
        wish = _wish(request)
        found = beside(await desk.house.debates.replay_debate(desk.caller, which, wish))
    except PorticoError as error:
        problem = error
    if not wants_part(request):
        return await drawn(request, desk, which, problem, {"replayed": found, "asked": asked})
    status = 200 if problem is None else status_of(problem)
    values = {"replayed": found, "problem": problem, "asked": asked}
    return part(request, "debates/_replayed.html", values, status=status)


def beside(replayed: Replayed) -> Beside:
    was = replayed.was
    return Beside(
        was=None if was is None else _side(was, replayed.calls_made, replayed.tokens_spent),
        now=_side(replayed.now, replayed.calls, replayed.tokens),
        same=was is not None and was.answer == replayed.now.answer,
        notes=replayed.notes[:12],
    )


def _side(decision: Decision, calls: int, tokens: int) -> Side:
    return Side(
        answer="No decision" if decision.answer is None else brief(decision.answer),
        decided=decision.answer is not None,
        sure=percent(decision.probability),
        value=decision.probability,
        told=verdict_words(decision, DebateStatus.RUNNING),
        options=tuple(
            (brief(each.shown), each.probability, percent(each.probability))
            for each in decision.options[:6]
        ),
        calls=calls,
        tokens=tokens,
    )


def _wish(request: Request) -> ReplayWish:
    """Raises `BadForm`."""
    asked = request.query_params
    preset, rounds = asked.get("preset", ""), asked.get("rounds", "")
    if preset and preset not in {str(each) for each in Preset}:
        raise BadForm("preset", "must be one of what is offered")
    return ReplayWish(
        preset=Preset(preset) if preset else None,
        thoroughness=share(asked.get("thoroughness") or None, "thoroughness"),
        without=tuple(asked.getlist("without")[:26]),
        rounds=_ROUNDS.get(rounds),
    )


def _asked(request: Request) -> Mapping[str, Any]:
    asked = request.query_params
    return {
        "preset": asked.get("preset", ""),
        "thoroughness": asked.get("thoroughness", ""),
        "without": asked.getlist("without"),
        "rounds": asked.get("rounds", ""),
    }


routes: Final = [Route("/debates/{debate}/replay", show, methods=["GET"])]
