"""Budgets: what a piece of work may cost, reserved before and settled after, counted in tokens
and money.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import NewType, Protocol, Self

from portico.kernel.errors import Kind, PorticoError

Tokens = NewType("Tokens", int)
NO_TOKENS = Tokens(0)


class Tokenizer(Protocol):
    @property
    def name(self) -> str: ...

    def count(self, text: str) -> Tokens: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    tokens: Tokens = NO_TOKENS
    money: Decimal = Decimal(0)
    time: timedelta = timedelta(0)
    calls: int = 0

    def __post_init__(self) -> None:
        if self.tokens < 0 or self.money < 0 or self.time < timedelta(0) or self.calls < 0:
            raise ValueError(f"A cost is never negative: {self!r}")

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            tokens=Tokens(self.tokens + other.tokens),
            money=self.money + other.money,
            time=self.time + other.time,
            calls=self.calls + other.calls,
        )

    def over(self, cap: "Cost") -> tuple[str, ...]:
        """The dimensions in which this is more than `cap`."""
        return tuple(
            dimension.name
            for dimension in fields(self)
            if getattr(self, dimension.name) > getattr(cap, dimension.name)
        )


NOTHING = Cost()


class ReservationExceeded(PorticoError):
    """The work was not held to what it had reserved: a fault of whoever ran it."""

    kind = Kind.EXHAUSTED
    code = "reservation_exceeded"
    title = "More was spent than reserved"

    def __init__(self, name: str, dimensions: tuple[str, ...]) -> None:
        super().__init__(f"{name!r} spent more than it had reserved of: {', '.join(dimensions)}.")
        self.name = name
        self.dimensions = dimensions


@dataclass(frozen=True, slots=True)
class OverBudget:
    """Not reserved: the cap would have been passed in these dimensions."""

    dimensions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Budget:
    cap: Cost
    spent: Cost = NOTHING
    reserved: Mapping[str, Cost] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def committed(self) -> Cost:
        """What is spent or promised: this, not what is spent, is what the cap is held against."""
        return sum(self.reserved.values(), start=self.spent)

    def reserve(self, name: str, amount: Cost) -> "Budget | OverBudget":
        """Under a name of the caller's; the same name again replaces nothing and is refused."""
        if name in self.reserved:
            raise ValueError(f"{name!r} is reserved already")
        if dimensions := (self.committed + amount).over(self.cap):
            return OverBudget(dimensions)
        return replace(self, reserved=MappingProxyType({**self.reserved, name: amount}))

    def settle(self, name: str, actual: Cost) -> Self:
        """Raises `ReservationExceeded`; `release` what was not used at all."""
        if dimensions := actual.over(self.reserved[name]):
            raise ReservationExceeded(name, dimensions)
        rest = {key: amount for key, amount in self.reserved.items() if key != name}
        return replace(self, spent=self.spent + actual, reserved=MappingProxyType(rest))

    def release(self, name: str) -> Self:
        return self.settle(name, NOTHING)
