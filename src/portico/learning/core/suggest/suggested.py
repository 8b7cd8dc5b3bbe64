"""A suggestion: a plan that nobody wrote, how sure it is, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from portico.kernel.effect import Effect
from portico.learning.core.suggest.fill import From, MissingArgument, Origin
from portico.learning.core.suggest.paths import DependencyPath
from portico.workflows.core.plan import Plan


@dataclass(frozen=True, slots=True)
class SuggestedStep:
    id: str
    tool: str
    effect: Effect
    confidence: float
    """That its tool belongs to the plan."""
    why: str
    arguments: Mapping[str, Origin]
    missing: Sequence[str]
    """What it has to be told, and nothing gives."""

    @property
    def known(self) -> bool:
        """All that it has to be told is, without waiting for anything."""
        waits = any(origin.kind is From.STEP for origin in self.arguments.values())
        return not self.missing and not waits


@dataclass(frozen=True, slots=True)
class Alternative:
    step: str
    tool: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggested:
    plan: Plan | None
    """Without a value where one is missing."""
    confidence: float
    raw: float
    """As it was before calibration; what becomes of the suggestion teaches by it."""
    backing: float = 1.0
    """As much of its confidence as the runs behind it allow."""
    steps: Sequence[SuggestedStep] = ()
    paths: Sequence[DependencyPath] = ()
    alternatives: Sequence[Alternative] = ()
    missing: Sequence[MissingArgument] = ()
    rationale: str = ""
    past: Sequence[str] = ()
    """The past plans that it leans on."""

    @property
    def ready(self) -> Sequence[SuggestedStep]:
        """The reads that could be made at once: before anything is changed, all they need known."""
        reads = takewhile(lambda step: step.effect.reads_only, self.steps)
        return [step for step in reads if step.known]

    @property
    def writes(self) -> Sequence[str]:
        """Steps that may change something: never done before somebody says so."""
        return [step.id for step in self.steps if not step.effect.reads_only]
