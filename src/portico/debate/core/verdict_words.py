"""What came of a debate, in a sentence: what happened, and what to do next. Every face says it in
these words."""

from collections.abc import Mapping
from typing import Final

from portico.debate.core.debate import DebateStatus
from portico.debate.core.decision import ANALYSIS, Decision, Verdict, Why
from portico.debate.core.outcome import Outcome

LONGEST: Final = 120
"""Letters of an answer within a sentence; the whole of it stands beside."""

_BECAUSE: Final[Mapping[Why, str]] = {
    Why.CERTAIN: "whoever was left could not have changed it",
    Why.LIKELY: "it is likely enough",
    Why.ALL_ASKED: "all have been asked",
    Why.TOO_SMALL_GAIN: "another answer was not worth its tokens",
    Why.BUDGET: "the budget had no room for another answer",
    Why.DEADLINE: "the deadline came",
    Why.STOPPED: "it was stopped",
}
_AGAIN: Final = "Ask more voices, or other ones."
_FURTHER: Final = "Ask more voices, or raise the thoroughness."
"""Where somebody was not asked who would be then."""
_NEVER: Final = "one voice alone is never a decision"
_LEFT: Final = f"of the voices only one was left to ask, and {_NEVER}"
_TOGETHER: Final = "What they say is put together in one text: read it, or ask other voices."
_NO_PART: Final = ("none of its parts was decided", "Look at what each of them came to.")
_OTHERS: Final = "See in its log why the others gave none, and ask more voices."
_UNDECIDED: Final[Mapping[Why, tuple[str, str]]] = {
    Why.NO_ANSWERS: (
        "nobody gave an answer that could be counted",
        "See in its log what each of them said, and ask others.",
    ),
    Why.BUDGET: (
        "the budget was spent before it was clear",
        "Give it a larger budget, or cheaper voices.",
    ),
    Why.DEADLINE: (
        "the deadline came before it was clear",
        "Give it more time, or fewer and quicker voices.",
    ),
    Why.STOPPED: (
        "it was stopped before it was clear",
        "Start it again, or replay what was said at a lower thoroughness.",
    ),
    Why.NO_QUORUM: (
        "two thirds of the weight, from two families of models, did not come together",
        "Ask more voices of other families, or have a person decide.",
    ),
}


def verdict_words(
    decision: Decision | None, status: DebateStatus, outcome: Outcome | None = None
) -> str:
    """One sentence on what happened, and where there is something to do, one on that. `outcome`:
    how it was marked since, which is how a person decides."""
    if decision is None:
        return _WITHOUT[status]
    match decision.verdict:
        case Verdict.DECIDED:
            return (
                f"Decided: {brief(decision.answer or '')} ({percent(decision.probability)}), since "
                f"{_BECAUSE.get(decision.why, 'all have been asked')}."
            )
        case Verdict.ESCALATED:
            return _escalated(decision, outcome)
        case _:
            reason, fix = _undecided(decision)
            return f"No decision: {reason}. {fix}"


def _escalated(decision: Decision, outcome: Outcome | None) -> str:
    against = f": {brief(decision.veto).rstrip('.')}" if decision.veto else ""
    if outcome is not None and outcome.shown is not None:
        said = brief(outcome.shown)
        return f"Decided by a person: {said}. A specialist had objected, with evidence{against}."
    return (
        f"Not decided: a specialist objects, with evidence{against}. "
        "A person decides now, by marking its outcome."
    )


def percent(probability: float) -> str:
    """Never 0 % or 100 %, which nobody can know."""
    return f"{min(max(round(probability * 100), 1), 99)} %"


def brief(text: str) -> str:
    """On one line, and not too long for a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _undecided(decision: Decision) -> tuple[str, str]:
    if decision.rule == ANALYSIS and decision.options and decision.why is Why.NO_ANSWERS:
        return _NO_PART
    if decision.why in _UNDECIDED:
        return _UNDECIDED[decision.why]
    if not decision.options:
        left = decision.why is Why.ALONE
        return (_LEFT, _OTHERS) if left else _UNDECIDED[Why.NO_ANSWERS]
    first, *others = decision.options
    again = _FURTHER if decision.saved_tokens else _AGAIN
    if decision.synthesis:
        again = _TOGETHER
    if decision.why is Why.ALONE:
        alone = f"only one voice gave an answer that could be counted, {brief(first.shown)}"
        return f"{alone}, and {_NEVER}", _OTHERS
    if decision.why is Why.TIE and others:
        second = others[0]
        stand = f"{percent(first.probability)} to {percent(second.probability)}"
        alike = f"{brief(first.shown)} and {brief(second.shown)} stand at {stand}"
        return f"the voices are split, and {alike}", again
    likeliest = f"the likeliest answer, {brief(first.shown)}, has only"
    return f"{likeliest} {percent(first.probability)}", again


_WITHOUT: Final[Mapping[DebateStatus, str]] = {
    DebateStatus.RUNNING: "Nothing is decided yet.",
    DebateStatus.STOPPED: "It was stopped before anything was decided. Start it again if you like.",
    DebateStatus.FAILED: "It failed before anything was decided. Its log says why.",
    DebateStatus.DECIDED: "It is over.",
    DebateStatus.NO_DECISION: f"No decision. {_AGAIN}",
    DebateStatus.ESCALATED: "Not decided. A person decides now, by marking its outcome.",
}
