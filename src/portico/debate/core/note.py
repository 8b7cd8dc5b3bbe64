"""What was said and done in a debate, one note each, never changed. Everything about a debate is
derived from its notes in their order: what comes next, what was decided, what it cost. A note's
name says what it is about, not how many there were before it, so that whoever carries the debate
on after a crash gives the same things the same names."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from portico.kernel.budget import NOTHING, Cost
from portico.kernel.json import JsonObject


class NoteKind(StrEnum):
    SAID = "said"
    """A voice's answer: `Said` in its body."""
    FAILED = "failed"
    """A voice that gave none: `code`, `why`."""
    SAME = "same"
    """Whether two answers mean the same, by a judge: `one`, `other` (keys), `same`."""
    JUDGED = "judged"
    """Which of two open answers is better: `one`, `other` (voices, in that order), `better`."""
    SYNTHESIS = "synthesis"
    """`text`, `by`."""
    PLAN = "plan"
    """The sub-questions of an analysis."""
    SKIPPED = "skipped"
    """What was not done, and why: `what`, `why`, `saved` (tokens)."""
    OVERDUE = "overdue"
    """The deadline came."""
    STOPPED = "stopped"
    """Somebody stopped it."""
    DECISION = "decision"
    """The last one: `Decision` in its body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    name: str
    """Unique in its debate: `said:1:openai:gpt-5`, `judged:a:b`."""
    kind: NoteKind
    voice: str | None = None
    round: int = 1
    body: JsonObject = field(default_factory=dict)
    cost: Cost = NOTHING
    at: datetime
    prompt_tokens: int = 0
    output_tokens: int = 0
    """Of `cost`, by whoever says more: the server, or our own count."""
    overrun: int = 0
    """Tokens beyond what was reserved, of a voice that cannot be held to a maximum."""
