"""The audit log: look through it, check it."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from portico.engine.core.errors import InvalidCursor
from portico.guard.audit import AuditFilter, ChainedEntry
from portico.guard.core.audit import Head, Link, Verdict, link_line
from portico.guard.core.principals import Scope
from portico.interfaces.console.page import PageContext, page, page_context
from portico.interfaces.http.shapes import opaque, position
from portico.kernel.ids import InvalidId, PrincipalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import InvalidLabel, Label

_GOOD: Final = frozenset({"allowed", "accepted", "used", "launch_approved", "tools_accepted"})
_BAD: Final = frozenset({"denied", "limited", "quarantined", "revoked", "expired", "removed"})
_ASKS: Final = frozenset({"asked", "needs_approval", "withdrawn"})
_BY_PREFIX: Final = {
    "run": "/runs/",
    "dbt": "/debates/",
    "apr": "/inbox/",
}
"""Ids that say themselves what page they have."""
_BY_ACTION: Final = {
    "server": "/servers/",
    "tool": "/tools/",
    "call": "/tools/",
    "login": "/servers/",
}
"""Where what was done says what its subject is the name of."""
_PAGES: Final = {
    "policy": "/settings/policy",
    "secret": "/settings/secrets",
    "key": "/settings/keys",
    "session": "/settings",
    "principal": "/settings/people",
    "invitation": "/settings/people",
    "ahead": "/figures",
    "conversation": "/bridge",
    "project": "/bridge",
    "message": "/bridge",
    "bridge": "/bridge",
}
_AGENTS: Final = ("agent.added", "agent.changed", "agent.removed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    number: int
    at: datetime | None
    who: str
    kind: str
    principal: str | None
    action: str
    subject: str
    called: str
    """What people know it by, where that is told."""
    path: str | None
    """Where the subject has a page."""
    related: Sequence[tuple[str, str]]
    """Other pages: a word and where."""
    decision: str | None
    tone: str
    label: Label | None
    rule: str | None
    rule_path: str | None
    """Of the request whose answer it was."""
    reason: str | None
    details: JsonObject
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What checking the chain came to."""

    sound: bool
    told: str
    heads: str
    findings: Sequence[str]


def line(found: ChainedEntry) -> Line:
    """Whatever somebody has written there: what is not as it should be is shown as it is."""
    act = _object(found.entry.get("act"))
    facts = _object(act.get("facts"))
    action, subject = _text(act.get("action")) or "not readable", _text(act.get("subject")) or ""
    decision, tone = _decision(action, facts)
    return Line(
        number=found.link.number,
        at=_moment(found.entry.get("at")),
        who=_text(act.get("name")) or "somebody",
        kind=_text(act.get("kind")) or "",
        principal=_principal(found.entry.get("by")),
        action=action,
        subject=subject,
        called=_called(subject, facts),
        path=_path(action, subject),
        related=_related(facts),
        decision=decision,
        tone=tone,
        label=_label(facts),
        rule=_text(act.get("rule")),
        rule_path=_rule_path(_text(act.get("rule")) or ""),
        reason=_text(act.get("reason")),
        details=facts or {"entry": found.link.text.decode(errors="replace")},
        hash=found.link.hash.hex(),
    )


def checked(verdict: Verdict) -> Checked:
    entries = f"{verdict.checked:,} {'entry' if verdict.checked == 1 else 'entries'} checked"
    if verdict.sound:
        told = f"Sound: {entries}, the last is {verdict.last.number:,}."
    else:
        told = f"Not sound: {entries}, {verdict.found:,} found to be wrong."
    if verdict.heads:
        all_of = "all" if verdict.sound else "only"
        heads = f"It agrees with {all_of} {verdict.heads:,} of its heads that were kept elsewhere."
    elif verdict.sound:
        heads = (
            "There was no head kept elsewhere to compare it with: nobody can tell whether its end"
            " was cut off, or all of it made anew."
        )
    else:
        heads = "It agrees with no head that was kept elsewhere."
    findings = [f"{each.number:,}: {each.fault}. {each.told}" for each in verdict.findings]
    more = verdict.found - len(verdict.findings)
    return Checked(
        sound=verdict.sound,
        told=told,
        heads=heads,
        findings=[*findings, *([f"and {more:,} more"] if more > 0 else [])],
    )


def head_text(head: Head) -> str:
    """As it can be kept elsewhere."""
    return json.dumps({"number": head.number, "hash": head.hash.hex()})


def _decision(action: str, facts: JsonObject) -> tuple[str | None, str]:
    """In one word, and its tone."""
    answer = facts.get("answer")
    if isinstance(answer, str):
        return ("rejected", "bad") if answer == "reject" else (f"approved, {answer}", "ok")
    if facts.get("sound") is False:
        return "not sound", "bad"
    _, dot, done = action.rpartition(".")
    if not dot:
        return None, ""
    word = done.replace("_", " ")
    for words, tone in ((_GOOD, "ok"), (_BAD, "bad"), (_ASKS, "warn")):
        if done in words:
            return word, tone
    return None, ""


def _called(subject: str, facts: JsonObject) -> str:
    """An id says little; a name beside it more."""
    name = _text(facts.get("name"))
    opaque = subject.startswith(("prn_", "spc_")) or (len(subject) == 12 and subject.isalnum())
    return name if name and opaque else subject


