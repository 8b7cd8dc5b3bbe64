"""The use cases of plans that faces call."""

from dataclasses import dataclass
from datetime import timedelta

from portico.workflows.control import CancelWorkflow, ForkWorkflow, ResolveStep, ResumeWorkflow
from portico.workflows.run_queries import ListWorkflows, ShowWorkflow
from portico.workflows.runs import StartWorkflow, WaitForWorkflow


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowUseCases:
    start_workflow: StartWorkflow
    show_workflow: ShowWorkflow
    wait_for_workflow: WaitForWorkflow
    list_workflows: ListWorkflows
    cancel_workflow: CancelWorkflow
    resume_workflow: ResumeWorkflow
    fork_workflow: ForkWorkflow
    resolve_step: ResolveStep
    wait: timedelta = timedelta(seconds=50)
    """How long a client that runs a plan is kept waiting."""
