"""Where in a list of runs somebody is."""

from datetime import timedelta, timezone

import pytest

from portico.agents.core.trace_filter import TracePlace
from portico.engine.core.errors import BadCursor
from portico.kernel.ids import RunId
from portico.testing.kernel import BEGINNING, SeededEntropy

RUN = RunId.mint(BEGINNING, SeededEntropy("run"))


def test_a_place_is_read_as_it_was_written() -> None:
    place = TracePlace(BEGINNING.astimezone(timezone(timedelta(hours=2))), RUN)

    assert TracePlace.parse(str(place)) == place


@pytest.mark.parametrize(
    "text",
    ["", "x", f"yesterday {RUN}", f"{BEGINNING.isoformat()} run_1", f"2026-01-01T00:00:00 {RUN}"],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(BadCursor):
        TracePlace.parse(text)