def _path(action: str, subject: str) -> str | None:
    room = action.partition(".")[0]
    prefix = subject.partition("_")[0]
    if prefix in _BY_PREFIX and len(subject) == 30:
        return f"{_BY_PREFIX[prefix]}{quote(subject, safe='')}"
    if action in _AGENTS:
        return f"/agents/{quote(subject, safe='')}"
    if room in _BY_ACTION and subject:
        return f"{_BY_ACTION[room]}{quote(subject, safe='')}"
    return _PAGES.get(room)


def _rule_path(rule: str) -> str | None:
    """What somebody has approved is allowed by `approval:apr_…`."""
    kind, _, approval = rule.partition(":")
    return f"/inbox/{quote(approval, safe='')}" if kind == "approval" and approval else None


def _related(facts: JsonObject) -> Sequence[tuple[str, str]]:
    wanted = {"approval": "/inbox/", "run": "/runs/", "debate": "/debates/"}
    return [
        (name, f"{path}{quote(value, safe='')}")
        for name, path in wanted.items()
        if isinstance(value := facts.get(name), str) and len(value) == 30
    ]


def _label(facts: JsonObject) -> Label | None:
    for name in ("label", "clearance", "to", "upto"):
        value = facts.get(name)
        if isinstance(value, str):
            try:
                return Label.parse(value)
            except InvalidLabel:
                continue
    return None


def _moment(told: JsonValue) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(told))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _principal(told: JsonValue) -> str | None:
    try:
        return str(PrincipalId(UUID(str(told))))
    except ValueError:
        return None


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, Mapping) else {}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


_MOST: Final = 50
_LARGEST: Final = 2**63 - 1
_PEOPLE: Final = 200
_KINDS: Final = (
    ("", "All"),
    ("call.", "Calls"),
    ("approval.", "Approvals"),
    ("policy.", "Policy"),
    ("key.", "Keys"),
    ("session.", "Sessions"),
    ("principal.", "People"),
    ("server.", "Servers"),
    ("tool.", "Tools"),
    ("workflow.", "Workflows"),
    ("agent.", "Agents"),
    ("debate.", "Debates"),
    ("secret.", "Secrets"),
)


async def show(request: Request) -> Response:
    return await _drawn(request, page_context(request))


async def verify(request: Request) -> Response:
    """To its end: what it came to is shown, and is an entry itself."""
    desk = page_context(request)
    steps = await desk.services.use.verify_audit(desk.caller)
    verdict: Verdict | None = None
    async with aclosing(steps):
        async for step in steps:
            verdict = step if isinstance(step, Verdict) else verdict
    return await _drawn(request, desk, None if verdict is None else checked(verdict))


async def export(request: Request) -> Response:
    """All of it, oldest first, a line each: `portico audit verify --file` checks it anywhere."""
    desk = page_context(request)
    pieces = await desk.services.use.export_audit(desk.caller)
    return StreamingResponse(
        _lines(pieces),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": 'attachment; filename="portico-audit.ndjson"'},
    )


async def _lines(pieces: AsyncGenerator[Sequence[Link], None]) -> AsyncIterator[str]:
    async with aclosing(pieces):
        async for links in pieces:
            yield "".join(map(link_line, links))


async def _drawn(request: Request, desk: PageContext, result: Checked | None = None) -> Response:
    use, caller, query = desk.services.use, desk.caller, request.query_params
    action, who = query.get("action", "").strip()[:100], query.get("who", "").strip()[:40]
    people = await _people(desk)
    wanted = AuditFilter(action=_beginning(action), principal=_principal_typed(who))
    after = _number(position(query.get("after")))
    found = await use.read_audit(caller, wanted, onward=after, limit=_MOST)
    head = await use.show_audit_head(caller)
    older = None if found.onward is None else opaque(str(found.onward))
    values = {
        "lines": [line(each) for each in found.found],
        "head": head,
        "head_text": head_text(head),
        "action": action,
        "who": who,
        "kinds": [(_address(prefix, who), name, prefix == action) for prefix, name in _KINDS],
        "people": people,
        "older": None if older is None else _address(action, who, older),
        "newest": _address(action, who) if after is not None else None,
        "result": result,
    }
    return await page(request, "audit/page.html", values, title="Audit")


def _beginning(action: str) -> str | None:
    """What an action begins with; whoever writes wildcards means them."""
    if not action:
        return None
    return action if set("*?") & set(action) else f"{action}*"


def _principal_typed(text: str) -> PrincipalId | None:
    try:
        return PrincipalId.parse(text) if text else None
    except InvalidId:
        return None


async def _people(desk: PageContext) -> list[tuple[str, str]]:
    if not desk.caller.may(Scope.PRINCIPALS_READ):
        return []
    found = await desk.services.use.list_principals(desk.caller, after=None, limit=_PEOPLE)
    return [(str(each.id), f"{each.name} ({each.kind})") for each in found]


def _address(action: str, who: str, after: str | None = None) -> str:
    given = {"action": action, "who": who, "after": after or ""}
    told = urlencode({name: value for name, value in given.items() if value})
    return f"/audit?{told}" if told else "/audit"


def _number(text: str | None) -> int | None:
    """Raises `InvalidCursor`."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) <= _LARGEST:
        raise InvalidCursor
    return int(text)


routes: Final = [
    Route("/audit", show, methods=["GET"]),
    Route("/audit/verify", verify, methods=["POST"]),
    Route("/audit/export", export, methods=["GET"]),
]
