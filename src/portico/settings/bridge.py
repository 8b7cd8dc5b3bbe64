"""What the user decides about the bridge: how long what is said there is remembered."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, Strict

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class BridgeSettings(BaseModel):
    """Conversations of agents and people."""

    model_config = _MODEL

    keep_messages_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 0
    """Days that messages and their attachments are kept for; 0 is for ever."""

    keep_memory_history_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 365
    """Days that earlier versions of what projects remember are kept for, and what was forgotten or
    has expired; 0 is for ever. What is remembered stays."""
