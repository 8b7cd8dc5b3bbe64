"""Outcomes: mark what turned out, promote a debate."""

from dataclasses import dataclass

from portico.debate.core.canonical_answers import canonical
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebaterAnswer,
    NoteKind,
    Outcome,
    OutcomeSpec,
    WholeDebate,
)
from portico.debate.core.errors import InvalidDebate
from portico.debate.core.questions import QuestionKind
from portico.debate.core.vote_weights import matched
from portico.debate.debates import DebateAccess
from portico.debate.ports import Blackboard, DebateContexts, Outcomes, Promotion
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOutcome:
    blackboard: Blackboard
    outcomes: Outcomes
    tasks: DebateContexts
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, which: DebateId, wish: OutcomeSpec) -> Outcome:
        """The newest counts. Raises `NotPermitted`, `DebateNotFound`, `InvalidDebate`."""
        require_scope(caller, Scope.DEBATES_RUN)
        see = DebateAccess(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see(caller, which)
        key, shown, right = _meant(whole, wish)
        outcome = Outcome(
            debate=which,
            right=key,
            shown=shown,
            decided_right=right,
            source=wish.source,
            note=wish.note[:2_000],
            by=caller.id,
            at=self.clock.now(),
        )
        await self.outcomes.mark(caller, outcome)
        entry = AuditEntry(
            action="debate.outcome",
            subject=str(which),
            details={"decided_right": right, "source": str(wish.source)},
        )
        await self.audit.note(caller, entry)
        return outcome


def _meant(whole: WholeDebate, wish: OutcomeSpec) -> tuple[str | None, str | None, bool]:
    """The key of the right answer, how it is shown, and whether it was decided so. Raises
    `InvalidDebate`."""
    its = whole.debate
    if not its.status.over:
        raise InvalidDebate(f"{its.id} is not over yet.", "Wait for its end, or stop it.")
    if its.analysis:
        raise InvalidDebate(
            "An analysis has no one answer that is right or wrong.",
            "Mark the outcome of its parts.",
        )
    decided = None if its.decision is None else its.decision.given_out
    if wish.answer is not None:
        key, shown = _answer(whole, wish.answer)
        right = decided is not None and decided.key == key
        if wish.right is not None and wish.right is not right:
            raise InvalidDebate(
                "Whether it was right and which answer is right contradict each other.",
                "Say only one of the two.",
            )
        return key, shown, right
    if wish.right is None:
        raise InvalidDebate(
            "Nothing was said of how it turned out.", "Say `right`, or the `answer`."
        )
    if decided is None:
        raise InvalidDebate(
            "Nothing was decided that could be right or wrong.", "Say which `answer` is right."
        )
    return (decided.key, decided.shown, True) if wish.right else (None, None, False)


def _answer(whole: WholeDebate, answer: str) -> tuple[str, str]:
    """As it would have been counted in the debate. Raises `InvalidDebate`."""
    its = whole.debate
    if its.question.kind is QuestionKind.OPEN:
        return _voice(its, answer)
    found = canonical(its.question, answer)
    if found is None:
        said = " ".join(answer.split())[:80]
        raise InvalidDebate(f"{said!r} is none of the answers that this has.", _answers(its))
    said_so = [
        DebaterAnswer.from_json(note.body) for note in whole.notes if note.kind is NoteKind.SAID
    ]
    keys = {
        was.key: now for was, now in zip(said_so, matched(its, said_so, whole.notes), strict=True)
    }
    same = keys.get(found.key)
    return (found.key, found.shown) if same is None else (same.key, same.shown)


def _voice(debate: Debate, answer: str) -> tuple[str, str]:
    """The best answer to an open question is named by its voice. Raises `InvalidDebate`."""
    options = debate.decision.options if debate.decision is not None else ()
    for option in options:
        if answer.strip() in (option.key, option.shown, *option.debaters):
            return option.key, option.key
    names = ", ".join(option.key for option in options) or "nobody"
    raise InvalidDebate(
        "Of an open question, the right answer is named by who gave it.",
        f"Say one of: {names}.",
    )


def _answers(debate: Debate) -> str:
    match debate.question.kind:
        case QuestionKind.CHOICE:
            return f"Say one of: {', '.join(debate.question.choices)}."
        case QuestionKind.YES_NO:
            return "Say yes or no."
        case QuestionKind.NUMBER | QuestionKind.TEXT | QuestionKind.OPEN:
            return "Say the answer as the voices were asked to give it."


# Ask that a debate be read by people who are cleared for less: a person has to say yes first.


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteDebate:
    blackboard: Blackboard
    tasks: DebateContexts
    promotion: Promotion

    async def __call__(self, caller: Principal, which: DebateId, to: Label) -> ApprovalId:
        """What is asked of that person. Raises `NotPermitted`, `DebateNotFound`, `InvalidDebate`,
        `NotLower`, `TooManyPendingApprovals`."""
        require_scope(caller, Scope.DEBATES_RUN)
        see = DebateAccess(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        if not whole.debate.status.over:
            raise InvalidDebate(f"{which} is not over yet.", "Wait for its end, or stop it.")
        return await self.promotion.propose(caller, whole, to)
