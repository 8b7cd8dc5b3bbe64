"""Times as people write them: a day, a day and an hour, or how long ago."""

import re
import time
from datetime import UTC, datetime
from typing import Final

from portico.faces.cli.errors import BadUsage

_AGO: Final = re.compile(r"([0-9]{1,6})([mhd])")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86400}


def moment(option: str, text: str | None) -> str | None:
    """As the server takes it; without a zone it is of where we are. Raises `BadUsage`."""
    if text is None:
        return None
    if ago := _AGO.fullmatch(text):
        then = time.time() - int(ago[1]) * _SECONDS[ago[2]]
        return datetime.fromtimestamp(then, UTC).isoformat()
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except (ValueError, OverflowError) as error:
        raise BadUsage(
            f"{option}: {text!r} is no time.",
            fix="Such as 2026-05-01, 2026-05-01T14:30, or so long ago: 90m, 2h, 3d.",
        ) from error
