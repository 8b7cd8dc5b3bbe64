"""Where somebody is on the bridge: what a person has open is a task of its own."""

from dataclasses import replace
from typing import Final

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.project import ProjectId
from portico.kernel.label import Label, meet
from portico.kernel.principal import Principal, PrincipalKind

INBOX: Final = "inbox"


def at_place(caller: Principal, where: ConversationId | ProjectId | None) -> Principal:
    """A person in front of a conversation, a project, or what is a list of both. Whoever says
    which task they are at stays there; and so does a program, whose task is its key, and a person
    whose key a model's window has: that remembers one conversation in the next."""
    if caller.kind is not PrincipalKind.PERSON or caller.window or caller.context is not None:
        return caller
    return replace(caller, place=INBOX if where is None else str(where))


def taking_out(caller: Principal, project: ProjectId) -> Principal:
    """A person who takes all of it out: that is a task of its own, not the project that is open."""
    there = at_place(caller, project)
    return there if there.place is None else replace(there, place=f"export of {project}")


def looking(caller: Principal, upto: Label | None) -> Principal:
    """With no more than they want to see: who never sees more stays as low."""
    return caller if upto is None else replace(caller, clearance=meet(caller.clearance, upto))
