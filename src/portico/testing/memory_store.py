"""What the in-memory fakes share: rows of every space, writes that roll back, time and
randomness.
"""

import asyncio
import hashlib
from collections import UserDict, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar
from uuid import UUID

from portico.agents.core.agents import Agent, AgentId, AgentVersion
from portico.agents.core.traces import RunTrace, ToolUse, TurnTrace, UserInput
from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.declassification import Declassification
from portico.bridge.core.leases import Lease, LeaseId, Waiting
from portico.bridge.core.memory import MemoryEntry
from portico.bridge.core.messages import Message, MessageId, MessageVersion, NewMessage
from portico.bridge.core.presence import Presence
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.work_items import WorkItem, WorkItemId
from portico.debate.core.debaters import Debater, DebaterReply, DebaterRequest, Persona
from portico.debate.core.debates import Debate, DebateId, Note, Outcome
from portico.debate.core.questions import Cap
from portico.engine.core.event_log import Entry
from portico.gateway.core.calls import Call, CallId, ResultId
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, Passed, ToolPlace
from portico.gateway.core.servers import Server, ServerId
from portico.guard.core.approvals import Approval
from portico.guard.core.audit import Head, Link
from portico.guard.core.keys import StoredKey
from portico.guard.core.oauth_logins import Attempt, LoginClient, Tokens
from portico.guard.core.principals import Identity
from portico.guard.core.rules import Rule
from portico.guard.core.spaces import Space
from portico.kernel.budget import Cost
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.learning.core.observation import Count, CountKey
from portico.learning.core.past_plans import PastPlanId, StoredPlan
from portico.learning.core.suggestions import StoredSuggestion
from portico.learning.core.tool_graph import Sightings, ToolEdge
from portico.workflows.core.plan_learning import SuggestionId
from portico.workflows.core.saved import SavedWorkflow

# What the in-memory doors share: the rows of every space, and writes that can be taken back.
#
# It refuses what the database would refuse, with one error for all of it. What it does not imitate
# is that unfinished writes are hidden from others until they are done.

Key = TypeVar("Key")
Value = TypeVar("Value")

_undoing: ContextVar[list[Callable[[], object]] | None] = ContextVar("undoing", default=None)


class RowRefused(Exception):
    """A row of another space, one that points nowhere, or one that is there already."""


class Rows(UserDict[Key, Value]):
    """A table. What is written inside `all_or_nothing` remembers what was there before."""

    def __setitem__(self, key: Key, item: Value) -> None:
        self._remember(key)
        super().__setitem__(key, item)

    def __delitem__(self, key: Key) -> None:
        self._remember(key)
        super().__delitem__(key)

    def insert(self, key: Key, value: Value) -> None:
        if key in self.data:
            raise RowRefused(f"There is a row {key!r} already.")
        self[key] = value

    def drop(self, doomed: Callable[[Key, Value], bool]) -> None:
        for key in [key for key, value in self.items() if doomed(key, value)]:
            del self[key]

    def _remember(self, key: Key) -> None:
        undos = _undoing.get()
        if undos is None:
            return
        if key in self.data:
            before = self.data[key]
            undos.append(lambda: self.data.update({key: before}))
        else:
            undos.append(lambda: self.data.pop(key, None))


@dataclass(frozen=True, slots=True)
class HeldKey:
    key: StoredKey
    digest: bytes


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """`text` is JSON: a kept answer is what can be written down, not the values themselves."""

    fingerprint: str
    text: str


@dataclass(frozen=True, slots=True)
class Stream:
    """A topic: `first` is its oldest entry that is kept, `last` its newest."""

    label: Label
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MadeCall:
    """`arguments` of the call are JSON text here; `by` is the process that made it."""

    call: Call
    arguments: str
    by: str


@dataclass(frozen=True, slots=True)
class StoredText:
    principal: PrincipalId
    sealed: bytes
    until: datetime
    label: Label
    untrusted: bool


@dataclass(frozen=True, slots=True)
class StoredApproval:
    approval: Approval
    sealed: bytes


@dataclass(frozen=True, slots=True)
class KnownContext:
    """A task; `name` is None of one that is a key's."""

    principal: PrincipalId
    name: str | None
    opened_at: datetime
    label: Label = PUBLIC
    untrusted: bool = False
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AgentInput:
    """What somebody said to a run, as secret as the run was then."""

    said: UserInput
    label: Label


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """`calls` is what they counted for at `called_at`."""

    found_for: str = ""
    found_at: datetime | None = None
    calls: float = 0.0
    called_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KnownConversation:
    """`last` is the place of the last message; `newest` when it came, by label."""

    conversation: Conversation
    last: int
    newest: Mapping[Label, datetime]


@dataclass(frozen=True, slots=True)
class SentMessage:
    """`asked` is what was sent with its key."""

    message: Message
    position: int
    asked: NewMessage


