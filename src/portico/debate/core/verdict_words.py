"""What came of a debate, in a sentence: what happened, and what to do next. Every face says it in
these words."""

from collections.abc import Mapping
from typing import Final

from portico.debate.core.debate import DebateStatus
from portico.debate.core.decision import Decision, Verdict, Why

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
_AGAIN: Final = "Ask more voices, or raise the thoroughness."
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


def verdict_words(decision: Decision | None, status: DebateStatus) -> str:
    """One sentence on what happened, and where there is something to do, one on that."""
    if decision is None:
        return _WITHOUT[status]
    match decision.verdict:
        case Verdict.DECIDED:
            return (
                f"Decided: {brief(decision.answer or '')} ({percent(decision.probability)}), since "
                f"{_BECAUSE.get(decision.why, 'all have been asked')}."
            )
        case Verdict.ESCALATED:
            against = f": {brief(decision.veto)}" if decision.veto else ""
            return (
                f"Not decided: a specialist objects, with evidence{against}. "
                "A person decides now, by marking its outcome."
            )
        case _:
            reason, fix = _undecided(decision)
            return f"No decision: {reason}. {fix}"


def percent(probability: float) -> str:
    """Never 0 % or 100 %, which nobody can know."""
    return f"{min(max(round(probability * 100), 1), 99)} %"


def brief(text: str) -> str:
    """On one line, and not too long for a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _undecided(decision: Decision) -> tuple[str, str]:
    if decision.why in _UNDECIDED:
        return _UNDECIDED[decision.why]
    if not decision.options:
        return _UNDECIDED[Why.NO_ANSWERS]
    first, *others = decision.options
    if decision.why is Why.TIE and others:
        second = others[0]
        stand = f"{percent(first.probability)} to {percent(second.probability)}"
        alike = f"{brief(first.shown)} and {brief(second.shown)} stand at {stand}"
        return f"the voices are split, and {alike}", _AGAIN
    likeliest = f"the likeliest answer, {brief(first.shown)}, has only"
    return f"{likeliest} {percent(first.probability)}", _AGAIN


_WITHOUT: Final[Mapping[DebateStatus, str]] = {
    DebateStatus.RUNNING: "Nothing is decided yet.",
    DebateStatus.STOPPED: "It was stopped before anything was decided. Start it again if you like.",
    DebateStatus.FAILED: "It failed before anything was decided. Its log says why.",
    DebateStatus.DECIDED: "It is over.",
    DebateStatus.NO_DECISION: f"No decision. {_AGAIN}",
    DebateStatus.ESCALATED: "Not decided. A person decides now, by marking its outcome.",
}
