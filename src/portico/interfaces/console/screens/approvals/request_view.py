"""One request as whoever has to answer it sees it: all of it, and what may be said to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote

from portico.guard.core.access_request import Action
from portico.guard.core.approvals import AnswerKind, Approval, Status, check_answerer
from portico.guard.core.policy import TAINT, Danger
from portico.interfaces.console.screens.approvals.arguments import (
    Argument,
    Diff,
    diffs,
    shown_changes,
    table,
)
from portico.interfaces.console.screens.approvals.seen import seen, seen_json, sentence
from portico.interfaces.console.screens.approvals.standing import (
    ANSWERED,
    Badge,
    effect_badge,
    kind_of,
    state_badge,
    uncertain,
)
from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.workflows.core.plan_progress import step_asked

MOST_JSON: Final = 20_000
"""Letters of arguments that can be edited in a page."""
_SHOWN_APART: Final = frozenset({"text", "changes"})
"""Of what would be made less secret: too long for a table, and the very thing to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A call that the same task has made before."""

    tool: str
    effect: str
    outcome: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was answered."""

    told: str
    by: str
    via: str
    at: datetime
    reason: str | None
    rule: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    id: str
    kind: str
    tool: str
    tool_path: str | None
    server: str
    asker: str
    asker_kind: str
    key: str | None
    effect: Badge
    effect_words: str
    state: Badge
    label: Label
    has_read: str | None
    rule: str
    reason: str
    asked_at: datetime
    expires_at: datetime
    run_path: str
    step: str | None
    arguments: Sequence[Argument]
    compared: bool
    """With those of the request that it replaces."""
    diffs: Sequence[Diff]
    lowers: bool
    """Something is to be made less secret."""
    text: str | None
    """All that would be let out."""
    before: Sequence[Earlier]
    waits: bool
    own: bool
    unsure: bool
    refusal: PorticoError | None
    """Why whoever looks cannot answer it."""
    lasting: bool
    """Whether it may be answered for longer than once."""
    grants: Mapping[str, str]
    """By answer, what it lets through from then on."""
    editable: bool
    """Neither what is to be let out, nor what is too long for a form."""
    too_long: bool
    hides: bool
    """Part of the arguments is not shown, and would be lost by editing them."""
    json: str
    given: Given | None
    outcome_by: str | None
    ended_at: datetime | None
    error: str | None
    replaces: str | None
    replaced_by: str | None

    @property
    def may_answer(self) -> bool:
        return self.waits and self.refusal is None

    @property
    def may_resolve(self) -> bool:
        return self.unsure and self.refusal is None


def asked(
    approval: Approval, caller: Principal, now: datetime, replaced: Approval | None = None
) -> Asked:
    """`replaced` is the one that somebody has approved this one in place of."""
    lowered = approval.action is Action.DECLASSIFY
    waits = approval.status_at(now) is Status.WAITING
    waiter, text = approval.waiter, seen_json(approval.arguments)
    run = approval.run if waiter is None else waiter.run
    return Asked(
        id=str(approval.id),
        kind=kind_of(approval),
        tool=seen(approval.tool),
        tool_path=None if lowered else f"/tools/{quote(approval.tool, safe='')}",
        server=seen(approval.server),
        asker=seen(approval.asker.name),
        asker_kind=str(approval.asker.kind),
        key=approval.asker.key,
        effect=effect_badge(approval.effect),
        effect_words=_clause(approval.effect),
        state=state_badge(approval, now),
        label=approval.label,
        has_read=_has_read(approval),
        rule=seen(approval.rule),
        reason=sentence(approval.reason),
        asked_at=approval.asked_at,
        expires_at=approval.expires_at,
        run_path=f"/runs/{run}",
        step=None if waiter is None else seen(step_asked(waiter.topic)),
        arguments=_arguments(approval, replaced, lowered=lowered),
        compared=replaced is not None,
        diffs=_diffs(approval, lowered=lowered),
        lowers=lowered,
        text=_text(approval) if lowered else None,
        before=[_earlier(each) for each in approval.before],
        waits=waits,
        own=approval.asker.id == caller.id,
        unsure=uncertain(approval),
        refusal=_refusal(caller, approval),
        lasting=AnswerKind.ALWAYS in approval.answers and not lowered,
        grants={str(kind): grants_of(approval, kind) for kind in AnswerKind},
        editable=not lowered and len(text) <= MOST_JSON,
        too_long=not lowered and len(text) > MOST_JSON,
        hides=any(mark.why is Danger.HIDDEN for mark in approval.marks),
        json=text,
        given=_given(approval),
        outcome_by=approval.resolved_by,
        ended_at=approval.ended_at,
        error=None if approval.error is None else seen(approval.error),
        replaces=None if approval.replaces is None else str(approval.replaces),
        replaced_by=None if approval.replaced_by is None else str(approval.replaced_by),
    )


