"""What the user decides about agents: how they run, and how long it is remembered."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, Strict

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class AgentsSettings(BaseModel):
    """Runs of agents: what is kept of them, and for how long one waits."""

    model_config = _MODEL

    keep_days: Annotated[int, Strict(), Field(ge=1, le=36_500)] = 90
    """Days that the trace of a run is kept for: all that was said and done in it."""
    early_start: Annotated[bool, Strict()] = True
    """Whether a tool that only reads is called while the model is still speaking, as soon as all
    that it is to be called with has been said."""
    chat_patience_seconds: Annotated[int, Strict(), Field(ge=1, le=3_600)] = 120
    """Seconds that a chat over /v1 goes on while people are asked for their approval; then it ends
    and says how to go on."""
