"""What plans are learned from: a suggestion that was accepted, and a plan that ended well."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from portico.kernel.ids import Id
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.workflows.core.plan import Plan

LONGEST_INTENT: Final = 2_000
"""Characters."""


class SuggestionId(Id):
    __slots__ = ()
    prefix = "sug"


@dataclass(frozen=True, slots=True)
class AcceptedSuggestion:
    plan: JsonObject
    intent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEnd:
    caller: Principal
    label: Label
    """Of the run: it covers all that its servers know."""
    plan: Plan
    inputs: JsonObject
    done: AbstractSet[str]
    """The steps that gave something; one that was left out teaches nothing."""
    intent: str | None
    """What its caller wanted, if they said so."""


PlanObserver = Callable[[PlanEnd], None]
"""Learns from plans that ended well. The run waits while it takes note, so it does no more."""