def _arguments(
    approval: Approval, replaced: Approval | None, *, lowered: bool
) -> Sequence[Argument]:
    shown: JsonObject = approval.arguments
    if lowered:
        shown = {name: each for name, each in shown.items() if name not in _SHOWN_APART}
    return table(shown, approval.marks, None if replaced is None else replaced.arguments)


def _diffs(approval: Approval, *, lowered: bool) -> Sequence[Diff]:
    if not lowered:
        return diffs(approval.arguments)
    lines = shown_changes(approval.arguments.get("changes"))
    return [Diff("What is blacked out", lines)] if lines else []


def _text(approval: Approval) -> str | None:
    text = approval.arguments.get("text")
    return seen(text) if isinstance(text, str) else None


def _clause(effect: Effect) -> str:
    """`which cannot be undone`"""
    which = "of which" if effect is Effect.UNKNOWN else "which"
    return f"{which} {EFFECT_WORDS[effect]}"


def _earlier(call: JsonObject) -> Earlier:
    try:
        at = datetime.fromisoformat(str(call.get("at")))
    except ValueError:
        at = None
    return Earlier(
        tool=seen(str(call.get("tool"))),
        effect=seen(str(call.get("effect"))).replace("_", " "),
        outcome=seen(str(call.get("outcome") or "under way")),
        at=at,
    )


def _has_read(approval: Approval) -> str | None:
    """What its task had read when it was asked, as far as the request knows."""
    if not approval.tainted:
        return None
    if approval.label == PUBLIC:
        return "Its task has read what strangers wrote."
    maybe = "" if approval.rule == TAINT else "maybe "
    return f"Its task has read {approval.label}, and {maybe}what strangers wrote."


def _refusal(caller: Principal, approval: Approval) -> PorticoError | None:
    try:
        check_answerer(caller, approval)
    except PorticoError as error:
        return error
    return None


def grants_of(approval: Approval, kind: AnswerKind) -> str:
    """What an answer for longer lets through from then on; nothing of the others."""
    if kind not in {AnswerKind.RUN, AnswerKind.ALWAYS}:
        return ""
    since = "In this task, for up to 8 hours," if kind is AnswerKind.RUN else "From now on"
    who, tool = seen(approval.asker.name), seen(approval.tool)
    what = f"{since} {who} may use {tool} with whatever arguments, without asking"
    if not approval.tainted:
        return f"{what}, until its task has read strangers' words."
    read = "" if approval.label == PUBLIC else f" and up to {approval.label}"
    return f"{what}, also after it has read strangers' words{read}."


def _given(approval: Approval) -> Given | None:
    given = approval.answered
    if given is None:
        return None
    return Given(
        told=ANSWERED[given.kind],
        by=seen(given.by_name),
        via=str(given.via),
        at=given.at,
        reason=None if given.reason is None else seen(given.reason),
        rule=given.rule,
    )
