"""What the doors of the bridge in memory have in common: who sees what, and who may write where."""

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import ConversationNotFound, ProjectNotFound, WriteDown
from portico.bridge.core.projects import Project, ProjectId
from portico.guard.core.access_request import TaskContext
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import ContextNotFound
from portico.kernel.label import PUBLIC, Label, meet
from portico.kernel.principal import Principal
from portico.testing.world import KnownConversation, MemoryWorld, RowRefused, Said


def visible(caller: Principal, upto: Label | None = None) -> Label:
    """The most secret that they may see, or want to."""
    return caller.clearance if upto is None else meet(caller.clearance, upto)


def check_label(world: MemoryWorld, caller: Principal, label: Label) -> None:
    """As the database does by itself. Raises `WriteDown`, `RowRefused`."""
    if not caller.clearance.covers(label):
        raise RowRefused(f"{label} is above the clearance of {caller.name!r}.")
    read = mark(world, caller)
    if not label.covers(read):
        raise WriteDown(label, read)


def task_of(world: MemoryWorld, caller: Principal) -> TaskContext:
    """Raises `ContextNotFound`."""
    context = context_of(caller)
    known = world.contexts.get((caller.space, context))
    if known is None and caller.context is None:
        return TaskContext(id=context)
    if known is None or known.closed_at is not None or known.principal != caller.id:
        raise ContextNotFound(str(caller.context))
    return TaskContext(id=context, label=known.label, untrusted=known.untrusted)


def mark(world: MemoryWorld, caller: Principal) -> Label:
    """What their task has read."""
    known = world.contexts.get((caller.space, context_of(caller)))
    return PUBLIC if known is None else known.label


def project_there(world: MemoryWorld, caller: Principal, project: ProjectId) -> Project:
    """Raises `ProjectNotFound`."""
    known = world.projects.get((caller.space, project))
    if known is None or not caller.clearance.covers(known.label):
        raise ProjectNotFound(str(project))
    return known


def takes_part(world: MemoryWorld, caller: Principal, conversation: ConversationId) -> bool:
    return (caller.space, conversation, caller.id) in world.participants


def sees_conversation(world: MemoryWorld, caller: Principal, known: KnownConversation) -> bool:
    its = known.conversation
    return caller.clearance.covers(its.label) and (
        not its.closed or takes_part(world, caller, its.id)
    )


def there(world: MemoryWorld, caller: Principal, conversation: ConversationId) -> KnownConversation:
    """Raises `ConversationNotFound`."""
    known = world.conversations.get((caller.space, conversation))
    if known is None or not sees_conversation(world, caller, known):
        raise ConversationNotFound(str(conversation))
    return known


def sees(world: MemoryWorld, caller: Principal, said: Said, upto: Label | None = None) -> bool:
    """A message: for whoever may see it and the conversation that it is in."""
    known = world.conversations[caller.space, said.message.conversation]
    return visible(caller, upto).covers(said.message.label) and sees_conversation(
        world, caller, known
    )
