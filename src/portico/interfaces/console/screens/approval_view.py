"""An approval as whoever answers it sees it: request, arguments, state, reason."""

import difflib
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote

from portico.guard.core.access_request import Action, Allowed, Decision, Denied, NeedsApproval
from portico.guard.core.approvals import AnswerKind, Approval, Outcome, Status, check_answerer
from portico.guard.core.policy import DANGER_WORDS, TAINT, ArgumentWarning, Danger, Explanation
from portico.interfaces.console.formatting import as_json
from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue, pointed
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.workflows.core.plan_progress import step_asked

_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def seen(text: str) -> str:
    """What hides, or would turn the text around it, as its number; lines and tabs stay."""
    return "".join(f"\\u{{{ord(letter):x}}}" if _hides(letter) else letter for letter in text)


def one_line(text: str, most: int) -> str:
    told = seen(" ".join(text.split()))
    return told if len(told) <= most else f"{told[: most - 1]}…"


def sentence(text: str) -> str:
    """Rules give their reasons in half a sentence, people in a whole one."""
    told = seen(text).strip()
    return told[:1].upper() + told[1:] + ("" if told.endswith((".", "!", "?", "…")) else ".")


def seen_json(value: JsonObject) -> str:
    """The same value, to be edited: what hides is escaped as JSON has it."""
    text = as_json(dict(value))
    return "".join(json.dumps(each)[1:-1] if _hides(each) else each for each in text)


def _hides(letter: str) -> bool:
    return letter not in "\n\t" and unicodedata.category(letter) in _HIDDEN


SOON: Final = timedelta(minutes=10)
"""What ends within this comes first."""


@dataclass(frozen=True, slots=True)
class Badge:
    text: str
    tone: str = ""


_EFFECTS: Final = {
    Effect.PURE: Badge("changes nothing", "ok"),
    Effect.LOCAL_READ: Badge("reads", "ok"),
    Effect.EXTERNAL_READ: Badge("reads elsewhere", "run"),
    Effect.LOCAL_WRITE: Badge("writes", "warn"),
    Effect.EXTERNAL_WRITE: Badge("writes elsewhere", "warn"),
    Effect.IRREVERSIBLE: Badge("cannot be undone", "bad"),
    Effect.UNKNOWN: Badge("effect not known", "bad"),
}
_OUTCOMES: Final = {
    Outcome.DONE: Badge("done", "ok"),
    Outcome.FAILED: Badge("not made", "bad"),
    Outcome.UNCERTAIN: Badge("outcome not known", "bad"),
    Outcome.SKIPPED: Badge("not to be made"),
}
_STATUSES: Final = {
    Status.WAITING: Badge("needs approval", "warn"),
    Status.APPROVED: Badge("approved", "run"),
    Status.REJECTED: Badge("rejected", "bad"),
    Status.EXPIRED: Badge("expired"),
    Status.REPLACED: Badge("approved otherwise", "ok"),
    Status.WITHDRAWN: Badge("taken back"),
}
ANSWERED: Final = {
    AnswerKind.ONCE: "Approved once",
    AnswerKind.RUN: "Approved for this run",
    AnswerKind.ALWAYS: "Approved from now on",
    AnswerKind.REJECT: "Rejected",
}
_ACTIONS: Final = {
    Action.CALL: "Tool call",
    Action.READ_RESOURCE: "Read a resource",
    Action.GET_PROMPT: "Get a prompt",
    Action.COMPLETE: "Complete a word",
    Action.DECLASSIFY: "Less secret message",
}


def effect_badge(effect: Effect) -> Badge:
    return _EFFECTS[effect]


def state_badge(approval: Approval, now: datetime) -> Badge:
    status = approval.status_at(now)
    if approval.outcome is Outcome.DONE and approval.error:
        return Badge("done, with an error", "warn")
    if approval.outcome is not None:
        return _OUTCOMES[approval.outcome]
    if status is Status.WAITING and soon(approval, now):
        return Badge("expires soon", "bad")
    return _STATUSES[status]


def soon(approval: Approval, now: datetime) -> bool:
    return approval.status_at(now) is Status.WAITING and approval.expires_at - now < SOON


def uncertain(approval: Approval) -> bool:
    return approval.status is Status.APPROVED and approval.outcome is Outcome.UNCERTAIN


