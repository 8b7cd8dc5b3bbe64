"""What the user decides about plans: how much of them goes on at once, and what is kept of it."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, Strict

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class WorkflowsSettings(BaseModel):
    """How many calls of plans and programs are under way at once, and how long one waits."""

    model_config = _MODEL

    calls_a_server: Annotated[int, Strict(), Field(ge=1, le=1_000)] = 256
    """Calls of plans and programs to one server that are under way in this process at a time."""
    calls_at_once: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 256
    """Calls of one plan or program that are under way at a time."""
    wait_seconds: Annotated[int, Strict(), Field(ge=0, le=600)] = 50
    """Seconds that a client which runs a plan is kept waiting; then it is told how to ask again."""
    keep_days: Annotated[int, Strict(), Field(ge=1, le=365)] = 8
    """Days for which a plan and what its steps gave are kept, sealed; so long it can be taken up
    again, and wait for somebody's word. Not more than gateway.keep_calls_days, and a day more than
    approvals.expires_minutes."""
    output_characters: Annotated[int, Strict(), Field(ge=0, le=1_000_000)] = 20_000
    """Characters of what a plan gives that are told at once; what is longer is read by pages."""
