"""What a caller has read, and where they are."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.messages import Message
from portico.bridge.core.projects import ProjectId
from portico.guard.core.access_request import TaintContext
from portico.guard.ports import Contexts
from portico.kernel.label import Label, join, meet
from portico.kernel.principal import Principal, PrincipalKind

# What a task has read on the bridge: it is raised before anything is handed out.


@dataclass(frozen=True, slots=True)
class TaintRecorder:
    contexts: Contexts

    async def at(self, caller: Principal) -> TaintContext:
        """Raises `ContextNotFound`."""
        return await self.contexts.get(caller)

    async def read(
        self, caller: Principal, labels: Iterable[Label], *, untrusted: bool = False
    ) -> None:
        """Raises `ContextNotFound`."""
        await self.contexts.raise_taint(caller, join(labels), untrusted=untrusted)

    async def read_messages(
        self, caller: Principal, messages: Iterable[Message], *, inside: Iterable[Label] = ()
    ) -> None:
        """And the labels of the conversations that they are `inside`: that nothing was said there
        is also told by them. Raises `ContextNotFound`."""
        every = tuple(messages)
        labels = [*inside, *(message.label for message in every)]
        await self.read(caller, labels, untrusted=any(message.untrusted for message in every))


INBOX: Final = "inbox"


def in_view_context(caller: Principal, where: ConversationId | ProjectId | None) -> Principal:
    """A person in front of a conversation, a project, or what is a list of both. Whoever says
    which task they are at stays there; and so does a program, whose task is its key, and a person
    whose key a model's window has: that remembers one conversation in the next."""
    if caller.kind is not PrincipalKind.PERSON or caller.window or caller.context is not None:
        return caller
    return replace(caller, place=INBOX if where is None else str(where))


def taking_out(caller: Principal, project: ProjectId) -> Principal:
    """A person who takes all of it out: that is a task of its own, not the project that is open."""
    there = in_view_context(caller, project)
    return there if there.place is None else replace(there, place=f"export of {project}")


def looking(caller: Principal, max_label: Label | None) -> Principal:
    """With no more than they want to see: who never sees more stays as low."""
    return (
        caller
        if max_label is None
        else replace(caller, clearance=meet(caller.clearance, max_label))
    )
