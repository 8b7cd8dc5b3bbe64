"""Times as people write them: a day, a day and an hour, how long ago, or for how long."""

import re
import time
from datetime import UTC, datetime
from typing import Final

from portico.interfaces.cli.errors import BadUsage

_AGO: Final = re.compile(r"([0-9]{1,6})([mhd])")
_LONG: Final = re.compile(r"([0-9]{1,6})([smhd]?)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def moment(option: str, text: str | None) -> str | None:
    """As the server takes it; without a zone it is of where we are. Raises `BadUsage`."""
    if text is None:
        return None
    if ago := _AGO.fullmatch(text):
        return _at(time.time() - int(ago[1]) * _SECONDS[ago[2]])
    return _written(option, text, "so long ago")


def deadline(option: str, text: str | None) -> str | None:
    """The same of what is to come. Raises `BadUsage`."""
    if text is None:
        return None
    if ahead := _AGO.fullmatch(text):
        return _at(time.time() + int(ahead[1]) * _SECONDS[ahead[2]])
    return _written(option, text, "so long from now on")


def lasting(option: str, text: str) -> int:
    """Seconds. Raises `BadUsage`."""
    if long := _LONG.fullmatch(text):
        return int(long[1]) * _SECONDS[long[2] or "s"]
    raise BadUsage(f"{option}: {text!r} is not how long.", fix="Such as 30s, 90m, 2h, 1d.")


def _written(option: str, text: str, short: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except (ValueError, OverflowError) as error:
        raise BadUsage(
            f"{option}: {text!r} is no time.",
            fix=f"Such as 2026-05-01, 2026-05-01T14:30, or {short}: 90m, 2h, 3d.",
        ) from error


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
