"""The use cases of suggestions that faces call."""

from dataclasses import dataclass

from portico.learning.suggest.give_feedback import GiveFeedback
from portico.learning.suggest.suggest_workflow import SuggestWorkflow


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestUseCases:
    suggest_workflow: SuggestWorkflow
    give_feedback: GiveFeedback
