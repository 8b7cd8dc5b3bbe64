"""What can come next in a debate."""

from dataclasses import dataclass
from datetime import datetime

from portico.debate.core.decision import Why
from portico.debate.core.said import Said
from portico.debate.core.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class AskVoices:
    """All of them at once."""

    voices: tuple[Voice, ...]
    round: int
    why: str
    short: bool = False
    """With only the beginning of the material: the budget has no room for all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskGuests:
    """Who is seated and was not asked yet."""

    voices: tuple[Voice, ...]
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitGuests:
    """Who was asked and has not answered; and seats that are free."""

    round: int
    free: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Compare:
    """How near these answers are to each other, without asking anybody."""

    pairs: tuple[tuple[Said, Said], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSame:
    """Whether two answers mean the same."""

    one: Said
    other: Said
    judge: Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBetter:
    """Which of two open answers is better, in this order."""

    one: Said
    other: Said
    judge: Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSynthesis:
    voice: Voice
    said: tuple[Said, ...]
    """The best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """What is not done, and is written down so that nobody comes back to it."""

    what: str
    why: str
    saved: int = 0


@dataclass(frozen=True, slots=True)
class Conclude:
    why: Why


Move = (
    AskVoices
    | AskGuests
    | AwaitGuests
    | Compare
    | AskSame
    | AskBetter
    | AskSynthesis
    | Skip
    | Conclude
)
