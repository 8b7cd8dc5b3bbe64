"""When an agent that is connected to a conversation answers, and when it holds its tongue.

Several that name one another could go on for ever. Three things end it: so many answers and no
more, a pause between two answers to the same sender, and a limit to how often agents answer agents
before a person has said something again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Final

MOST_ANSWERS: Final = 20
COOL_DOWN: Final = timedelta(seconds=5)
MOST_HOPS: Final = 4
_REMEMBERED: Final = 500
"""Messages whose depth is known; an answer to an older one counts as a new beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageInfo:
    """A message, as far as it matters here."""

    id: str
    sender: str
    by_person: bool
    at: datetime
    to: frozenset[str] = frozenset()
    """Whom it names, and to whom it is addressed."""
    answers: str | None = None
    thread: str | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    max_answers: int = MOST_ANSWERS
    """Answers, as long as it is connected."""
    cool_down: timedelta = COOL_DOWN
    """Between two answers to the same sender."""
    hops: int = MOST_HOPS
    """Answers of agents to agents without a person's word in between; 0: it answers people
    alone."""


class Reason(StrEnum):
    ASKED = "it is named"
    OWN = "it has said so itself"
    NOT_ASKED = "it is not named"
    DELETED = "it was deleted"
    BEFORE = "that was said before it joined"
    ANSWERED = "it has answered that"
    HOPS = "agents have answered agents often enough since a person last spoke"
    BUDGET = "it has given all the answers that it was to give"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    answers: bool
    reason: Reason
    not_before: datetime | None = None
    """When the pause after its last answer to the same sender is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """What a connected agent knows of its conversation."""

    me: str
    since: datetime
    """When it joined; what was said before is not for it."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """By message: how many times agents have spoken to agents up to it. A person's word is 0."""
    exchanges: Mapping[str | None, int] = field(default_factory=dict)
    """By thread: how many times since a person last said something, anywhere."""
    answered: frozenset[str] = frozenset()
    last: Mapping[str, datetime] = field(default_factory=dict)
    """By sender: when it last answered them."""
    given: int = 0
    """Answers."""

    def depth(self, said: MessageInfo) -> int:
        """Of one that it has heard."""
        return 0 if said.by_person else self.depths.get(said.id, 1)


def heard(standing: AgentView, said: MessageInfo) -> AgentView:
    """In the order in which things were said; the same one again changes nothing."""
    if said.id in standing.depths:
        return standing
    answered = standing.answered
    if said.sender == standing.me and said.answers is not None:
        answered |= {said.answers}
    exchanges: Mapping[str | None, int] = {}
    depth = 0
    if not said.by_person:
        thread = said.thread or said.answers
        before = standing.exchanges.get(thread, 0)
        depth = 1 + max(before, standing.depths.get(said.answers or "", 0))
        counts = bool(said.to) or said.answers is not None
        exchanges = {**standing.exchanges, thread: before + counts}
    return replace(
        standing,
        depths=_latest({**standing.depths, said.id: depth}),
        exchanges=exchanges,
        answered=answered,
    )


def should_answer(standing: AgentView, said: MessageInfo, rules: Rules) -> Decision:
    """Of one that it has heard."""
    reason = _reason(standing, said, rules)
    if reason is not Reason.ASKED:
        return Decision(answers=False, reason=reason)
    last = standing.last.get(said.sender)
    pause = None if last is None else last + rules.cool_down
    return Decision(answers=True, reason=reason, not_before=pause)


def has_answered(standing: AgentView, said: MessageInfo, at: datetime) -> AgentView:
    return replace(
        standing,
        answered=standing.answered | {said.id},
        last={**standing.last, said.sender: at},
        given=standing.given + 1,
    )


def _reason(standing: AgentView, said: MessageInfo, rules: Rules) -> Reason:
    refused = {
        Reason.OWN: said.sender == standing.me,
        Reason.NOT_ASKED: standing.me not in said.to,
        Reason.DELETED: said.deleted,
        Reason.BEFORE: said.at < standing.since,
        Reason.ANSWERED: said.id in standing.answered,
        Reason.HOPS: standing.depth(said) > rules.hops,
        Reason.BUDGET: standing.given >= rules.max_answers,
    }
    return next((reason for reason, so in refused.items() if so), Reason.ASKED)


def _latest(depths: Mapping[str, int]) -> Mapping[str, int]:
    too_many = max(0, len(depths) - _REMEMBERED)
    return dict(islice(depths.items(), too_many, None))
