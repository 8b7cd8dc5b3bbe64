"""What the room of debates needs from the outside world, in its own words."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from portico.debate.core.debaters import (
    Debater,
    DebaterReply,
    DebaterRequest,
    DebaterStatus,
    Persona,
)
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebateStatus,
    Decision,
    KnownOutcome,
    Note,
    Outcome,
    Seat,
    WholeDebate,
)
from portico.debate.core.events import DebateEvent, DebaterSpoke, DebateStreamItem
from portico.debate.core.questions import Cap
from portico.guard.core.access_request import TaintContext
from portico.kernel.budget import Cost
from portico.kernel.ids import ApprovalId, ContextId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


class Debaters(Protocol):
    """Whoever can be asked: models, agents, programs. Guests are asked by `Seats`."""

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[DebaterStatus]:
        """Whom the caller could ask, and whether they are there."""
        ...

    async def named(self, caller: Principal, target: str) -> Debater:
        """`openai:gpt-5`, `agent:reviewer`, `program:claude`. Raises `DebaterNotFound`,
        `DebaterUnavailable`."""
        ...

    async def ask(
        self, caller: Principal, ask: DebaterRequest, hear: Callable[[str], None]
    ) -> DebaterReply:
        """One try. Each piece of the answer is given to `hear` as it comes. Cancelling it hangs up.
        It never reads more of an answer than `ask.most_output` of a bounded voice.

        Raises `DebaterUnavailable`, `DebaterRefused`, `DebaterInterrupted`, `DebaterNotCleared`;
        each with the `cost` that it came to, where that is known.
        """
        ...


class Blackboard(Protocol):
    """Debates and their notes; what the caller may not read does not exist."""

    async def add(self, caller: Principal, debate: Debate) -> None:
        """Nothing, the second time. Raises `WriteDown`, `ProjectNotFound`."""
        ...

    async def read(self, caller: Principal, debate: DebateId) -> WholeDebate:
        """Raises `DebateNotFound`."""
        ...

    async def note(self, caller: Principal, debate: DebateId, note: Note, label: Label) -> Note:
        """The one that is there afterwards: this one, or an earlier one of its name. The debate's
        label rises to cover this one's. Nothing is added to one that is over. Raises
        `DebateNotFound`, `DebateOver`."""
        ...

    async def join(self, caller: Principal, debate: DebateId, voice: Debater) -> Debater:
        """A guest takes a seat: the one that is there afterwards. Raises `DebateNotFound`,
        `DebateOver`, `NoSeatLeft`."""
        ...

    async def end(
        self,
        caller: Principal,
        debate: DebateId,
        status: DebateStatus,
        decision: Decision | None,
        *,
        at: datetime,
    ) -> Debate:
        """Nothing, of one that is over. Its spending is what its notes and what was left reserved
        come to. Raises `DebateNotFound`."""
        ...

    async def share(self, caller: Principal, debate: DebateId) -> Debate:
        """No longer for its starter alone: whoever is in its project and cleared may read it.
        Raises `DebateNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        *,
        project: str | None,
        status: DebateStatus | None,
        words: str | None,
        after: DebateId | None,
        limit: int,
    ) -> Sequence[Debate]:
        """Newest first; parts of an analysis are with it, not here."""
        ...

    async def parts(self, caller: Principal, debate: DebateId) -> Sequence[Debate]: ...

    async def remove(self, caller: Principal, debate: DebateId) -> None:
        """With its parts. Raises `DebateNotFound`."""
        ...


class BudgetLedger(Protocol):
    """What debates may spend. A reservation is written down before the call it is for, in a
    transaction of its own: what was lost between call and note stays charged."""

    async def reserve(
        self, caller: Principal, debate: DebateId, name: str, cost: Cost
    ) -> tuple[str, ...]:
        """The caps that it would have passed: `debate.tokens`, `debate.money`, `project.tokens`,
        `project.money`, `analysis.tokens`…; nothing was reserved then. The same name again is
        the same reservation."""
        ...

    async def settle(self, caller: Principal, debate: DebateId, name: str, cost: Cost) -> None:
        """Never more than was reserved, but for a voice without a maximum: what is more is
        written down as well. Nothing, the second time."""
        ...

    async def committed(self, caller: Principal, debate: DebateId) -> Cost:
        """What is spent or reserved; of an analysis with its parts."""
        ...

    async def outstanding(self, caller: Principal, debate: DebateId) -> Mapping[str, Cost]:
        """What is reserved and not settled, by name; of this debate alone. Of a run that was cut
        off, what was under way then."""
        ...

    async def cap_project(self, caller: Principal, project: str, cap: Cap) -> None:
        """Raises `ProjectNotFound`."""
        ...

    async def project(self, caller: Principal, project: str) -> tuple[Cap, Cost, Label]:
        """Its cap; what its debates have spent or reserved that are no more secret than the caller
        may know, whoever may read them; and how secret that is. Raises `ProjectNotFound`."""
        ...


class Seats(Protocol):
    """Where guests are asked and answer."""

    async def ask(self, caller: Principal, debate: DebateId, ask: DebaterRequest) -> None:
        """It stands there until it is answered or the debate is over. Nothing the second time."""
        ...

    async def secrecy(self, guest: Principal, debate: DebateId) -> Label:
        """How secret a table is at which they sit or could: what they are told of it, refusals
        too, is as secret. Raises `DebateNotFound`."""
        ...

    async def seat(self, guest: Principal, debate: DebateId) -> Seat:
        """What the guest is asked now, if anything. Raises `DebateNotFound`, `NotSeated`."""
        ...

    async def answer(
        self, guest: Principal, debate: DebateId, key: str, reply: DebaterReply
    ) -> None:
        """The first answer counts. Raises `DebateNotFound`, `NotSeated`, `DebateOver`,
        `NoAnswerExpected`."""
        ...

    async def answered(
        self, caller: Principal, debate: DebateId, keys: Collection[str]
    ) -> Sequence[tuple[str, DebaterReply]]:
        """Of these questions, those that are answered."""
        ...


class Outcomes(Protocol):
    async def mark(self, caller: Principal, outcome: Outcome) -> None:
        """Raises `DebateNotFound`."""
        ...

    async def of(self, caller: Principal, debate: DebateId) -> Sequence[Outcome]:
        """Newest first."""
        ...

    async def known(
        self, caller: Principal, voices: Collection[str], *, limit: int, before: datetime
    ) -> Sequence[KnownOutcome]:
        """As it was known then: the newest that were marked by that time, each by its last mark
        until then. Of the space, as far as the caller may read it, and where one of these took
        part; oldest first."""
        ...


class Personas(Protocol):
    """Custom ones of a space."""

    async def all(self, caller: Principal) -> Sequence[Persona]: ...

    async def put(self, caller: Principal, persona: Persona) -> None: ...

    async def remove(self, caller: Principal, name: str) -> None:
        """Raises `PersonaNotFound`."""
        ...


class Meaning(Protocol):
    """What texts mean, without asking a model."""

    async def alike(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """How near each is to each, -1 to 1; empty where nothing here can tell."""
        ...


class DebateContexts(Protocol):
    """The task that a debate happens in: it has read what its starter had."""

    async def open(self, caller: Principal, name: str, label: Label) -> ContextId: ...

    async def at(self, caller: Principal) -> TaintContext:
        """What the caller's task has read."""
        ...

    async def read(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        """The caller is about to be handed something of this label."""
        ...


class Material(Protocol):
    """What a project knows."""

    async def project(self, caller: Principal, which: str) -> tuple[str, Label]:
        """By its id or its name: `prj_…`, and how secret it is. Raises `ProjectNotFound`."""
        ...

    async def of(
        self, caller: Principal, project: str, keys: Sequence[str]
    ) -> tuple[str, Label, bool]:
        """These memories as one text, how secret it is, and whether it may lie. Raises
        `ProjectNotFound`, `MemoryNotFound`."""
        ...


class Promotion(Protocol):
    """What is secret is read by others only on another person's word."""

    async def propose(self, caller: Principal, whole: WholeDebate, to: Label) -> ApprovalId:
        """Asks for it. Once a person has said yes to these very words there is a copy of it, as
        secret as `to`, for whoever is cleared for that; what looks like a secret is blacked out.
        The same again is the same request. Raises `NotLower`, `TooManyPendingApprovals`."""
        ...


class DebateEventSink(Protocol):
    async def publish(
        self, caller: Principal, debate: DebateId, *happenings: DebateEvent, label: Label
    ) -> None: ...

    def speak(
        self, caller: Principal, debate: DebateId, piece: DebaterSpoke, *, label: Label
    ) -> None:
        """Live only: nothing is kept of it."""
        ...

    def follow(
        self, caller: Principal, debate: DebateId, *, after: str | None
    ) -> AsyncGenerator[DebateStreamItem, None]:
        """From where one left off, until it is over. Raises `InvalidCursor`."""
        ...


class Logs(Protocol):
    """A file a debate, on this machine, for whoever runs it."""

    def write(self, space: SpaceId, whole: WholeDebate) -> str | None:
        """Where it is; None where none are kept."""
        ...

    def remove(self, space: SpaceId, debate: DebateId) -> None:
        """With the debate itself."""
        ...

    def purge(self, now: datetime) -> int:
        """How many were removed, by count, date or size, as is set."""
        ...
