"""Questions that are put to the user inside of their client."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.calls import ClientCapability, Question
from portico.gateway.core.untrusted_text import visible
from portico.guard.core.approvals import AnswerKind, Approval
from portico.guard.core.policy import DANGER_WORDS, ArgumentWarning
from portico.kernel.json import JsonObject, canonical, pointed

_ANSWERS: Final[Mapping[str, AnswerKind]] = {
    "once": AnswerKind.ONCE,
    "run": AnswerKind.RUN,
    "reject": AnswerKind.REJECT,
}
"""What lasts is not decided in passing: `always` is said elsewhere."""
_LONG: Final = 2_000
"""Letters of a value that nothing is said against; what is marked is never cut."""


def question_of(approval: Approval) -> Question:
    offered = [word for word, kind in _ANSWERS.items() if kind in approval.answers]
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "Answer",
                "description": " or ".join(offered),
                "enum": offered,
            }
        },
        "required": ["answer"],
    }
    params: JsonObject = {
        "message": "\n".join(_said(approval)),
        "requestedSchema": schema,
        "mode": "form",
    }
    return Question(ClientCapability.ELICITATION, params, key=f"approve-{approval.id}")


def answer_of(reply: JsonObject) -> AnswerKind | None:
    """Only the exact word, accepted: whatever else comes back is no answer."""
    content = reply.get("content")
    if reply.get("action") != "accept" or not isinstance(content, Mapping):
        return None
    answer = content.get("answer")
    return _ANSWERS.get(answer) if isinstance(answer, str) else None


def _said(approval: Approval) -> Iterator[str]:
    """Each a line of its own, whatever it holds: nobody writes one that they did not ask for."""
    yield _seen(approval.question)
    for name, value in approval.arguments.items():
        whys = dict.fromkeys(_whys(approval.marks, name))
        text = value if isinstance(value, str) else canonical(value).decode()
        left = 0 if whys else max(0, len(text) - _LONG)
        cut = f"{_seen(text[:_LONG])} … and {left:,} more" if left else _seen(text)
        yield f"{_seen(name)}: {cut}{_behind(whys)}"
    yield f"{approval.id}; it can also be answered elsewhere: portico approvals watch"


def _whys(marks: Sequence[ArgumentWarning], name: str) -> Iterator[str]:
    at = pointed("", name)
    for mark in marks:
        if mark.pointer in ("", at) or mark.pointer.startswith(f"{at}/"):
            yield DANGER_WORDS.get(mark.why, mark.why)


def _behind(whys: Iterable[str]) -> str:
    told = ", ".join(whys)
    return f" ({told})" if told else ""


def _seen(text: str) -> str:
    return visible(text, longest=len(text))
