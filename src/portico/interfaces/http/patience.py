"""`Prefer: wait=10`: how long whoever asks would wait for the end of what they started."""

import re
from datetime import timedelta
from typing import Annotated, Final

from fastapi import Depends, Header

_WAIT: Final = re.compile(r'(?:^|[,;])\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?:$|[,;])', re.IGNORECASE)
LONGEST: Final = timedelta(seconds=60)


def _patience(
    prefer: Annotated[
        str | None,
        Header(
            max_length=500,
            description="`wait=10`: answer when the run has ended, or after that many seconds; at "
            "most 60.",
        ),
    ] = None,
) -> timedelta | None:
    """What is asked for in any other way is left alone, as RFC 7240 says."""
    found = _WAIT.search(prefer or "")
    return None if found is None else min(timedelta(seconds=int(found[1])), LONGEST)


Patience = Annotated[timedelta | None, Depends(_patience)]


def applied(patience: timedelta | None) -> dict[str, str]:
    if patience is None:
        return {}
    return {"Preference-Applied": f"wait={int(patience.total_seconds())}"}
