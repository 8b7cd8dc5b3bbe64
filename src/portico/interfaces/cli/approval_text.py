"""Approvals as text for whoever answers them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from portico.debate.core.conduct import verdict_words
from portico.debate.core.debates import DebateStatus, Decision
from portico.interfaces.cli.untrusted_text import (
    LONG,
    Line,
    argument_lines,
    column_of,
    leaves_of,
    lines,
    value_lines,
    visible,
    why_of,
)
from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.json import JsonObject

Told = Mapping[str, Any]


Facts = Mapping[str, Any]

_RULE: Final = "debate:promotion"
"""By which the house asks: no arguments of a tool can claim to be one of these."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~@:/+-]+")


@dataclass(frozen=True, slots=True)
class Promotion:
    lowers: str
    """`confidential → team`"""
    redacted: str
    values: Sequence[tuple[str, str]]
    """Names and what they are: somebody's words, to be shown as such."""

    @property
    def brief(self) -> str:
        return f"{self.lowers}: {dict(self.values)['question']}"


def promotion_of(request: Facts) -> Promotion | None:
    """None where it is none, or not as we know it: then all of it is shown as it is."""
    given = request["arguments"]
    if request["rule"] != _RULE:
        return None
    try:
        return Promotion(
            lowers=f"{given['from']} → {given['to']}",
            redacted=_found(given["found"]),
            values=[*_values(given["content"])],
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _found(found: Mapping[str, int]) -> str:
    many = ", ".join(f"{count} of {rule}" for rule, count in sorted(found.items()))
    return f"blacked out before it goes: {many}" if many else "nothing in it looks like a secret"


def _values(content: Facts) -> Iterator[tuple[str, str]]:
    question = content["body"]["question"]
    yield "question", question["text"]
    if question["choices"]:
        yield "choices", "\n".join(question["choices"])
    if (made := content["decision"]) is not None:
        decision = Decision.from_json(made)
        yield "decision", verdict_words(decision, DebateStatus.DECIDED)
        for name in ("answer", "synthesis", "veto"):
            if made[name]:
                yield name, made[name]
    for note in content["notes"]:
        if note["kind"] == "said":
            yield _voice(note), _said(note["body"])
        elif note["kind"] == "failed":
            yield _voice(note), f"(gave no answer) {note['body']['why'] or ''}"


def _voice(note: Facts) -> str:
    name = str(note["voice"])
    shown = name if _PLAIN.fullmatch(name) else json.dumps(name)
    return shown if note["round"] == 1 else f"{shown}, again"


def _said(body: Facts) -> str:
    lines = [body["answer"]]
    lines += [f"because {body['rationale']}"] if body["rationale"] else []
    lines += [f"evidence: {each}" for each in body["evidence"]]
    lines += [f"changed, because {body['changed_because']}"] if body["changed_because"] else []
    lines += [f"vetoes: {body['veto']}"] if body["veto"] else []
    return "\n".join(lines)


SHORT: Final = 6
KEYS: Final = "a approve · r this run · p always · x reject · e edit · w why · s skip · q quit"
"""Fixed, and in one line of eighty letters."""
KEYS_ONCE: Final = "a approve · x reject · e edit · w why · s skip · q quit"
"""Where a rule asks, which goes on asking: the same, without those that would change nothing."""
ANSWERS: Final[Mapping[str, str]] = {
    "once": "approved once",
    "run": "approved for this run",
    "always": "approved from now on",
    "reject": "rejected",
}
_OF_AGENT: Final = re.compile(r"call-\d+-\d+")
"""What a step is called in which a run of an agent calls a tool."""

_TAINT: Final = "default:taint"
"""The rule that asks because of what strangers wrote."""


def short(approval: str) -> str:
    return f"…{approval[-SHORT:]}"


def left(request: Told, now: datetime | None = None) -> str:
    until = datetime.fromisoformat(request["expires_at"])
    seconds = (until - (now or datetime.now(UTC))).total_seconds()  # noqa: TID251 # shown to a person
    if seconds <= 0:
        return "over"
    if seconds < 100:
        return f"in {seconds:.0f} s"
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"in {hours} h {minutes} min" if hours else f"in {minutes} min"


def asker(request: Told) -> str:
    return f"{visible(request['asker']['name'])} ({request['asker']['kind']})"


def row(request: Told) -> JsonObject:
    """One line of a list."""
    return {
        "id": short(request["id"]),
        "status": state(request),
        "tool": request["tool"],
        "effect": request["effect"],
        "asker": asker(request),
        "step": asking_step(request),
        "expires": left(request) if request["status"] == "waiting" else None,
        "arguments": visible(_brief(request))[:LONG],
    }


def _brief(request: Told) -> str:
    promotion = promotion_of(request)
    if promotion is not None:
        return promotion.brief
    return json.dumps(request["arguments"], ensure_ascii=False)


def state(request: Told) -> str:
    """How it stands, and how it went."""
    outcome = came_of(request)
    return f"{request['status']}, {outcome}" if outcome else str(request["status"])


def came_of(request: Told) -> str | None:
    """`done`, or `done, with an error`: what the tool itself says of it."""
    outcome = request.get("outcome")
    return f"{outcome}, with an error" if outcome == "done" and request["error"] else outcome


def over(request: Told) -> str:
    """Why it waits no more, to somebody who could have answered it."""
    if request["status"] == "expired":
        return "It has expired; nobody answered."
    if request["status"] == "withdrawn":
        return "It was taken back, or done since by a rule that allows it."
    return f"Somebody was first: {answered(request) or request['status']}."


def answered(request: Told) -> str | None:
    """`approved once by ana (cli)`"""
    given = request.get("answered")
    if given is None:
        return None
    rule = f", rule {given['rule']}" if given["rule"] else ""
    reason = f": {visible(given['reason'])}" if given["reason"] else ""
    by = visible(given["by_name"])
    return f"{ANSWERS[given['answer']]} by {by} ({given['via']}){rule}{reason}"


def told(
    request: Told,
    *,
    whole: bool = False,
    raw: bool | None = None,
    more: int = 0,
    width: int | None = None,
) -> Iterator[Line]:
    """The request, a line at a time; `whole` without anything cut, and `raw` (as `whole`, unless it
    is said) with every value of a debate that is to be less secret. `more` wait besides. What is
    somebody else's words is never wrapped by the terminal, where it would begin a line of ours."""
    promotion = promotion_of(request)
    tool, effect = visible(request["tool"]), request["effect"]
    others = f"   ({more} more wait)" if more else ""
    head = f"{short(request['id'])}  {asker(request)} wants {tool}{others}"
    yield from lines("", head, width, loud=True)
    if promotion is not None:
        lowers = f"  {'lowers':<8}  "
        yield from lines(lowers, f"a debate, {promotion.lowers}", width, loud=True)
    yield from _fact("effect", f"{effect}: {EFFECT_WORDS[Effect(effect)]}", width)
    because = f"{visible(request['rule'])}: {visible(request['reason'])}"
    yield from _fact("because", because, width)
    if request["status"] == "waiting":
        yield from _fact("expires", left(request), width)
    if (step := asking_step(request)) is not None:
        see = "agents trace" if _OF_AGENT.fullmatch(request["step"]) else "workflows show"
        yield from _fact("step", f"{step} (portico {see} {request['run'][-SHORT:]})", width)
    if request["tainted"]:
        yield from _fact("task", has_read(request), width)
    yield from _before(request["before"], width)
    if whole:
        yield from _fact("label", request["label"], width)
        yield from _fact("run", request["run"], width)
        yield from _fact("decided", f"portico policy explain {_whom(request)} {tool}", width)
    if promotion is not None:
        yield from _fact("secrets", promotion.redacted, width)
        yield from _promoted(promotion, width, whole=whole)
        if not (whole if raw is None else raw):
            yield from _folded(request, width)
            return
    yield Line("  with")
    yield from argument_lines(request, width, whole=whole)


def _promoted(promotion: Promotion, width: int | None, *, whole: bool) -> Iterator[Line]:
    yield Line("  what others could read then")
    column = column_of([name for name, _ in promotion.values], width)
    for name, value in promotion.values:
        yield from value_lines(name, column, value, None, width, whole=whole)


def _folded(request: Told, width: int | None) -> Iterator[Line]:
    """What is marked is shown all the same."""
    arguments = request["arguments"]
    marks = {mark["pointer"]: "" for mark in request["marks"]}
    pointers = [pointer for pointer, _ in leaves_of("", arguments)]
    marked = {each for each in pointers if why_of(marks, each) is not None}
    many = len(pointers) - len(marked)
    if marked:
        yield Line("  with")
        yield from argument_lines(request, width, whole=True, only=marked)
    see = f"w, or portico approvals show {request['id'][-SHORT:]} --raw"
    yield from _fact("and", f"{many:,} values of its record, which are folded: {see}", width)


def asking_step(request: Told) -> str | None:
    """`send of …k2m9xq`: the step of the workflow or program that asks, if one does."""
    step = request.get("step")
    return None if step is None else f"{visible(step)} of {short(request['run'])}"


def has_read(request: Told) -> str:
    """What its task had read when it was asked, as far as the request knows."""
    if request["label"] == "public":
        return "has read what strangers wrote"
    maybe = "" if request["rule"] == _TAINT else "maybe "
    return f"has read {request['label']}, and {maybe}what strangers wrote"


def grants(request: Told, kind: str, pattern: str | None = None) -> str:
    """What an answer for longer lets through from then on."""
    since = "In this task, for up to 8 hours," if kind == "run" else "From now on"
    tools = visible(pattern or request["tool"])
    what = f"{since} {asker(request)} may use {tools} with whatever arguments"
    bound = f"for effects up to {request['effect']}"
    if not request["tainted"]:
        return f"{what}, {bound}, without asking, until the task has read strangers' words"
    read = "" if request["label"] == "public" else f" and up to {request['label']}"
    return f"{what}, {bound}, without asking, also after it has read strangers' words{read}"


def asks_on(request: Told) -> str | None:
    """Why nothing is answered for longer, where a rule asks."""
    if "always" in request["answers"]:
        return None
    return f"The rule {visible(request['rule'])} goes on asking; change that one, or answer once."


def _whom(request: Told) -> str:
    key = request["asker"].get("key")
    return f"key:{key}" if key else visible(request["asker"]["name"])


def _before(calls: Sequence[Told], width: int | None) -> Iterator[Line]:
    for number, call in enumerate(calls):
        at = datetime.fromisoformat(call["at"]).astimezone()
        how = call.get("outcome") or "under way"
        text = f"{at:%H:%M:%S} {visible(call['tool'])} ({call['effect']}): {how}"
        yield from _fact("before" if number == 0 else "", text, width)


def _fact(name: str, text: str, width: int | None) -> Iterator[Line]:
    yield from lines(f"  {name:<8}  ", text, width)
