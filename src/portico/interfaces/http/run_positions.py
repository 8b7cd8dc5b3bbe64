"""Where a page of runs ended, as a text that only we read."""

from datetime import UTC, datetime

from portico.engine.core.errors import BadCursor
from portico.engine.core.runs import RunPosition
from portico.kernel.ids import BadId, RunId


def written(place: RunPosition) -> str:
    return f"{place.created_at.astimezone(UTC).isoformat()} {place.run}"


def read(text: str | None) -> RunPosition | None:
    """Raises `BadCursor`."""
    if text is None:
        return None
    created, _, run = text.partition(" ")
    try:
        place = RunPosition(datetime.fromisoformat(created), RunId.parse(run))
        ours = written(place) == text
    except (ValueError, OverflowError, BadId) as error:
        raise BadCursor from error
    if not ours:
        raise BadCursor
    return place