def kind_of(approval: Approval) -> str:
    if approval.action is Action.DECLASSIFY and "debate" in approval.arguments:
        return "Less secret debate"
    if approval.action is Action.CALL and approval.waiter is not None:
        return "Step of a run"
    return _ACTIONS[approval.action]


_LONG: Final = 400
"""Letters of a value that are shown at once, if nothing is said against it."""
_LONGEST: Final = 4_000
"""Letters of such a value that the page holds at all; the rest is at an address of its own."""
_COMPARED: Final = 400
"""Lines of each side; longer ones are shown as they are."""
_SIGNS: Final = {"-": "gone", "+": "new", " ": "same"}
_PAIRS: Final = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old", "new"),
    ("before", "after"),
)
"""What tools call a text and the one that shall stand in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    name: str
    value: str
    risks: tuple[str, ...] = ()
    was: str | None = None
    """In the request that this one replaces, where it is another there."""
    new: bool = False
    """Not in that one."""
    folded: bool = False
    """Long, or shown as a difference already, and nothing is said against it."""
    cut: int = 0
    """Letters that are not here: only of what nothing is said against."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: str
    """`gone`, `new`, `same`, or `place`: where in the text."""
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    title: str
    lines: Sequence[DiffLine]


def table(
    arguments: JsonObject, marks: Sequence[ArgumentWarning], before: JsonObject | None = None
) -> Sequence[Argument]:
    """Each single value under its path; `before` are those of the request that it replaces."""
    why, compared = (
        _risks(marks),
        {place for places, *_ in _pairs("", arguments) for place in places},
    )
    old = None if before is None else dict(_leaves("", before))
    rows = [
        _row(pointer, value, why, old, compared=pointer in compared)
        for pointer, value in _leaves("", arguments)
    ]
    known = {pointer for pointer, _ in _leaves("", arguments)}
    gone = [(pointer, value) for pointer, value in (old or {}).items() if pointer not in known]
    return [*rows, *(Argument(name=_name(pointer), value="", was=value) for pointer, value in gone)]


def _row(
    pointer: str,
    value: str,
    why: Mapping[str, tuple[str, ...]],
    old: Mapping[str, str] | None,
    *,
    compared: bool,
) -> Argument:
    risks = _covering(why, pointer)
    cut = 0 if risks else max(0, len(value) - _LONGEST)
    was = None if old is None else old.get(pointer)
    return Argument(
        name=_name(pointer),
        value=value[: len(value) - cut],
        risks=risks,
        was=was if was != value else None,
        new=old is not None and was is None,
        folded=(compared or len(value) > _LONG) and not risks and was in (None, value),
        cut=cut,
    )


def first_risk(arguments: JsonObject, marks: Sequence[ArgumentWarning]) -> Argument | None:
    """What a list says of it in one line."""
    return next((row for row in table(arguments, marks) if row.risks), None)


def diffs(arguments: JsonObject) -> Sequence[Diff]:
    """Of what a call would put in place of something else, where its arguments say so."""
    return [
        Diff(_name(pointer) if pointer else "What changes", text_diff(was, now))
        for _, pointer, was, now in _pairs("", arguments)
    ]


