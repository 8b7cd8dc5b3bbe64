"""The doors of the gate in memory: rules, tasks, and limits that are never reached."""

from collections.abc import Iterable, Sequence

from portico.guard.core.access_request import Act, TaskContext
from portico.guard.core.contexts import context_of, risen
from portico.guard.core.errors import RuleTaken
from portico.guard.core.rules import Rule
from portico.guard.policy import Decide
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, CallLimits, Contexts, Rules
from portico.kernel.ids import ContextId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.audit import MemoryAudit
from portico.testing.kernel import TickingClock
from portico.testing.world import MemoryWorld, RowRefused


class MemoryRules:
    """`of_the_file` are in force in every space. Without a world it takes anybody's rules."""

    def __init__(self, of_the_file: Iterable[Rule] = (), world: MemoryWorld | None = None) -> None:
        self._world = MemoryWorld() if world is None else world
        self._anywhere = world is None
        self._file = tuple(of_the_file)

    async def all(self, caller: Principal) -> Sequence[Rule]:
        own = [rule for (space, _), rule in self._world.rules.items() if space == caller.space]
        return [*self._file, *own]

    async def add(self, caller: Principal, rule: Rule) -> None:
        if not self._anywhere and caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        if (caller.space, rule.name) in self._world.rules:
            raise RuleTaken(rule.name)
        self._world.rules[caller.space, rule.name] = rule

    async def remove(self, caller: Principal, name: str) -> bool:
        return self._world.rules.pop((caller.space, name), None) is not None


class MemoryContexts:
    """A task a key; of whoever comes without one, a task of its own. `looked` counts the looks."""

    def __init__(self) -> None:
        self.tasks: dict[ContextId, TaskContext] = {}
        self.looked = 0

    async def get(self, caller: Principal) -> TaskContext:
        self.looked += 1
        return self._of(caller)

    async def rise(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        now = self._of(caller)
        self.tasks[now.id] = risen(now, label, untrusted=untrusted)

    def _of(self, caller: Principal) -> TaskContext:
        task = context_of(caller)
        return self.tasks.get(task, TaskContext(id=task))


class NoLimits:
    async def take_own(self, act: Act) -> None:
        """As often as anybody likes."""

    async def take_shared(self, act: Act) -> None:
        """The same."""

    async def take_ahead(self, act: Act, share: float) -> None:
        """The same."""


def a_gate(
    *,
    rules: Rules | None = None,
    contexts: Contexts | None = None,
    limits: CallLimits | None = None,
    journal: Audit | None = None,
) -> Gate:
    tasks = contexts or MemoryContexts()
    return Gate(
        decide=Decide(rules=rules or MemoryRules(), contexts=tasks, clock=TickingClock()),
        limits=limits or NoLimits(),
        contexts=tasks,
        journal=journal or MemoryAudit(),
    )
