"""How one program is spoken to: what it is called with, and what its lines mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final, Protocol

from portico.debate.core.debaters import VoiceAsk
from portico.kernel.json import JsonObject, JsonValue

_MOST: Final = 10**12
"""Of tokens or dollars: what is more is not meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Of a program. No words of people are among the arguments: whoever may list the processes of
    this machine could read them."""

    arguments: tuple[str, ...]
    given: str
    """On its standard input."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Heard:
    """What it has said so far."""

    text: str = ""
    input: int = 0
    output: int = 0
    """Tokens, as it says itself."""
    money: Decimal = Decimal(0)
    model: str = ""
    problem: str | None = None
    """In its own words, if it could not answer."""
    ended: bool = False


class Dialect(Protocol):
    @property
    def family(self) -> str: ...

    @property
    def variables(self) -> frozenset[str]:
        """Of our environment, what it may see besides what every program may."""
        ...

    @property
    def install(self) -> str:
        """What to type where it is not there."""
        ...

    @property
    def log_in(self) -> str: ...

    @property
    def asks_whether_logged_in(self) -> tuple[str, ...]:
        """Ends with 0 if it is, at once and at no cost; nothing where there is no such way."""
        ...

    def needs_no_login(self, environment: Mapping[str, str]) -> bool:
        """Whether it is set up otherwise than by logging in."""
        ...

    def call(self, ask: VoiceAsk, folder: Path) -> Call:
        """`folder` is private, and gone afterwards."""
        ...

    def hear(self, event: JsonObject, heard: Heard) -> str:
        """What is new of its answer by this line."""
        ...


def whole(value: JsonValue) -> int:
    """A number of tokens; of anything else nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST else 0


def dollars(value: JsonValue) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Decimal(0)
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return Decimal(0)
    return amount if amount.is_finite() and 0 <= amount <= _MOST else Decimal(0)


def table(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def words(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
