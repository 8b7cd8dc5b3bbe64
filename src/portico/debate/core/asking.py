"""One question to a voice, and what comes back."""

from dataclasses import dataclass
from datetime import timedelta

from portico.debate.core.voice import Voice
from portico.kernel.budget import NOTHING, Cost
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceAsk:
    voice: Voice
    system: str
    """Who it is and how it answers; as its own system prompt where it has one."""
    prompt: str
    schema: JsonObject | None
    """Held to it where the voice can be; else it is told to answer so."""
    prompt_tokens: int
    """Of both, by our count."""
    most_output: int
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
class VoiceReply:
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
