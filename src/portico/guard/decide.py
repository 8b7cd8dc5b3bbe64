"""May this be done, by the rules in force and what has been read in the task so far?"""

from dataclasses import dataclass

from portico.guard.core.act import Act, Allowed, Decision, TaskContext
from portico.guard.core.policy import decide, worst_task
from portico.guard.core.rules import in_any_task
from portico.guard.ports import Contexts, Rules
from portico.kernel.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    rules: Rules
    contexts: Contexts
    clock: Clock

    async def __call__(self, act: Act) -> Decision:
        """Raises `ContextNotFound`.

        What would be allowed to the worst task that the caller's key can have, is allowed: then
        there is no need to look at which it is. A task that the caller names is always looked at:
        it may be somebody else's, or have read through another key what this one cannot.
        """
        caller, now = act.caller, self.clock.now()
        rules = await self.rules.all(caller)
        if caller.context is None and caller.reach is not None:
            worst = decide(act, worst_task(caller.reach), in_any_task(rules), now)
            if isinstance(worst, Allowed):
                return worst
        return decide(act, await self.contexts.get(caller), rules, now)

    async def in_task(self, act: Act, task: TaskContext) -> Decision:
        """As it would be decided if the caller's task had taken this in already."""
        return decide(act, task, await self.rules.all(act.caller), self.clock.now())