@dataclass(frozen=True, slots=True)
class TakesPart:
    """All up to `read_to` is read, and what is at the places `apart` from it."""

    joined_at: datetime
    read_to: int
    apart: frozenset[int] = frozenset()
    muted: bool = False


@dataclass(frozen=True, slots=True)
class KnownWork:
    work: WorkItem
    key: str | None


class BridgeRows:
    """Of the bridge: each belongs to a space, by its key."""

    def __init__(self) -> None:
        super().__init__()
        self.projects: Rows[tuple[SpaceId, ProjectId], Project] = Rows()
        self.conversations: Rows[tuple[SpaceId, ConversationId], KnownConversation] = Rows()
        self.messages: Rows[tuple[SpaceId, MessageId], SentMessage] = Rows()
        self.message_places: Rows[tuple[SpaceId, ConversationId, int], MessageId] = Rows()
        self.message_versions: Rows[tuple[SpaceId, MessageId, int], MessageVersion] = Rows()
        self.message_acks: Rows[tuple[SpaceId, MessageId, PrincipalId], datetime] = Rows()
        self.participants: Rows[tuple[SpaceId, ConversationId, PrincipalId], TakesPart] = Rows()
        self.memories: Rows[tuple[SpaceId, ProjectId, str, Label, int], MemoryEntry] = Rows()
        self.attachments: Rows[tuple[SpaceId, Digest, Label], tuple[Attachment, bytes]] = Rows()
        self.leases: Rows[tuple[SpaceId, LeaseId], Lease] = Rows()
        self.lease_queue: Rows[tuple[SpaceId, ProjectId, LeaseId], Waiting] = Rows()
        self.lease_tokens: Rows[tuple[SpaceId, ProjectId], int] = Rows()
        self.works: Rows[tuple[SpaceId, WorkItemId], KnownWork] = Rows()
        self.presences: Rows[tuple[SpaceId, ProjectId, PrincipalId], Presence] = Rows()
        self.declassifications: Rows[tuple[SpaceId, ApprovalId], Declassification] = Rows()


@dataclass(frozen=True, slots=True)
class KnownNote:
    note: Note
    label: Label


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """What a guest is asked, and what they said."""

    guest: PrincipalId
    ask: DebaterRequest
    reply: DebaterReply | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """`label` is what it was charged as."""

    cost: Cost
    whole: DebateId
    project: str | None
    label: Label
    settled: bool = False


class DebateRows:
    """Of debates: each belongs to a space, by its key."""

    def __init__(self) -> None:
        super().__init__()
        self.debates: Rows[tuple[SpaceId, DebateId], Debate] = Rows()
        self.debate_notes: Rows[tuple[SpaceId, DebateId, str], KnownNote] = Rows()
        self.debate_seats: Rows[tuple[SpaceId, DebateId, PrincipalId], Debater] = Rows()
        self.debate_questions: Rows[tuple[SpaceId, DebateId, str], KnownQuestion] = Rows()
        self.debate_outcomes: Rows[tuple[SpaceId, DebateId, int], Outcome] = Rows()
        self.debate_personas: Rows[tuple[SpaceId, str], Persona] = Rows()
        self.debate_reservations: Rows[tuple[SpaceId, DebateId, str], Reservation] = Rows()
        self.debate_caps: Rows[tuple[SpaceId, ProjectId], Cap] = Rows()
        self.debate_spending: Rows[tuple[SpaceId, ProjectId, Label], Cost] = Rows()