def _pairs(pointer: str, value: JsonValue) -> Iterator[tuple[tuple[str, str], str, str, str]]:
    """Where both stand, what they are in, and the two texts."""
    if isinstance(value, Mapping):
        for old, new in _PAIRS:
            was, now = value.get(old), value.get(new)
            if isinstance(was, str) and isinstance(now, str) and _comparable(was, now):
                yield (pointed(pointer, old), pointed(pointer, new)), pointer, was, now
        for name, each in value.items():
            yield from _pairs(pointed(pointer, str(name)), each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, each in enumerate(value):
            yield from _pairs(f"{pointer}/{number}", each)


def _comparable(was: str, now: str) -> bool:
    return max(was.count("\n"), now.count("\n")) < _COMPARED


def text_diff(was: str, now: str) -> Sequence[DiffLine]:
    """Every line of both."""
    told = difflib.ndiff(seen(was).split("\n"), seen(now).split("\n"))
    return [DiffLine(_SIGNS[line[0]], line[2:]) for line in told if line[0] in _SIGNS]


def shown_changes(lines: JsonValue) -> Sequence[DiffLine]:
    """As the bridge writes them: `line 7:` says where, then `-`, `+` or a blank before each."""
    if not isinstance(lines, Sequence) or isinstance(lines, str):
        return []
    return [_change(seen(str(line))) for line in lines]


def _change(line: str) -> DiffLine:
    kind = _SIGNS.get(line[:1])
    return DiffLine("place", line) if kind is None else DiffLine(kind, line[1:])


def _risks(marks: Sequence[ArgumentWarning]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for mark in marks:
        word = DANGER_WORDS.get(mark.why, str(mark.why))
        found[mark.pointer] = (*found.get(mark.pointer, ()), word)
    return found


def _covering(why: Mapping[str, tuple[str, ...]], pointer: str) -> tuple[str, ...]:
    """Of itself, or of what it is a part of."""
    while pointer:
        if pointer in why:
            return why[pointer]
        pointer = pointer.rpartition("/")[0]
    return why.get("", ())


def _leaves(pointer: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _leaves(pointed(pointer, str(name)), each)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for number, each in enumerate(value):
            yield from _leaves(f"{pointer}/{number}", each)
    elif pointer:
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield pointer, seen(plain)


def _name(pointer: str) -> str:
    parts = pointer.removeprefix("/").split("/")
    return seen(".".join(part.replace("~1", "/").replace("~0", "~") for part in parts))


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
class AnswerView:
    """What was answered."""

    told: str
    by: str
    via: str
    at: datetime
    reason: str | None
    rule: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    id: str
    kind: str
    tool: str
    tool_path: str | None
    server: str
    requester: str
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
    given: AnswerView | None
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
) -> RequestView:
    """`replaced` is the one that somebody has approved this one in place of."""
    lowered = approval.action is Action.DECLASSIFY
    waits = approval.status_at(now) is Status.WAITING
    waiter, text = approval.waiter, seen_json(approval.arguments)
    run = approval.run if waiter is None else waiter.run
    return RequestView(
        id=str(approval.id),
        kind=kind_of(approval),
        tool=seen(approval.tool),
        tool_path=None if lowered else f"/tools/{quote(approval.tool, safe='')}",
        server=seen(approval.server),
        requester=seen(approval.requester.name),
        asker_kind=str(approval.requester.kind),
        key=approval.requester.key,
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
        own=approval.requester.id == caller.id,
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
    who, tool = seen(approval.requester.name), seen(approval.tool)
    what = f"{since} {who} may use {tool} with whatever arguments, without asking"
    if not approval.tainted:
        return f"{what}, until its task has read strangers' words."
    read = "" if approval.label == PUBLIC else f" and up to {approval.label}"
    return f"{what}, also after it has read strangers' words{read}."


def _given(approval: Approval) -> AnswerView | None:
    given = approval.answered
    if given is None:
        return None
    return AnswerView(
        told=ANSWERED[given.kind],
        by=seen(given.by_name),
        via=str(given.via),
        at=given.at,
        reason=None if given.reason is None else seen(given.reason),
        rule=given.rule,
    )


_DECISIONS: Final[dict[type, Badge]] = {
    Allowed: Badge("allowed", "ok"),
    NeedsApproval: Badge("needs approval", "warn"),
    Denied: Badge("denied", "bad"),
}


@dataclass(frozen=True, slots=True)
class OtherCase:
    when: str
    decision: Badge
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    who: str
    tool: str
    decision: Badge
    rule: str
    reason: str
    task: str
    matched: Sequence[str]
    otherwise: Sequence[OtherCase]


def whom(approval: Approval) -> str:
    """As the explanation wants it: a key has a task of its own, so it is asked for by that."""
    asker = approval.requester
    return f"key:{asker.key}" if asker.key is not None else str(asker.id)


def why(found: Explanation) -> Why:
    context = found.context
    strangers = ", and what strangers wrote" if context.untrusted else ""
    return Why(
        who=seen(found.access_request.caller.name),
        tool=seen(found.access_request.target.tool),
        decision=decided(found.decision),
        rule=seen(found.decision.rule),
        reason=sentence(found.decision.reason),
        task=f"By now its task has read what is {context.label}{strangers}.",
        matched=[rule.name for rule in found.matched],
        otherwise=[
            OtherCase(seen(each.when), decided(each.decision), seen(each.decision.reason))
            for each in found.otherwise
        ],
    )


def decided(decision: Decision) -> Badge:
    return _DECISIONS[type(decision)]
