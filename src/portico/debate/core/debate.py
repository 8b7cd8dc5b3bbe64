"""A debate as it is kept: what was asked of whom, by whose wish, and within what bounds."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from portico.debate.core.decision import Decision
from portico.debate.core.note import Note
from portico.debate.core.question import Question
from portico.debate.core.rules import Cap, Rules
from portico.debate.core.voice import Voice
from portico.kernel.budget import NOTHING, Cost
from portico.kernel.ids import ContextId, Id, PrincipalId, RunId
from portico.kernel.label import Label, meet


class DebateId(Id):
    __slots__ = ()
    prefix = "dbt"


class DebateStatus(StrEnum):
    RUNNING = "running"
    DECIDED = "decided"
    NO_DECISION = "no_decision"
    ESCALATED = "escalated"
    """A specialist's veto: a person decides, by `outcome`."""
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        return self is not DebateStatus.RUNNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    id: DebateId
    question: Question
    rules: Rules
    voices: tuple[Voice, ...]
    """Who may be asked, in the order they were given. Guests are added when they join."""
    guests: int = 0
    """Seats for whoever joins by MCP."""
    cap: Cap
    unbounded: bool = False
    """Whether voices that cannot be held to a maximum were allowed."""
    deadline: datetime
    label: Label
    """Of all that is in it; it rises with what its voices read, and never falls."""
    began: Label | None = None
    """How secret it was at first; None where nobody knows, and it counts as it is now."""
    untrusted: bool = False
    private: bool = True
    """For whoever started it alone; a promoted one is a copy under a lower label, or shared with
    its project."""
    project: str | None = None
    """`prj_…` on the bridge."""
    part_of: DebateId | None = None
    """The analysis that it answers a sub-question of."""
    analysis: bool = False
    """Whether it is one itself: its notes are a plan and a synthesis, its parts are debates."""
    parts_most: int = 6
    """Of an analysis."""
    seed: int
    """Shuffles what is shown in the critique round: the same each time it goes on."""
    started_by: PrincipalId
    run: RunId
    context: ContextId | None = None
    """The task that it happens in."""
    status: DebateStatus = DebateStatus.RUNNING
    started_at: datetime
    ended_at: datetime | None = None
    spent: Cost = NOTHING
    decision: Decision | None = None

    @property
    def learns_from(self) -> Label:
        """How secret debates may be of which its weights are learnt: as it was at first, whatever
        was read in it since, so that it is decided alike whenever it is."""
        return self.label if self.began is None else meet(self.began, self.label)


@dataclass(frozen=True, slots=True)
class WholeDebate:
    debate: Debate
    notes: tuple[Note, ...]
    """In the order in which they were written down."""
