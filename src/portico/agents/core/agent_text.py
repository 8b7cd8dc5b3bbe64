"""An agent as plain text and numbers: how it is kept, sent and written to a file.

Whoever reads one is told everything that is wrong with it at once, and a key that nobody knows is
wrong too: a slip in the name of a limit must not make an agent without it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from math import inf, isfinite
from typing import Final, TypeVar

from portico.agents.core.agent import AgentSpec, Limits, ToolMode
from portico.agents.core.errors import BadAgent
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import BadLabel, Label

Value = TypeVar("Value")

MISSING: Final = "is missing"
UNKNOWN: Final = "is no field of an agent"
_UNWRITABLE: Final = re.compile("[\0\ud800-\udfff]")
"""NUL, which no database keeps, and halves of surrogate pairs."""
_AMOUNT: Final = 'must be an amount of US dollars, such as "0.50"'
_USUAL: Final = AgentSpec(name="", model="")


def spec_json(spec: AgentSpec) -> JsonObject:
    """What `spec_from` takes. Money is a text, since no float is an exact amount."""
    warmth: JsonObject = {} if spec.temperature is None else {"temperature": spec.temperature}
    return {
        "name": spec.name,
        "description": spec.description,
        "model": spec.model,
        "fallbacks": list(spec.fallbacks),
        "tools": list(spec.tools),
        "tool_mode": spec.tool_mode.value,
        "most_output": spec.most_output,
        **warmth,
        "label": str(spec.label),
        "tags": list(spec.tags),
        "exposed": spec.exposed,
        "instructions": spec.instructions,
        "limits": limits_json(spec.limits),
    }


def limits_json(limits: Limits) -> JsonObject:
    return {
        "turns": limits.turns,
        "tokens": limits.tokens,
        "money": f"{limits.money:f}",
        "seconds": limits.seconds,
        "calls": limits.calls,
    }


def spec_from(given: JsonObject) -> AgentSpec:
    """Raises `BadAgent`."""
    spec, flaws = read_spec(given)
    if flaws:
        raise BadAgent(spec.name, flaws)
    return spec


def limits_from(given: JsonObject) -> Limits:
    """Raises `BadAgent`."""
    reading = _Reading(given, "limits.")
    limits = _limits(reading)
    if reading.flaws:
        raise BadAgent("", reading.flaws)
    return limits


def read_spec(given: JsonObject) -> tuple[AgentSpec, Sequence[Flaw]]:
    """What could be understood of it, with what is usual in the place of the rest."""
    reading = _Reading(given)
    inner = _Reading(reading.take("limits", _table, {}), "limits.")
    limits = _limits(inner)
    spec = AgentSpec(
        name=reading.must("name", _text, ""),
        description=reading.take("description", _text, ""),
        instructions=reading.take("instructions", _text, ""),
        model=reading.must("model", _text, ""),
        fallbacks=reading.take("fallbacks", _texts, ()),
        tools=reading.take("tools", _texts, ()),
        tool_mode=reading.take("tool_mode", _mode, ToolMode.AUTO),
        limits=limits,
        most_output=reading.take("most_output", _whole, _USUAL.most_output),
        temperature=reading.take("temperature", _number, None),
        label=reading.take("label", _label, _USUAL.label),
        tags=reading.take("tags", _texts, ()),
        exposed=reading.take("exposed", _switch, False),  # noqa: FBT003 # what is usual
    )
    reading.close()
    return spec, (*reading.flaws, *inner.flaws)


def _limits(reading: "_Reading") -> Limits:
    limits = Limits(
        turns=reading.take("turns", _whole, _USUAL.limits.turns),
        tokens=reading.take("tokens", _whole, _USUAL.limits.tokens),
        money=reading.take("money", _money, _USUAL.limits.money),
        seconds=reading.take("seconds", _number, _USUAL.limits.seconds),
        calls=reading.take("calls", _whole, _USUAL.limits.calls),
    )
    reading.close()
    return limits


class _Unfit(Exception):
    """A value that a field cannot have; its message says what it must be."""


class _Reading:
    """Takes field by field out of what was given, and notes each that is not as it must be."""

    def __init__(self, given: JsonObject, prefix: str = "") -> None:
        self._left = dict(given)
        self._prefix = prefix
        self.flaws: list[Flaw] = []

    def take(self, field: str, read: Callable[[JsonValue], Value], usual: Value) -> Value:
        if field not in self._left:
            return usual
        try:
            return read(self._left.pop(field))
        except _Unfit as unfit:
            self._note(field, str(unfit))
            return usual

    def must(self, field: str, read: Callable[[JsonValue], Value], usual: Value) -> Value:
        if field not in self._left:
            self._note(field, MISSING)
        return self.take(field, read, usual)

    def close(self) -> None:
        for field in self._left:
            self._note(field[:80], UNKNOWN)

    def _note(self, field: str, message: str) -> None:
        self.flaws.append(Flaw(f"{self._prefix}{field}", message))


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise _Unfit("must be a text")
    if _UNWRITABLE.search(value):
        raise _Unfit("holds a letter that cannot be written")
    return value


def _texts(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _Unfit("must be a list of texts")
    if not all(isinstance(each, str) for each in value):
        raise _Unfit("must be a list of texts")
    return tuple(_text(each) for each in value)


def _whole(value: JsonValue) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Unfit("must be a whole number")
    return value


def _number(value: JsonValue) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _Unfit("must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number):
        raise _Unfit("must be a number that has an end")
    return number


def _money(value: JsonValue) -> Decimal:
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        raise _Unfit(_AMOUNT)
    try:
        amount = Decimal(str(value))
    except (InvalidOperation, ValueError) as error:
        raise _Unfit(_AMOUNT) from error
    if not amount.is_finite():
        raise _Unfit(_AMOUNT)
    return amount


def _switch(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise _Unfit("must be true or false")
    return value


def _table(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise _Unfit("must be a table of limits")
    return value


def _mode(value: JsonValue) -> ToolMode:
    if not isinstance(value, str) or value not in set(ToolMode):
        raise _Unfit(f"must be one of {', '.join(ToolMode)}")
    return ToolMode(value)


def _label(value: JsonValue) -> Label:
    try:
        return Label.parse(_text(value))
    except BadLabel as error:
        raise _Unfit(
            "must be public, team, confidential or restricted, and compartments: team+finance"
        ) from error
