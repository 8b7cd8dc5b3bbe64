"""What the routes of saved workflows can call."""

from dataclasses import dataclass

from portico.gateway.workflows.look_at_saved import ListSaved, ShowSaved
from portico.gateway.workflows.save_workflow import RemoveSaved, SaveWorkflow


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedUseCases:
    save_workflow: SaveWorkflow
    list_saved: ListSaved
    show_saved: ShowSaved
    remove_saved: RemoveSaved
