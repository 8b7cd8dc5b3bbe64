"""The use cases of plans that faces call."""

from dataclasses import dataclass
from datetime import timedelta

from portico.gateway.workflows.control_workflow import CancelWorkflow, ResumeWorkflow
from portico.gateway.workflows.fork_workflow import ForkWorkflow
from portico.gateway.workflows.list_workflows import ListWorkflows
from portico.gateway.workflows.resolve_step import ResolveStep
from portico.gateway.workflows.show_workflow import ShowWorkflow
from portico.gateway.workflows.start_workflow import StartWorkflow
from portico.gateway.workflows.wait_for_workflow import WaitForWorkflow


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
