"""What somebody is told who says what they want: a plan, how sure it is, why, and what it lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonObject
from portico.learning.core.suggest.askable import input_name
from portico.learning.core.suggest.mode import Mode
from portico.learning.core.suggest.suggested import Suggested
from portico.workflows.core.plan_learning import LONGEST_INTENT, SuggestionId


class BadIntent(PorticoError):
    kind = Kind.INVALID
    code = "bad_intent"
    title = "Not said what is wanted"
    fix = "Say in a sentence or two what should be done, with the values that it needs."

    def __init__(self, length: int) -> None:
        long = f"It has {length:,} characters; {LONGEST_INTENT:,} have to be enough."
        super().__init__(long if length else "It is empty.")
        self.length = length


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    id: SuggestionId | None
    """None if there is nothing to run, or if nothing can be kept here."""
    mode: Mode
    threshold: float
    """How sure it would have had to be for its first reads to be made."""
    suggested: Suggested
    plan: JsonObject | None
    """As `read_plan` reads it; what is missing is an input of it."""
    ahead: Sequence[str] = ()
    """Steps that are being read already. Nobody is told what they give before it is asked for."""
    expires_at: datetime | None = None

    @property
    def staged(self) -> Sequence[str]:
        """Steps that may change something: none of them is ever run before it is asked for."""
        return self.suggested.writes

    @property
    def needs(self) -> Mapping[str, Sequence[str]]:
        """Inputs that have to be given to run it, and which tools could give each."""
        return {
            input_name(each.step, each.parameter): each.could_give
            for each in self.suggested.missing
        }

    def as_json(self) -> JsonObject:
        told = self.suggested
        return {
            "suggestion": None if self.id is None else str(self.id),
            "mode": str(self.mode),
            "confidence": round(told.confidence, 4),
            "threshold": round(self.threshold, 4),
            "rationale": told.rationale,
            "plan": self.plan,
            "steps": [
                {
                    "id": step.id,
                    "tool": step.tool,
                    "effect": str(step.effect),
                    "confidence": round(step.confidence, 4),
                    "why": step.why,
                    "arguments": {
                        name: {"from": str(origin.kind), "what": origin.text}
                        for name, origin in step.arguments.items()
                    },
                }
                for step in told.steps
            ],
            "paths": [
                {
                    "hops": [
                        {
                            "from": hop.from_tool,
                            "to": hop.to_tool,
                            "confidence": round(hop.confidence, 4),
                        }
                        for hop in path.hops
                    ],
                    "direct": path.direct,
                    "words": str(path),
                }
                for path in told.paths
            ],
            "alternatives": [
                {"step": each.step, "tool": each.tool, "why": each.why}
                for each in told.alternatives
            ],
            "missing": [
                {
                    "step": each.step,
                    "parameter": each.parameter,
                    "input": input_name(each.step, each.parameter),
                    "could_give": list(each.could_give),
                }
                for each in told.missing
            ],
            "staged": list(self.staged),
            "ran_ahead": list(self.ahead),
            "expires_at": None if self.expires_at is None else self.expires_at.isoformat(),
        }
