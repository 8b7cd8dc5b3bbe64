"""What the routes of saved workflows can call."""

from dataclasses import dataclass

from portico.workflows.saved import ListSaved, RemoveSaved, SaveWorkflow, ShowSaved


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedUseCases:
    save_workflow: SaveWorkflow
    list_saved: ListSaved
    show_saved: ShowSaved
    remove_saved: RemoveSaved
