"""How tools and models have been doing in the runs of agents."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStats:
    tool: str
    uses: int
    failures: int
    codes: Mapping[str, int]
    """Of failures, by why; those that say nothing of that are not among them."""
    early: int
    """Begun while the model was still speaking."""
    p50: timedelta
    p95: timedelta
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStats:
    model: str
    turns: int
    retried: int
    """Turns for which a model had to be asked more than once."""
    input: int
    output: int
    cached: int
    money: Decimal
    p50: timedelta
    """Of a whole answer."""
    p95: timedelta
    first_piece: timedelta | None
    """The median, of those that streamed."""
    tokens_a_second: float | None
    """The median, from the first piece on."""
    last_at: datetime
