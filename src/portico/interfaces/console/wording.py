"""Times, numbers and values as people read them."""

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.kernel.json import JsonValue

NOTHING: Final = "\u2013"
"""A dash, where there is no number."""
_STEPS: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "never"
    seconds = (now - moment).total_seconds()
    if seconds < 0:
        return until(moment, now)
    return "just now" if seconds < 5 else f"{_coarse(seconds)} ago"


def until(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "no end"
    seconds = (moment - now).total_seconds()
    return "now" if seconds <= 0 else f"in {_coarse(seconds)}"


def _coarse(seconds: float) -> str:
    for unit, size in _STEPS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "1 s"


def took(duration: timedelta | float | None) -> str:
    """Three figures, in the unit that suits."""
    if duration is None:
        return NOTHING
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def count(number: float | None) -> str:
    """Exact, with thin spaces between thousands."""
    return NOTHING if number is None else f"{number:,.0f}".replace(",", "\u2009")


def short(number: float | None) -> str:
    """To three figures: 1.2 k, 3.4 M."""
    if number is None:
        return NOTHING
    for size, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g} {sign}" if abs(number) < 1000 * size else count(number)
    return f"{number:g}"


def money(amount: Decimal | float | None) -> str:
    if amount is None:
        return NOTHING
    value = float(amount)
    if value == 0:
        return "$0"
    return f"${value:.4f}" if value < 0.01 else f"${value:,.2f}"


def percent(share: float | None, digits: int = 0) -> str:
    return NOTHING if share is None else f"{share * 100:.{digits}f} %"


def plural(number: float, one: str, many: str | None = None) -> str:
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def stamp(moment: datetime | None) -> str:
    """Exact, for whoever points at it."""
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def as_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
