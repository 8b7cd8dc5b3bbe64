"""What a run asks people for, as it is drawn in its chat: the same request as in the inbox."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from portico.agents.core.events import ToolWaits
from portico.agents.core.traces import WholeTrace
from portico.guard.core.approvals import AnswerKind, Approval
from portico.guard.core.policy import Danger, Mark
from portico.interfaces.console.screens.approvals.arguments import Argument, table
from portico.interfaces.console.screens.approvals.request_view import MOST_JSON, grants_of
from portico.interfaces.console.screens.approvals.seen import seen, seen_json, sentence
from portico.kernel.json import JsonObject
from portico.workflows.core.plan_progress import step_asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    id: str
    step: str
    """The call of the run that waits: `call-3-0`."""
    tool: str
    question: str = ""
    why: str = ""
    given: Sequence[Argument] = ()
    written: str = ""
    """The arguments as JSON, to be changed; empty if they are too long for a form."""
    hides: bool = False
    """Part of the arguments is not shown, and would be lost by editing them."""
    grants: Mapping[str, str] = field(default_factory=dict)
    """By answer, what a yes lets through that holds for longer than once; empty where none may."""
    tainted: bool = False
    expires_at: datetime | None = None
    answerable: bool = False


def ask_of(approval: Approval, *, answerable: bool) -> Ask:
    waiter, written = approval.waiter, seen_json(approval.arguments)
    lasting = [kind for kind in (AnswerKind.RUN, AnswerKind.ALWAYS) if kind in approval.answers]
    return Ask(
        id=str(approval.id),
        step="" if waiter is None else step_asked(waiter.topic),
        tool=seen(approval.tool),
        question=seen(approval.question),
        why=f"{seen(approval.rule)}: {sentence(approval.reason)}",
        given=given_of(approval.arguments, approval.marks),
        written=written if len(written) <= MOST_JSON else "",
        hides=any(mark.why is Danger.HIDDEN for mark in approval.marks),
        grants={str(kind): grants_of(approval, kind) for kind in lasting},
        tainted=approval.tainted,
        expires_at=approval.expires_at,
        answerable=answerable,
    )


def ask_of_others(trace: WholeTrace, waits: ToolWaits) -> Ask:
    """For whoever may not answer: that it waits, and for what."""
    turns = [each for each in trace.turns if each.number == waits.turn]
    places = [at for each in turns for at, call in enumerate(each.calls) if call.id == waits.call]
    step = f"call-{waits.turn}-{places[0]}" if places else ""
    return Ask(id=str(waits.approval), step=step, tool=waits.tool, expires_at=waits.expires_at)


def given_of(arguments: JsonObject, marks: Sequence[Mark]) -> Sequence[Argument]:
    """As the inbox shows them, the dangerous ones first."""
    return sorted(table(arguments, marks), key=lambda each: not each.risks)
