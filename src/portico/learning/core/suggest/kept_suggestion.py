"""A suggestion as it is kept: for an hour with its plan, which is its caller's alone and sealed
elsewhere, and afterwards for what became of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.gateway.core.calls import ResultId
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.label import Label
from portico.learning.core.suggest.kept_plan import PastPlanId
from portico.learning.core.suggest.mode import Mode
from portico.learning.core.suggest.threshold import Outcome
from portico.workflows.core.plan_learning import SuggestionId

LIFE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSuggestion:
    id: SuggestionId
    principal: PrincipalId
    label: Label
    """Of the task that it was made in, once it had taken in what it was made from."""
    mode: Mode
    raw: float
    """What the calibration is taught by."""
    backing: float
    """The same: as much of it as counted."""
    confidence: float
    past: tuple[PastPlanId, ...]
    """What it leans on."""
    plan: ResultId
    made_at: datetime
    expires_at: datetime
    run: RunId | None = None
    outcome: Outcome | None = None
    settled_at: datetime | None = None

    def outcome_at(self, now: datetime) -> Outcome | None:
        """What became of it; None while something still may."""
        if self.outcome is None and self.expires_at <= now:
            return Outcome.UNCLAIMED
        return self.outcome


class SuggestionNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "suggestion_not_found"
    title = "No such suggestion"
    fix = 'Ask again for what you want: `run_workflow` with `intent`, or `portico plan "…"`.'

    def __init__(self, suggestion: str) -> None:
        super().__init__(f"There is no suggestion {suggestion} of yours, or its hour is over.")
        self.suggestion = suggestion


class NothingSuggested(PorticoError):
    kind = Kind.NOT_FOUND
    code = "nothing_suggested"
    title = "A run that nothing suggested"
    fix = "Say it of a run that began from a suggestion, or of the suggestion itself (sug_…)."

    def __init__(self, run: str) -> None:
        super().__init__(f"{run} is no run of yours that a suggestion led to.")
        self.run = run