class InMemoryStore(BridgeRows, DebateRows):
    """An installation's rows. Doors opened on one world see one another's writes."""

    def __init__(self) -> None:
        super().__init__()
        self.spaces: Rows[SpaceId, Space] = Rows()
        self.identities: Rows[tuple[SpaceId, PrincipalId], Identity] = Rows()
        self.keys: Rows[str, HeldKey] = Rows()
        self.settings: Rows[tuple[SpaceId, str], str] = Rows()
        self.receipts: Rows[tuple[SpaceId, PrincipalId, str, str], StoredAnswer] = Rows()
        self.streams: Rows[tuple[SpaceId, str], Stream] = Rows()
        self.events: Rows[tuple[SpaceId, str, int], Entry] = Rows()
        self.servers: Rows[tuple[SpaceId, ServerId], Server] = Rows()
        self.tools: Rows[tuple[SpaceId, ServerId], Sequence[Tool]] = Rows()
        self.embeddings: Rows[tuple[SpaceId, str, str], bytes] = Rows()
        self.calls: Rows[tuple[SpaceId, CallId], MadeCall] = Rows()
        self.results: Rows[tuple[SpaceId, ResultId], StoredText] = Rows()
        self.acquaintances: Rows[tuple[SpaceId, PrincipalId, ToolRef], Acquaintance] = Rows()
        self.shapes: Rows[tuple[SpaceId, ToolPlace], ObservedSchema] = Rows()
        self.flows: Rows[tuple[SpaceId, Passed], int] = Rows()
        self.edges: Rows[tuple[SpaceId, Label, ToolEdge], Sightings] = Rows()
        self.counts: Rows[tuple[SpaceId, Label, CountKey], Count] = Rows()
        self.rules: Rows[tuple[SpaceId, str], Rule] = Rows()
        self.saved_workflows: Rows[tuple[SpaceId, str], SavedWorkflow] = Rows()
        self.past_plans: Rows[tuple[SpaceId, PastPlanId], StoredPlan] = Rows()
        self.suggestions: Rows[tuple[SpaceId, SuggestionId], StoredSuggestion] = Rows()
        self.agents: Rows[tuple[SpaceId, AgentId], Agent] = Rows()
        self.agent_versions: Rows[tuple[SpaceId, AgentId, int], AgentVersion] = Rows()
        self.agent_runs: Rows[tuple[SpaceId, RunId], RunTrace] = Rows()
        self.agent_stops: Rows[tuple[SpaceId, RunId], datetime] = Rows()
        self.agent_turns: Rows[tuple[SpaceId, RunId, int], TurnTrace] = Rows()
        self.agent_uses: Rows[tuple[SpaceId, RunId, int, int], ToolUse] = Rows()
        self.agent_said: Rows[tuple[SpaceId, RunId, int], AgentInput] = Rows()
        self.audit: Rows[tuple[SpaceId, int], Link] = Rows()
        self.audit_heads: Rows[SpaceId, Head] = Rows()
        self.approvals: Rows[tuple[SpaceId, ApprovalId], StoredApproval] = Rows()
        self.contexts: Rows[tuple[SpaceId, ContextId], KnownContext] = Rows()
        self.token_subjects: Rows[tuple[SpaceId, str, str], PrincipalId] = Rows()
        self.login_clients: Rows[tuple[SpaceId, UUID], LoginClient] = Rows()
        self.logins: Rows[tuple[SpaceId, PrincipalId, object], Tokens] = Rows()
        self.login_attempts: Rows[bytes, Attempt] = Rows()
        self.turns: defaultdict[object, asyncio.Lock] = defaultdict(asyncio.Lock)

    def forget(self, space: SpaceId) -> None:
        """A space with everything in it, as the database's cascades do it."""
        self.keys.drop(lambda _, held: held.key.space == space)
        self.login_attempts.drop(lambda _, attempt: attempt.place.space == space)
        for rows in vars(self).values():
            if isinstance(rows, Rows):
                rows.drop(lambda place, _: space in (place, *_parts(place)[:1]))

    def unlearn(self, space: SpaceId, server: ServerId) -> None:
        """What was learnt of a server's tools goes with it."""
        self.shapes.drop(lambda place, _: (place[0], place[1].server) == (space, server))
        self.flows.drop(
            lambda place, _: (
                place[0] == space and server in (place[1].producer.server, place[1].consumer.server)
            )
        )
        self.edges.drop(
            lambda place, _: (
                place[0] == space and server in (place[2].earlier.server, place[2].later.server)
            )
        )
        self.counts.drop(lambda place, _: place[0] == space and server in place[2].servers)

    def log_out_of(self, space: SpaceId, server: ServerId) -> None:
        """What there is of a server's logins goes with it."""
        self.login_clients.pop((space, server.value), None)
        self.logins.drop(lambda place, _: (place[0], place[2]) == (space, server.value))
        self.login_attempts.drop(lambda _, attempt: attempt.place.server == server)


def _parts(key: object) -> tuple[object, ...]:
    return key if isinstance(key, tuple) else ()


def within(caller: Principal, space: SpaceId) -> None:
    """The wall around the caller's space. Raises `RowRefused`."""
    if caller.space != space:
        raise RowRefused(f"{caller.name!r} is not in the space {space}.")


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Takes back every write made inside it if it is left by an exception."""
    outer = _undoing.get()
    undos: list[Callable[[], object]] = []
    token = _undoing.set(undos)
    try:
        yield
    except BaseException:
        for undo in reversed(undos):
            undo()
        raise
    finally:
        _undoing.reset(token)
    if outer is not None:
        outer.extend(undos)


@asynccontextmanager
async def together(_caller: Principal, /) -> AsyncIterator[None]:
    """The guard's `UnitOfWork`."""
    with all_or_nothing():
        yield


BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


class TickingClock:
    """Starts at a fixed instant; each look at it moves it on, so that no two moments are one."""

    def __init__(self, start: datetime = BEGINNING, step: timedelta = _SECOND) -> None:
        self._next = start
        self._step = step

    def now(self) -> datetime:
        at = self._next
        self._next += self._step
        return at

    def turn(self, by: timedelta) -> None:
        self._next += by


class SeededEntropy:
    """The same bytes from the same seed, and never the same twice from one source."""

    def __init__(self, seed: str | int = "portico") -> None:
        self._seed = seed
        self._drawn = 0

    def __call__(self, size: int, /) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}:{self._drawn}".encode()).digest(size)
