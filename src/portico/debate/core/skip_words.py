"""What was not done in a debate, in words: every face says it alike."""

from collections.abc import Mapping
from typing import Final

from portico.debate.core.note import Note

VOICE: Final = "voice"
"""Somebody who takes no part: `voice:openai:gpt-5`. Why is a sentence then."""
MATERIAL: Final = "material"
"""Somebody whose window has no room for all of the material: `material:openai:gpt-5`."""
_WHAT: Final[Mapping[str, str]] = {
    "critique": "the critique round",
    "judging": "comparing the answers",
    "synthesis": "one text out of the answers",
    "guests:1": "waiting longer for guests",
    "guests:2": "waiting longer for guests to answer again",
}
_WHY: Final[Mapping[str, str]] = {
    "budget": "the budget has no room for it",
    "late": "there is no time for it",
    "certain": "nobody who is left could change the answer",
    "likely": "the answer is likely enough",
    "too_small_gain": "it would not be worth its tokens",
    "all_asked": "enough were asked",
    "alone": "one voice alone is never a decision",
    "deadline": "the deadline came",
    "stopped": "it was stopped",
}


def skip_words(what: str, why: str, saved: int = 0) -> str:
    """`Not done: the critique round, as the budget has no room for it (…)`; what is not known
    stays as it is."""
    kind, _, who = what.partition(":")
    if kind == VOICE:
        return f"{who} is left out: {why}"
    if kind == MATERIAL:
        return f"{who} reads only the beginning of the material: {why}"
    worth = f" (up to {saved:,} tokens less)" if saved else ""
    return f"Not done: {_named(what)}, as {_WHY.get(why, why).rstrip('.')}{worth}."


def skipped_words(note: Note) -> str:
    """Of a note on something that was not done."""
    body, saved = note.body, note.body.get("saved")
    return skip_words(str(body["what"]), str(body["why"]), saved if isinstance(saved, int) else 0)


def _named(what: str) -> str:
    kind, _, rest = what.partition(":")
    match kind:
        case "said":
            return f"asking {rest.partition(':')[2]}"
        case "judged" | "same":
            return "asking a judge"
        case _:
            return _WHAT.get(what, what)
