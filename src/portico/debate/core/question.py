"""What is asked: closed questions have answers that can be counted, open ones have texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class QuestionKind(StrEnum):
    CHOICE = "choice"
    """One of the choices that it names."""
    YES_NO = "yes_no"
    NUMBER = "number"
    TEXT = "text"
    """Something short that is right or wrong: a name, an id, a formula."""
    OPEN = "open"

    @property
    def closed(self) -> bool:
        return self is not QuestionKind.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    kind: QuestionKind
    choices: tuple[str, ...] = ()
    topic: str = "general"
    """What track records are kept by, beside the voice."""
    material: str = ""
    """What it is about, read by every voice: notes of the project, a diff, a log."""


_YES_NO: Final = re.compile(
    r"^(is|are|was|were|do|does|did|can|could|should|shall|will|would|has|have|may|must)\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"\b(how (many|much|long|old|far|tall|often)|what (number|percentage|percent|year)"
    r"|calculate|compute)\b",
    re.IGNORECASE,
)
_ASKED_FOR: Final = re.compile(
    r"^(can|could|would|will) you (please |kindly |also |briefly )*"
    r"(explain|describe|list|tell|show|give|name|outline|summari[sz]e|draft|compare|elaborate"
    r"|sketch|walk (me|us)|write(?! (to|into|in|on)\b))\b",
    re.IGNORECASE,
)
"""A wish in the shape of a question."""
_OR: Final = re.compile(r"\bor\b", re.IGNORECASE)


def kind_of(text: str, choices: Sequence[str] = ()) -> QuestionKind:
    """By its words: what looks like none of the closed kinds is open, which asks for a text."""
    if choices:
        return QuestionKind.CHOICE
    said = text.strip()
    if _NUMBER.search(said):
        return QuestionKind.NUMBER
    asks = _YES_NO.match(said) and not _ASKED_FOR.match(" ".join(said.split()))
    if asks and said.endswith("?") and not _OR.search(said):
        return QuestionKind.YES_NO
    return QuestionKind.OPEN
