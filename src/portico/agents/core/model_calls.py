"""Answers of models: text, truncation, JSON."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

from portico.agents.core.budgets import Charge, Spending
from portico.agents.core.model_requests import Finish, ToolCall, Usage
from portico.agents.core.tool_calls import Offer
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    model: str
    """As `provider:model`."""
    text: str
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    stored: JsonValue = None
    usage: Usage
    finish: Finish
    first_at: datetime | None = None
    notes: tuple[str, ...] = ()
    offer: Offer
    """What the model was shown when it said this."""
    stopped: bool = False


@dataclass(slots=True)
class Ledger:
    """Of one turn: what has been spent on it so far, whoever was asked."""

    spending: Spending
    attempts: int = 0
    tokens: int = 0
    money: Decimal = Decimal(0)
    notes: list[str] = field(default_factory=list)
    problems: list[PorticoError] = field(default_factory=list)
    under_way: bool = False
    """Whether somebody may have been asked already, when the process ended: what that could have
    cost is counted."""

    def settled(self, settled: tuple[Spending, Charge]) -> None:
        self.spending, charge = settled
        self.tokens += charge.tokens
        self.money += charge.money


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    answer: ModelResponse | None
    """None if nobody gave one; the ledger has why."""
    ledger: Ledger


# Whether a model has read all that was sent to it, held against what its server says it read.
#
# Ollama makes a prompt that is too long fit: whole messages are left out, the oldest first, or the
# middle of one that is too long by itself. It then answers as if nothing had happened, and the
# number of tokens that it has read is all there is to tell. Our own number is of another tokenizer,
# so that it stands for a span: from the fewest tokens that the model may have for the same text to
# the most.

_FEWEST: Final = Fraction(6, 10)
_MOST: Final = {True: Fraction(9, 4), False: Fraction(4)}
_LIKELY: Final = {True: Fraction(3, 2), False: Fraction(3)}
"""Tokens of other vocabularies for one of o200k_base, by whether a text is plain ASCII. Measured
on those of SmolLM2 and Llama 2: English 1.2, programs 1.2, JSON 1.5, figures 2.2, and for other
scripts up to 3.9; fewer than one (0.67) only for lines that are mostly blanks."""
_FORM: Final = 64
"""Tokens that a template may leave out of what we have counted for the form of a talk."""
_MARGIN: Final = 256
_SMALLEST: Final = 2_048


class Reading(StrEnum):
    WHOLE = "whole"
    CUT = "cut"
    """It has not read all of it, or nothing shows that it has."""
    UNKNOWN = "unknown"
    """Its server does not say what it has read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Counted by us."""

    all: int
    largest: int
    """The largest piece that can be left out by itself: a message, or the instructions."""
    plain: bool = True
    """Whether it is written in ASCII, by far the most of it."""

    @property
    def fewest(self) -> int:
        return max(int(self.all * _FEWEST) - _FORM, 0)

    @property
    def at_most(self) -> int:
        return self._most(self.all)

    @property
    def most_of_largest(self) -> int:
        return self._most(self.largest)

    @property
    def likely(self) -> int:
        return int(self.all * _LIKELY[self.plain]) + _MARGIN

    def _most(self, tokens: int) -> int:
        return int(tokens * _MOST[self.plain]) + _MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTokens:
    """What the server says of an answer."""

    read: int | None
    written: int = 0
    room: int
    """That it was told to have, which it holds to: it is never above what the model can have."""
    counts_cached: bool = True
    """Whether it counts what it still knew from the last time."""


def reading(sent: Sent, told: ReportedTokens) -> Reading:
    read, room = told.read, told.room
    if not read:
        return Reading.UNKNOWN
    if told.counts_cached and read < sent.fewest:
        return Reading.CUT
    if read + told.written > room + _MARGIN:
        # It went on where there was no room any more: the beginning made way meanwhile.
        return Reading.CUT
    if sent.at_most <= room:
        return Reading.WHOLE
    # Messages are left out one by one until the rest fits: what is free then is less than the
    # last one that was left out.
    if told.counts_cached and read <= room - sent.most_of_largest:
        return Reading.WHOLE
    return Reading.CUT


def wanted_room(sent: Sent, answer: int, *, limit: int | None) -> int:
    """Tokens to ask the server to make room for: what is likely to be needed, in steps, since each
    change makes it load the model anew."""
    room = _stepped(sent.likely + answer)
    return room if limit is None else min(room, limit)


def more_room(room: int, sent: Sent, answer: int, *, limit: int | None) -> int | None:
    """After it was too little; None if there can be no more. Where nobody says what the model can
    have, it is what it may need at most."""
    needed = _stepped(sent.at_most + answer)
    larger = needed if limit is None else min(max(needed, 2 * room), limit)
    return larger if larger > room else None


def _stepped(needed: int) -> int:
    """Twice as much each time."""
    room = _SMALLEST
    while room < needed:
        room *= 2
    return room


# Whether a JSON object that is still coming in has closed, told at its very last character.

_OPENS: Final = frozenset("{[")
_CLOSES: Final = frozenset("}]")
_BLANK: Final = frozenset(" \t\n\r")


@dataclass(frozen=True, slots=True)
class Scan:
    """What has been read so far, without having kept it. Of what is no JSON it may say anything:
    whoever acts on `closed` reads it as JSON first."""

    depth: int = 0
    quoted: bool = False
    escaped: bool = False
    started: bool = False
    closed: bool = False
    spoilt: bool = False
    """Something stood where nothing may: before the object, or after it."""

    def after(self, text: str) -> "Scan":
        """Having read this, too."""
        scan = self
        for letter in text:
            scan = scan._after(letter)
        return scan

    def _after(self, letter: str) -> "Scan":
        if self.quoted:
            return self._in_string(letter)
        if letter in _BLANK or self.spoilt:
            return self
        if self.closed or (not self.started and letter != "{"):
            return replace(self, closed=False, spoilt=True)
        if letter == '"':
            return replace(self, quoted=True)
        if letter in _OPENS:
            return replace(self, started=True, depth=self.depth + 1)
        if letter in _CLOSES:
            return replace(self, depth=self.depth - 1, closed=self.depth == 1)
        return self

    def _in_string(self, letter: str) -> "Scan":
        if self.escaped:
            return replace(self, escaped=False)
        if letter == "\\":
            return replace(self, escaped=True)
        return replace(self, quoted=False) if letter == '"' else self
