"""What an approved call gave, for whoever asked for it."""

from dataclasses import dataclass, replace
from typing import Protocol

from portico.gateway.core.call import Answer, Called, CallId, ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.core.kept_answer import answer_from
from portico.gateway.core.server import WORKFLOWS
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import Results
from portico.guard.core.access_request import Action
from portico.guard.core.approvals import Approval, Outcome
from portico.guard.core.principals import Scope
from portico.guard.core.rules import on_lists
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.json import JsonObject, canonical
from portico.kernel.principal import Principal


class Latest(Protocol):
    async def __call__(self, caller: Principal, answer: Answer) -> Answer:
        """What a workflow gives by now, if it had not ended when it was answered so."""
        ...


async def as_kept(caller: Principal, answer: Answer) -> Answer:  # noqa: ARG001 # as the port is
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOutcome:
    results: Results
    contexts: Contexts
    clock: Clock
    latest: Latest = as_kept

    async def __call__(self, caller: Principal, approval: Approval) -> Called | None:
        """Whole, as often as it is asked for until it is kept no longer. None if it gave nothing
        yet, if that is gone, and to everybody but the asker with a key that may call this."""
        if not (caller.may(Scope.TOOLS_CALL) and on_lists(caller, approval.tool)):
            return None
        if approval.outcome is not Outcome.DONE or approval.asker.id != caller.id:
            return None
        if approval.result is None:
            return Called(_said_to_be_done(approval), CallId(approval.id.value))
        try:
            kept = await self.results.get(caller, ResultId.parse(approval.result), self.clock.now())
        except ResultNotFound:
            return None
        # Whichever task it is read in takes it in, also one that did not ask for it.
        await self.contexts.rise(caller, kept.label, untrusted=kept.untrusted)
        found = answer_from(kept.content)
        if found is None:
            return None
        answer, call = found
        if ToolRef.parse(approval.tool).server == WORKFLOWS:  # nobody else's server is called so
            answer = await self.latest(caller, answer)
        return Called(_with_note(answer, approval), call)


def _said_to_be_done(approval: Approval) -> Answer:
    """Which of the recorded calls it was, if any, nobody knows: it goes by its request's number."""
    if approval.action is Action.DECLASSIFY:
        told = "[This was done.]"
    elif approval.resolved_by is None:
        told = f"[This was done; what it answered could not be kept. {approval.error or ''}]"
    else:
        told = f"[{approval.resolved_by} says that this was done; what it answered is not known.]"
    return Answer(content=[{"type": "text", "text": told}])


def _with_note(answer: Answer, approval: Approval) -> Answer:
    """Whoever asked must know that what was done is not what they asked for."""
    if approval.replaces is None:
        return answer
    by = "" if approval.answered is None else f" by {approval.answered.by_name}"
    with_these = canonical(approval.arguments).decode()
    note: JsonObject = {
        "type": "text",
        "text": f"[approved{by} with other arguments than asked for: {with_these}]",
    }
    return replace(answer, content=[*answer.content, note])
