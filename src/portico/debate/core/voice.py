"""A voice: whoever can be asked, what it is related to, and what it costs at most."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from portico.kernel.budget import Cost
from portico.kernel.label import Label
from portico.kernel.tokens import Tokens

_MILLION: Final = 1_000_000


class VoiceKind(StrEnum):
    MODEL = "model"
    """Of the agents' registry: `provider:name`."""
    AGENT = "agent"
    """With its tools."""
    PROGRAM = "program"
    """A command line: `claude`, `codex`, `gemini`."""
    GUEST = "guest"
    """Somebody who joined over MCP with a key of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """In US dollars, of a million tokens."""

    input: Decimal
    output: Decimal

    def of(self, *, input_tokens: int, output_tokens: int) -> Decimal:
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """As it takes part in one debate, and as it stays for it."""

    name: str
    """Unique in its debate: its target, and `#2` where the same is asked as another persona."""
    kind: VoiceKind
    target: str
    """What the adapter of its kind asks: `openai:gpt-5`, an agent's name, `claude`, a guest's
    principal."""
    family: str
    """Whose errors it shares: `openai`, `anthropic`, `llama`. Two of one family agree for less."""
    personas: tuple[str, ...] = ()
    specialist: bool = False
    """Whether it may veto in a quorum, with evidence."""
    bounded: bool = True
    """Whether it is held to `most_output`: one that is not is refused unless that is wished."""
    most_output: int = 1_024
    """Tokens of one answer."""
    window: int | None = None
    """Tokens that it can read and write in all; None if nobody knows, or it sees to that itself."""
    tariff: Tariff | None = None
    """None if nobody knows, or if it costs nothing."""
    clearance: Label
    """How secret what it is told may be."""

    def cost(self, *, prompt: int, output: int | None = None) -> Cost:
        """At most, of one answer to a prompt of so many tokens."""
        most = self.most_output if output is None else output
        money = (
            Decimal(0)
            if self.tariff is None
            else self.tariff.of(input_tokens=prompt, output_tokens=most)
        )
        return Cost(tokens=Tokens(prompt + most), money=money, calls=1)


def narrowest(voices: Iterable[Voice]) -> Voice | None:
    """Whose window is the smallest; None where nobody's is known."""
    known = [(each.window, each.name, each) for each in voices if each.window is not None]
    return min(known, key=lambda each: each[:2])[2] if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceState:
    """One that could be asked, and whether it is there."""

    voice: Voice
    available: bool
    why: str | None = None
    """What is wrong, and what to do about it, where it is not there."""
