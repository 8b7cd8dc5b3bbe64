"""What the MCP face can call, as the composition root hands it over."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from portico.engine.ports import Wakeups
from portico.guard.authenticate import Entry
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
    changes: Callable[[SpaceId], AbstractContextManager[Wakeups]]
    """Rings when the catalogue of a space has changed."""
    version: str
