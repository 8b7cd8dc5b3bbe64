"""The use cases of suggestions that faces call."""

from dataclasses import dataclass

from portico.gateway.suggest.give_feedback import GiveFeedback
from portico.gateway.suggest.suggest_workflow import SuggestWorkflow


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestUseCases:
    suggest_workflow: SuggestWorkflow
    give_feedback: GiveFeedback
