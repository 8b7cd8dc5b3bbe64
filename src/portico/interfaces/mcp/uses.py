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
    from portico.gateway.call_tool import CallTool
    from portico.gateway.describe_tools import DescribeTools
    from portico.gateway.find_tools import FindTools
    from portico.gateway.keep_result import ReadResult
    from portico.gateway.list_server_tools import ListServerTools
    from portico.gateway.pass_through import Complete, GetPrompt, ListOffers, ReadResource
    from portico.gateway.read_approved import ReadApproved
    from portico.gateway.show_surface import ShowSurface
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
