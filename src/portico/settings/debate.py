"""What the user decides about debates: who is asked, what they may cost, what is written down."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, Strict, field_validator

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DebateSettings(BaseModel):
    """Questions that several voices are asked."""

    model_config = _MODEL

    voices: tuple[str, ...] = ()
    """Who is asked unless somebody else is named: `openai:gpt-5,agent:reviewer,program:claude`.
    Not set: the models that are found."""
    programs: Mapping[str, str] = Field(default_factory=dict)
    """Programs that can be asked, by the name that they are asked as: `claude = "claude"`. What
    speaks as one of the known ones, `claude`, `codex` or `gemini`, takes that name."""
    cap_tokens: Annotated[int, Strict(), Field(ge=1, le=1_000_000_000)] = 100_000
    """Tokens that one debate may spend, unless it is started with another cap in tokens."""
    cap_dollars: Annotated[float, Strict(), Field(ge=0, le=1_000_000, allow_inf_nan=False)] = 1.0
    """US dollars that one debate may spend, unless it is started with another cap in dollars; a cap
    in tokens changes nothing about it."""
    deadline_seconds: Annotated[int, Strict(), Field(ge=1, le=604_800)] = 300
    """Seconds after which a debate is decided with the answers in hand, unless it is started with
    another deadline."""
    thoroughness: Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)] = 0.5
    """How thorough a debate is unless it says so itself: 0 is quick and asks up to three voices, 1
    asks up to nine until it is nearly certain."""
    logs: Annotated[bool, Strict()] = True
    """Write a file about each debate that has ended, in the state folder, for whoever runs this
    server: it holds all that was said."""
    logs_most: Annotated[int, Strict(), Field(ge=0, le=1_000_000)] = 500
    """Files of debates that are kept, the newest; 0 is all."""
    logs_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 90
    """Days that a file of a debate is kept for; 0 is for ever."""
    logs_bytes: Annotated[int, Strict(), Field(ge=0)] = 100_000_000
    """Bytes that all files of debates may take together, the oldest go first; 0 is any number."""
    keep_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 0
    """Days that a debate that is over is kept for; 0 is for ever. What voices have learnt from it
    goes with it."""

    @field_validator("voices")
    @classmethod
    def _are_named_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({each for each in value if value.count(each) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is named twice")
        return value
