"""What debates refuse, and why.

PorticoError
├── DebateNotFound, DebateOver, PersonaNotFound, PersonaExists
├── InvalidDebate  what was wished for makes no sense
├── DebaterNotFound, NoDebaters, DebaterUnbounded, DebaterNotCleared
├── DebaterSilent  a voice gave no answer
│   └── DebaterUnavailable, DebaterRefused, DebaterInterrupted
├── BudgetTooSmall
├── NoSeatLeft, NotSeated, NoAnswerExpected
└── NothingToReplay
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Self

from portico.kernel.budget import NOTHING, Cost
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.label import Label


class DebateNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "debate_not_found"
    title = "No such debate"
    fix = "`portico debate list` shows those that you may read."

    def __init__(self, debate: str) -> None:
        super().__init__(f"There is no debate {debate[:80]!r} that you may read.")


class DebateOver(PorticoError):
    kind = Kind.CONFLICT
    code = "debate_over"
    title = "The debate is over"
    fix = "Start another one; `replay` decides this one by other rules at no cost."

    def __init__(self, debate: str) -> None:
        super().__init__(f"{debate} is over.")


class InvalidDebate(PorticoError):
    kind = Kind.INVALID
    code = "bad_debate"
    type_name = "BadDebate"
    title = "No debate can be held like this"

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.fix = fix


class DebaterNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "voice_not_found"
    type_name = "VoiceNotFound"
    title = "No such voice"
    fix = "`portico debate voices` shows who can be asked."

    def __init__(self, target: str, near: Iterable[str] = ()) -> None:
        self.near = tuple(near)
        likely = " or ".join(self.near)
        meant = f" Did you mean {likely}?" if likely else ""
        super().__init__(f"Nobody here is called {target[:120]!r}.{meant}")
        self.target = target


class NoDebaters(PorticoError):
    kind = Kind.CONFLICT
    code = "no_voices"
    type_name = "NoVoices"
    title = "Too few voices"
    fix = "Set `debate.voices`, or name them; `portico debate voices` shows who is there."

    def __init__(self, found: int, needed: int, why: Iterable[str] = ()) -> None:
        told = "".join(f" {each}" for each in why)
        super().__init__(f"{found} of at least {needed} voices can be asked.{told}")


class DebaterUnbounded(PorticoError):
    kind = Kind.INVALID
    code = "voice_unbounded"
    type_name = "VoiceUnbounded"
    title = "A voice cannot be held to a maximum"
    fix = "Leave it out, or allow it with `unbounded`: what it spends beyond is shown, not stopped."

    def __init__(self, voice: str) -> None:
        super().__init__(f"Nothing can stop {voice} from spending more than the budget has.")


class DebaterNotCleared(PorticoError):
    kind = Kind.DENIED
    code = "voice_not_cleared"
    type_name = "VoiceNotCleared"
    title = "A voice may not be told this"
    fix = "Ask a voice that is cleared for it, such as a model on this machine."

    def __init__(self, voice: str, label: Label, cost: Cost = NOTHING) -> None:
        super().__init__(f"{voice} is not cleared for what is {label}.")
        self.cost = cost
        """Of an agent, which may have read it after a while."""


class DebaterSilent(PorticoError):
    """It gave no answer; it may have cost something: None where nobody knows what."""

    kind = Kind.UNAVAILABLE
    code = "voice_failed"
    type_name = "VoiceSilent"
    title = "A voice gave no answer"

    def __init__(self, voice: str, why: str, cost: Cost | None = None) -> None:
        super().__init__(f"{voice}: {why}")
        self.voice = voice
        self.why = why
        self.cost = cost


class DebaterUnavailable(DebaterSilent):
    code = "voice_away"
    type_name = "VoiceAway"
    title = "A voice is not there"

    def __init__(self, voice: str, why: str, cost: Cost | None = NOTHING) -> None:
        super().__init__(voice, why, cost)


class DebaterRefused(DebaterSilent):
    code = "voice_refused"
    type_name = "VoiceRefused"
    title = "A voice would not answer"


class DebaterInterrupted(DebaterSilent):
    code = "voice_broke"
    type_name = "VoiceBroke"
    title = "A voice broke off"


class BudgetTooSmall(PorticoError):
    kind = Kind.EXHAUSTED
    code = "budget_too_small"
    title = "The budget is too small"

    def __init__(self, what: str, needed: int, left: int, project: str | None = None) -> None:
        """`project`: whose budget it is, where it is not the debate's own."""
        super().__init__(_short(what, f"{needed:,} tokens", f"{left:,}", project))
        self.fix = _more(f"{needed:,} tokens", project)

    @classmethod
    def of_money(
        cls, what: str, needed: Decimal, left: Decimal | None, project: str | None = None
    ) -> Self:
        """The same where it is dollars that are short."""
        error = cls(what, 0, 0)
        error.args = (_short(what, f"{needed:f} dollars", f"{left or 0:f}", project),)
        error.fix = _more(f"{needed:f} dollars", project)
        return error


def _short(what: str, needed: str, left: str, project: str | None) -> str:
    whose = "of its budget" if project is None else f"of the budget of the project {project}"
    return f"{what} takes {needed} at most, and {left} are left {whose}."


def _more(needed: str, project: str | None) -> str:
    if project is None:
        return f"Give it at least {needed}, or name cheaper voices."
    return (
        f"Raise what the project may spend with `portico debate budget`, so that {needed} are "
        "left, or name cheaper voices."
    )


class NoSeatLeft(PorticoError):
    kind = Kind.CONFLICT
    code = "no_seat_left"
    title = "No seat is left"
    fix = "Whoever starts a debate says how many guests it has: `guests`."

    def __init__(self, debate: str) -> None:
        super().__init__(f"All seats for guests in {debate} are taken.")


class NotSeated(PorticoError):
    kind = Kind.DENIED
    code = "not_seated"
    title = "Not at this table"
    fix = "Join it first: `join_debate` without an answer takes a seat."

    def __init__(self, debate: str) -> None:
        super().__init__(f"You have no seat in {debate}.")


class NoAnswerExpected(PorticoError):
    kind = Kind.CONFLICT
    code = "nothing_asked"
    type_name = "NothingAsked"
    title = "Nothing is asked of you now"
    fix = "`join_debate` again says when it is your turn."

    def __init__(self, debate: str) -> None:
        super().__init__(f"{debate} does not wait for an answer of yours.")


class PersonaNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "persona_not_found"
    title = "No such persona"

    def __init__(self, name: str, there: Iterable[str], near: Iterable[str] = ()) -> None:
        self.near = tuple(near)
        likely = " or ".join(self.near)
        meant = f" Did you mean {likely}?" if likely else ""
        super().__init__(f"There is no persona {name[:80]!r}.{meant}")
        self.fix = f"There are: {', '.join(there)}; make one with `portico debate personas put`."


class PersonaExists(PorticoError):
    kind = Kind.CONFLICT
    code = "persona_built_in"
    title = "A built-in persona"
    fix = "Give yours another name."

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is built in, and stays as it is.")


class NothingToReplay(PorticoError):
    kind = Kind.CONFLICT
    code = "nothing_to_replay"
    title = "Nothing to decide again"
    fix = "Only a debate in which somebody answered can be replayed."

    def __init__(self, debate: str) -> None:
        super().__init__(f"Nobody has answered in {debate}.")
