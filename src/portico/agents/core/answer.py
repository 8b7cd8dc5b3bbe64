"""What a model has answered in a turn, and what was spent on it."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from portico.agents.core.asking import Finish, Usage
from portico.agents.core.calling import Offer
from portico.agents.core.message import ToolCall
from portico.agents.core.spending import Charge, Spending
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    model: str
    """As `provider:model`."""
    text: str
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    kept: JsonValue = None
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
class Asked:
    answer: Answer | None
    """None if nobody gave one; the ledger has why."""
    ledger: Ledger
