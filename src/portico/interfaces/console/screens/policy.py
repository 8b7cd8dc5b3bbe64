"""Policy rules: list, add, remove, and why something is decided so."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.guard.core.principals import Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context
from portico.interfaces.console.screens.approval_view import Why, why
from portico.interfaces.console.screens.settings_form import (
    levels,
    maybe_label,
    tabs,
    typed,
    words_in,
)
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import next_cursor, text_position
from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal

_DECISIONS: Final = {
    Ruling.ALLOW: ("allows", "ok"),
    Ruling.ASK: ("asks", "warn"),
    Ruling.DENY: ("denies", "bad"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    name: str
    decision: str
    tone: str
    tools: tuple[str, ...]
    but: tuple[str, ...]
    who: tuple[str, ...]
    effects: tuple[str, ...]
    notes: tuple[str, ...]
    """What else it says."""
    source: str
    made_by: str | None
    made_at: datetime | None
    ends_at: datetime | None
    over: bool
    approval: str | None
    may_remove: bool


def rule_line(rule: Rule, caller: Principal, now: datetime) -> RuleLine:
    decision, tone = _DECISIONS[rule.ruling]
    ours = rule.source is RuleSource.DATABASE
    effects = sorted(rule.effects, key=lambda effect: effect.rank)
    return RuleLine(
        name=rule.name,
        decision=decision,
        tone=tone,
        tools=rule.tools,
        but=rule.but,
        who=rule.who,
        effects=tuple(str(effect).replace("_", " ") for effect in effects),
        notes=tuple(_notes(rule)),
        source="here" if ours else "portico.toml",
        made_by=rule.made_by,
        made_at=rule.made_at,
        ends_at=rule.expires_at,
        over=not rule.in_force(now),
        approval=None if rule.approval is None else str(rule.approval),
        may_remove=ours and caller.may(Scope.POLICY_WRITE),
    )


def _notes(rule: Rule) -> Iterator[str]:
    if rule.reads:
        yield "reads too"
    if rule.tainted:
        upto = "" if rule.max_label == PUBLIC else f", up to {rule.max_label}"
        yield f"also after strangers' words{upto}"
    if rule.context is not None:
        yield "in one task only"


_MOST: Final = 50
_SAID: Final = {
    "added": "The rule is in force.",
    "removed": "The rule is gone.",
}
_FIELDS: Final = (
    "decision",
    "name",
    "tools",
    "except",
    "who",
    "days",
    "reads",
    "tainted",
    "upto",
    "upto_compartments",
)
_DECISIONS_TO_CHOOSE: Final = {
    Ruling.ASK: "ask somebody first",
    Ruling.ALLOW: "allow without asking",
    Ruling.DENY: "deny",
}


async def show(request: Request) -> Response:
    return await _drawn(request, page_context(request))


async def add(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    try:
        rule, days = _rule(form), form.whole("days", least=1, most=3650)
        lifetime = None if days is None else timedelta(days=days)

        async def make() -> StoredResponse:
            made = await desk.services.gateway.policy.add_rule(desk.caller, rule, lifetime)
            return StoredResponse({"name": made.name})

        asked: dict[str, JsonValue] = {name: [*sent] for name, sent in form.fields.items()}
        await desk.services.use.do_once(
            desk.caller, WriteRequest("web.policy.add", asked, form.once), make
        )
    except PorticoError as error:
        return await _drawn(request, desk, problem=error, sent=form)
    return done("/settings/policy", "added")


async def remove(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    try:
        await desk.services.gateway.policy.remove_rule(desk.caller, form.text("name", most=100))
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return done("/settings/policy", "removed")


def _rule(form: Form) -> Rule:
    """Raises `InvalidForm`."""
    effects = form.many("effect", most=10)
    if unknown := [each for each in effects if each not in set(Effect)]:
        raise InvalidForm("effect", f"there is no {unknown[0][:40]!r}")
    return Rule(
        name=form.maybe("name", most=100) or "",
        ruling=Ruling(form.one_of("decision", tuple(Ruling))),
        tools=words_in(form, "tools"),
        but=words_in(form, "except"),
        who=_whom(form),
        effects=frozenset(map(Effect, effects)),
        reads=form.ticked("reads"),
        tainted=form.ticked("tainted"),
        max_label=maybe_label(form, "upto") or PUBLIC,
    )


def _whom(form: Form) -> tuple[str, ...]:
    """By commas or lines: a name may hold a blank."""
    text = form.maybe("who", most=20_000) or ""
    return tuple(each.strip() for each in text.replace("\n", ",").split(",") if each.strip())


async def _explained(desk: PageContext, request: Request) -> tuple[Why | None, PorticoError | None]:
    who, tool = (request.query_params.get(each, "").strip()[:300] for each in ("who", "tool"))
    if not (who and tool):
        return None, None
    try:
        return why(await desk.services.gateway.policy.explain(desk.caller, who, tool)), None
    except PorticoError as error:
        return None, error


async def _drawn(
    request: Request,
    desk: PageContext,
    *,
    problem: PorticoError | None = None,
    sent: Form | None = None,
) -> Response:
    caller = desk.caller
    start = text_position(request.query_params.get("after")) or ""
    found = [
        rule for rule in await desk.services.gateway.policy.list_rules(caller) if rule.name > start
    ][:_MOST]
    cursor = next_cursor(found, _MOST, found[-1].name if found else "")
    explained, unexplained = await _explained(desk, request)
    values = {
        "tabs": tabs(caller),
        "rules": [rule_line(each, caller, desk.now) for each in found],
        "older": None if cursor is None else f"/settings/policy?after={cursor}",
        "decisions": _DECISIONS_TO_CHOOSE,
        "effects": EFFECT_WORDS,
        "levels": levels(caller),
        "why": explained,
        "unexplained": unexplained,
        "asked_who": request.query_params.get("who", "")[:300],
        "asked_tool": request.query_params.get("tool", "")[:300],
        "problem": problem,
        "typed": typed(sent, *_FIELDS),
        "ticked": set() if sent is None else {*sent.fields.get("effect", ())},
        "making": sent is not None,
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "settings/policy.html", values, title="Policy", status=status)


routes: Final = [
    Route("/settings/policy", show, methods=["GET"]),
    Route("/settings/policy", add, methods=["POST"]),
    Route("/settings/policy/remove", remove, methods=["POST"]),
]
