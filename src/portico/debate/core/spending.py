"""What an answer may cost at most, and what it came to, held against servers that may not tell the
truth.

Before a voice is asked, its prompt as we count it, with a margin, and the longest answer that is
read of it are reserved. Afterwards is charged what it says or what we counted, whichever is more,
and never more than was reserved, since no more than that was read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeVar

from portico.debate.core.asking import VoiceReply
from portico.debate.core.rules import Cap
from portico.debate.core.voice import Voice, VoiceKind
from portico.kernel.budget import NOTHING, Cost
from portico.kernel.tokens import Tokens

Count = Callable[[str], int]
"""Tokens of a text, by our count."""

_MARGIN: Final = 150
"""Percent of our own count of a prompt that are reserved, and as much again of those words in it
that are not plain ASCII: other vocabularies cut them into more pieces than ours."""
_SPACES: Final = re.compile(r"[\x00-\x20]+")
_HUNDRED: Final = 100
_WRAPPING: Final = 400
"""Tokens that vendors put around a prompt that comes with a form: what they tell their model of
it."""
Amount = TypeVar("Amount", int, Decimal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """For one question to one voice."""

    counted: int
    """Tokens of the prompt, by our count."""
    prompt: int
    """With the margin."""
    output: int
    cost: Cost


def reserve_for(
    voice: Voice, texts: tuple[str, ...], output: int, count: Count, *, form: str = ""
) -> Reserve:
    """What a guest says costs us nothing. Of the form of an answer nobody knows whether a server
    puts it before its model: there is room for it, and it is charged as far as the server says
    so."""
    counted = sum(count(text) for text in texts)
    if voice.kind is VoiceKind.GUEST:
        return Reserve(counted=counted, prompt=0, output=output, cost=NOTHING)
    whole = counted + (count(form) if form else 0)
    whole += sum(count(strange) for text in (*texts, form) if (strange := _not_plain(text)))
    prompt = -(-whole * _MARGIN // _HUNDRED) + (_WRAPPING if form else 0)
    cost = voice.cost(prompt=prompt, output=output)
    return Reserve(counted=counted, prompt=prompt, output=output, cost=cost)


def _not_plain(text: str) -> str:
    """The words of it that are not ASCII: one dash in a long text makes no foreign text of it."""
    if text.isascii():
        return ""
    return " ".join(word for word in _SPACES.split(text) if not word.isascii())


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    cost: Cost
    prompt: int
    output: int
    overrun: int = 0


def charged(voice: Voice, reserve: Reserve, reply: VoiceReply) -> Charge:
    """Of an answer that came. One that cannot be held to a maximum is charged with all of it."""
    prompt = max(reply.prompt_tokens, reserve.counted)
    output = max(reply.output_tokens, 0)
    if voice.kind is VoiceKind.GUEST:
        return Charge(cost=NOTHING, prompt=0, output=0)
    if voice.bounded:
        prompt, output = min(prompt, reserve.prompt), min(output, reserve.output)
    money = max(voice.cost(prompt=prompt, output=output).money, reply.cost.money)
    if voice.bounded:
        money = min(money, reserve.cost.money)
    over = max(prompt + output - reserve.cost.tokens, 0)
    cost = Cost(tokens=Tokens(prompt + output), money=money, calls=1)
    return Charge(cost=cost, prompt=prompt, output=output, overrun=over)


def charged_at_most(reserve: Reserve, known: Cost | None, *, bounded: bool = True) -> Cost:
    """Of one that came to nothing; where nobody knows what it cost, all that was reserved. One that
    cannot be held to a maximum is charged with all of it."""
    if known is None:
        return reserve.cost
    if not bounded:
        return known
    return Cost(
        tokens=Tokens(min(known.tokens, reserve.cost.tokens)),
        money=min(known.money, reserve.cost.money),
        calls=min(known.calls, 1),
    )


@dataclass(frozen=True, slots=True)
class Left:
    """What may still be reserved; None is no limit."""

    tokens: int | None = None
    money: Decimal | None = None

    def fits(self, cost: Cost) -> bool:
        return (self.tokens is None or cost.tokens <= self.tokens) and (
            self.money is None or cost.money <= self.money
        )

    def least(self, other: "Left") -> "Left":
        return Left(_least(self.tokens, other.tokens), _least(self.money, other.money))


def left_of(cap: Cap, committed: Cost) -> Left:
    return Left(
        None if cap.tokens is None else max(cap.tokens - committed.tokens, 0),
        None if cap.money is None else max(cap.money - committed.money, Decimal(0)),
    )


def share_of(left: Left, parts: int) -> Cap:
    """Of what is left, for each of so many."""
    return Cap(
        tokens=None if left.tokens is None else left.tokens // parts,
        money=None if left.money is None else left.money / parts,
    )


def _least(one: Amount | None, other: Amount | None) -> Amount | None:
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)
