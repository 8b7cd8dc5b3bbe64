"""Debaters: personas and voices."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final

from portico.debate.core.errors import InvalidDebate, PersonaNotFound
from portico.kernel.budget import NOTHING, Cost, Tokens
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label

_MILLION: Final = 1_000_000


class DebaterKind(StrEnum):
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
class Debater:
    """As it takes part in one debate, and as it stays for it."""

    name: str
    """Unique in its debate: its target, and `#2` where the same is asked as another persona."""
    kind: DebaterKind
    target: str
    """What the adapter of its kind asks: `openai:gpt-5`, an agent's name, `claude`, a guest's
    principal."""
    family: str
    """Whose errors it shares: `openai`, `anthropic`, `llama`. Two of one family agree for less."""
    personas: tuple[str, ...] = ()
    specialist: bool = False
    """Whether it may veto in a quorum, with evidence."""
    bounded: bool = True
    """Whether it is held to `max_output_tokens`: one that is not is refused unless that is
    wished."""
    max_output_tokens: int = 1_024
    """Tokens of one answer."""
    window: int | None = None
    """Tokens that it can read and write in all; None if nobody knows, or it sees to that itself."""
    tariff: Tariff | None = None
    """None if nobody knows, or if it costs nothing."""
    clearance: Label
    """How secret what it is told may be."""

    def cost(self, *, prompt: int, output: int | None = None) -> Cost:
        """At most, of one answer to a prompt of so many tokens."""
        most = self.max_output_tokens if output is None else output
        money = (
            Decimal(0)
            if self.tariff is None
            else self.tariff.of(input_tokens=prompt, output_tokens=most)
        )
        return Cost(tokens=Tokens(prompt + most), money=money, calls=1)


def narrowest(voices: Iterable[Debater]) -> Debater | None:
    """Whose window is the smallest; None where nobody's is known."""
    known = [(each.window, each.name, each) for each in voices if each.window is not None]
    return min(known, key=lambda each: each[:2])[2] if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterStatus:
    """One that could be asked, and whether it is there."""

    debater: Debater
    available: bool
    why: str | None = None
    """What is wrong, and what to do about it, where it is not there."""


# Personas shape what a voice is told to look at, never what its answer weighs.


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    name: str
    instructions: str
    specialist: bool = False
    built_in: bool = False
    made_by: PrincipalId | None = None
    changed_at: datetime | None = None


BUILT_IN: Final[Mapping[str, Persona]] = {
    persona.name: persona
    for persona in (
        Persona(
            name="architect",
            instructions=(
                "You look at the whole: how the parts fit together, what has to change later, and "
                "what each choice makes easy or hard in a year."
            ),
            built_in=True,
        ),
        Persona(
            name="critic",
            instructions=(
                "You look for what is wrong: hidden assumptions, cases that were left out, claims "
                "without evidence. Name the weakest point before you answer."
            ),
            built_in=True,
        ),
        Persona(
            name="pragmatist",
            instructions=(
                "You look at what works now: the smallest thing that does it, what it costs, how "
                "long it takes, and how it is undone if it turns out wrong."
            ),
            built_in=True,
        ),
        Persona(
            name="security",
            instructions=(
                "You look at what could be abused: who gains by it, what they could reach, what "
                "leaks, and what cannot be taken back."
            ),
            specialist=True,
            built_in=True,
        ),
    )
}
_MERGED: Final = "+"


def merged_text(names: Sequence[str], known: Mapping[str, Persona]) -> str:
    """What a voice with all of these is told; a persona that is gone meanwhile says nothing."""
    texts = [known[name].instructions for name in names if name in known]
    if len(texts) < 2:
        return "".join(texts)
    return "You bring several views together.\n" + "\n".join(f"- {text}" for text in texts)


def dealt(
    voices: Sequence[Debater], roles: Sequence[str], known: Mapping[str, Persona]
) -> tuple[Debater, ...]:
    """Each role goes to the next voice; `target=role` to that one. Where there are more roles than
    voices, the voices speak again, each time as another persona.

    Raises `PersonaNotFound`, `InvalidDebate`.
    """
    aimed = [role for role in roles if "=" in role]
    free = [_names(role, known) for role in roles if "=" not in role]
    seated = list(voices)
    for place, names in enumerate(free):
        if place < len(voices):
            seated[place] = _as(seated[place], names, known)
        else:
            again = replace(voices[place % len(voices)], personas=(), specialist=False)
            seated.append(_as(again, names, known))
    for role in aimed:
        target, _, said = role.rpartition("=")
        places = [place for place, voice in enumerate(seated) if target in _called(voice)]
        if not places:
            raise InvalidDebate(
                f"The role {role[:80]!r} is for {target[:80]!r}, who takes no part.",
                f"Give it to one of: {', '.join(voice.target for voice in voices)}.",
            )
        for place in places:
            seated[place] = _as(seated[place], _names(said, known), known)
    return _numbered(seated)


def _as(voice: Debater, names: tuple[str, ...], known: Mapping[str, Persona]) -> Debater:
    return replace(voice, personas=names, specialist=any(known[name].specialist for name in names))


def _names(role: str, known: Mapping[str, Persona]) -> tuple[str, ...]:
    """Raises `PersonaNotFound`."""
    names = tuple(dict.fromkeys(each.strip() for each in role.split(_MERGED)))
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise PersonaNotFound(name, sorted(known), near)
    return names


def _called(voice: Debater) -> tuple[str, ...]:
    return voice.name, voice.target, f"{voice.kind}:{voice.target}"


def _numbered(voices: Sequence[Debater]) -> tuple[Debater, ...]:
    """The same voice a second time is `#2`: names are unique in a debate."""
    seen: dict[str, int] = {}
    named = []
    for voice in voices:
        base = voice.name.rpartition("#")[0] or voice.name
        seen[base] = seen.get(base, 0) + 1
        named.append(replace(voice, name=base if seen[base] == 1 else f"{base}#{seen[base]}"))
    return tuple(named)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterRequest:
    debater: Debater
    system: str
    """Who it is and how it answers; as its own system prompt where it has one."""
    prompt: str
    schema: JsonObject | None
    """Held to it where the voice can be; else it is told to answer so."""
    prompt_tokens: int
    """Of both, by our count."""
    max_output_tokens: int
    """Enforced: by the server, or the stream is cut."""
    timeout: timedelta
    label: Label
    """How secret what it is told is. A voice that is not cleared for it is never asked."""
    ceiling: Label | None = None
    """How secret what an agent reads besides may be, at most, where others see the debate: what
    they read must not become more secret before their eyes."""
    key: str
    """The same each time that this very question is asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterReply:
    text: str
    prompt_tokens: int
    output_tokens: int
    """As reported, or by our count if that is more."""
    cost: Cost = NOTHING
    cut: bool = False
    """It had more to say than it was allowed to."""
    overrun: int = 0
    """Tokens beyond what was reserved, of a voice that cannot be held to a maximum."""
    label: Label = PUBLIC
    """Of what it read besides what it was told: an agent with tools may have read more."""
    untrusted: bool = False
    model: str = ""
    notes: tuple[str, ...] = ()
