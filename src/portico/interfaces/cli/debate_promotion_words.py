"""A debate that is to be less secret, in words for whoever has to say yes to that: what was asked,
what was decided, and who said what. All else that goes with it is figures, and folded."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from portico.debate.core.conduct import verdict_words
from portico.debate.core.debates import DebateStatus, Decision

Facts = Mapping[str, Any]

_RULE: Final = "debate:promotion"
"""By which the house asks: no arguments of a tool can claim to be one of these."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~@:/+-]+")


@dataclass(frozen=True, slots=True)
class Promotion:
    lowers: str
    """`confidential → team`"""
    blacked_out: str
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
            blacked_out=_found(given["found"]),
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
