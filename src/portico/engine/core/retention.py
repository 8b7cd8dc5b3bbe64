"""How long things are kept once they are over, and what was let go of."""

from dataclasses import astuple, dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    runs: timedelta = timedelta(days=30)
    most_runs: int = 10_000
    """Of a space, however young they are."""
    events: timedelta = timedelta(days=90)
    receipts: timedelta = timedelta(days=7)
    calls: timedelta = timedelta(days=90)
    """Of tools, on the record, and requests to be allowed one; plans that nobody ran again, and
    what was suggested."""
    most_past_plans: int = 1_000
    """Of a principal, however lately they were run."""
    most_suggestions: int = 1_000
    """Of a principal, however lately they were made."""
    learned: timedelta = timedelta(days=365)
    """Of which tool comes after which, and what can be foretold, since it was last seen."""
    traces: timedelta = timedelta(days=90)
    """Of the runs of agents, since they were started."""
    messages: timedelta | None = None
    """On the bridge, with their attachments; None: for ever."""
    memory: timedelta | None = None
    """Of projects: versions that others have followed, and what was forgotten; None: for ever."""
    debates: timedelta | None = None
    """Since they were over; None: for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    runs: int = 0
    legs: int = 0
    events: int = 0
    months: int = 0
    """Of events and of calls, each a table."""
    receipts: int = 0
    calls: int = 0
    results: int = 0
    """Of calls, that were kept for a while."""
    approvals: int = 0
    past_plans: int = 0
    suggestions: int = 0
    edges: int = 0
    """Of the learnt graph."""
    counts: int = 0
    """Of what could be foretold."""
    traces: int = 0
    """Of runs of agents."""
    messages: int = 0
    attachments: int = 0
    memory: int = 0
    """Versions of what projects remember."""
    debates: int = 0

    @property
    def anything(self) -> bool:
        return any(astuple(self))
