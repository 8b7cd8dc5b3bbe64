"""What the MCP face can call, as the composition root hands it over."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from portico.engine.ports import Wakeups
from portico.guard.authentication import Entry
from portico.kernel.ids import ContextId, SpaceId
from portico.kernel.principal import Principal

if TYPE_CHECKING:  # their index and their numbers load late
    from portico.gateway.approved_calls import ReadApproved
    from portico.gateway.calls import CallTool
    from portico.gateway.catalog import ListServerTools
    from portico.gateway.resources_and_prompts import Complete, GetPrompt, ListOffers, ReadResource
    from portico.gateway.results import ReadResult
    from portico.gateway.search import FindTools
    from portico.gateway.surface import DescribeTools, ShowSurface
    from portico.learning.suggest.give_feedback import GiveFeedback
    from portico.learning.suggest.suggest_workflow import SuggestWorkflow
    from portico.workflows.programs import StartProgram, WaitForProgram
    from portico.workflows.runs import RunWorkflow, WaitForWorkflow


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowUses:
    run_workflow: "RunWorkflow"
    suggest_workflow: "SuggestWorkflow"
    give_feedback: "GiveFeedback"
    wait_for_workflow: "WaitForWorkflow"
    start_program: "StartProgram"
    wait_for_program: "WaitForProgram"
    patience: timedelta
    """How long what a model has started is waited for before it is told where to ask again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayUses:
    authenticate: Callable[[str], Awaitable[Entry]]
    enter_context: Callable[[Principal, ContextId], Awaitable[Principal]]
    show_surface: "ShowSurface"
    list_server_tools: "ListServerTools"
    find_tools: "FindTools"
    describe_tools: "DescribeTools"
    call_tool: "CallTool"
    read_result: "ReadResult"
    read_approved: "ReadApproved"
    list_offers: "ListOffers"
    read_resource: "ReadResource"
    get_prompt: "GetPrompt"
    complete: "Complete"
    workflows: "WorkflowUses"
    changes: Callable[[SpaceId], AbstractContextManager[Wakeups]]
    """Rings when the catalogue of a space has changed."""
    version: str
