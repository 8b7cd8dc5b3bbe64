"""The request at hand: its key, its endpoint, what it may call, and the errors of MCP."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from starlette.types import Scope

from portico.engine.ports import Wakeups
from portico.guard.authentication import Entry
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import ContextId, SpaceId
from portico.kernel.principal import Principal

if TYPE_CHECKING:
    from portico.gateway.approved_calls import ReadApproved
    from portico.gateway.calls import CallTool
    from portico.gateway.catalog import ListServerTools
    from portico.gateway.resources_and_prompts import Complete, GetPrompt, ListOffers, ReadResource
    from portico.gateway.results import ReadResult
    from portico.gateway.search import FindTools
    from portico.gateway.surface import DescribeTools, ShowSurface
    from portico.learning.suggestions import GiveFeedback, SuggestWorkflow
    from portico.workflows.programs import StartProgram, WaitForProgram
    from portico.workflows.runs import RunWorkflow, WaitForWorkflow


class EndpointNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "no_such_door"
    type_name = "NoSuchDoor"
    title = "There is no such address"
    fix = (
        "The gateway is at /mcp, one server behind it at /mcp/servers/NAME, the bridge at "
        "/mcp/bridge, debates at /mcp/debate."
    )

    def __init__(self) -> None:
        super().__init__("No MCP server is at this address.")


class ElicitationNotFound(PorticoError):
    kind = Kind.INVALID
    code = "no_such_question"
    type_name = "NoSuchQuestion"
    title = "Nobody waits for this answer"
    fix = "Call the tool again without requestState, and answer what it asks within five minutes."

    def __init__(self) -> None:
        super().__init__(
            "No call waits here for this answer: it was answered already, it has expired, it was "
            "another call, or another process of Portico holds it."
        )


class TooManyWaiting(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_waiting"
    title = "Too many calls wait for an answer"
    fix = "Answer those that wait, or let them expire: they do so after five minutes."

    def __init__(self) -> None:
        super().__init__("Too many calls wait for their callers' answers already.")


class TooManyListening(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_listening"
    title = "Too many listen already"
    fix = "List again now and then instead."

    def __init__(self) -> None:
        super().__init__("Too many clients listen for changes already.")


class TooManySessions(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_sessions"
    title = "Too many sessions are open"
    fix = "End a session that is not needed (DELETE), or try again later."

    def __init__(self) -> None:
        super().__init__("Too many sessions are open, and all of them are in use.")


PATH: Final = "/mcp"
_ONE_SERVER: Final = f"{PATH}/servers/"
_KNOCK: Final = "portico.knock"


@dataclass(frozen=True, slots=True)
class McpRequestContext:
    entry: Entry
    server: str | None
    """The one server whose own tools are wanted; None for the gateway."""
    again: Callable[[], Awaitable[Entry]]
    """Who the same key makes of its bearer by now. Raises `NotAuthenticated`."""

    @property
    def caller(self) -> Principal:
        return self.entry.principal

    @property
    def owner(self) -> tuple[str, str | None, ContextId | None]:
        """What lasts longer than a request belongs to this: another key of the same principal
        may see less, another door shows something else, and another task has read less."""
        return self.entry.key_id, self.server, self.caller.context


def endpoint_of(path: str) -> str | None:
    """The name of the server, None for the gateway. Raises `EndpointNotFound` for neither."""
    if path == PATH:
        return None
    name = path.removeprefix(_ONE_SERVER)
    if name == path or not name or "/" in name:
        raise EndpointNotFound
    return name


def put_knock(scope: Scope, knock: McpRequestContext) -> None:
    scope[_KNOCK] = knock


def knock_of(scope: Scope) -> McpRequestContext:
    found: McpRequestContext = scope[_KNOCK]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowUses:
    run_workflow: "RunWorkflow"
    suggest_workflow: "SuggestWorkflow"
    give_feedback: "GiveFeedback"
    wait_for_workflow: "WaitForWorkflow"
    start_program: "StartProgram"
    wait_for_program: "WaitForProgram"
    wait_timeout: timedelta
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


async def at_window(authenticate: Callable[[str], Awaitable[Entry]], shown: str) -> Entry:
    """Whoever comes over MCP is a model's window, also with a person's key. They are looked at each
    time, and not remembered for a second as at the gateway: in that second they would still be told
    what they are not cleared for any more."""
    entry = await authenticate(shown)
    return replace(entry, principal=replace(entry.principal, window=True))
