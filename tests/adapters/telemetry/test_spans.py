"""Traces have ids, and can be carried on, whether anybody records them or not."""

import pytest

from portico.adapters.telemetry import conventions
from portico.adapters.telemetry.spans import (
    continuing,
    current_trace_id,
    remote,
    span,
    traceparent,
)

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_work_that_goes_on_elsewhere_stays_in_its_trace() -> None:
    with continuing(PARENT), span("outer", {conventions.AGENT_NAME: "x"}):
        kept = traceparent()

    with continuing(kept), span("inner"):
        found = current_trace_id()

    assert found == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert current_trace_id() is None
    assert traceparent() is None


@pytest.mark.parametrize(
    "parent",
    [
        None,
        "",
        "nonsense",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        PARENT + "-more",
        PARENT[:-1],
        PARENT * 1000,
    ],
)
def test_what_names_no_trace_is_no_parent(parent: str | None) -> None:
    assert remote(parent) is None
    with continuing(parent):
        assert current_trace_id() is None


def test_an_error_passes_through_a_span() -> None:
    with pytest.raises(ValueError, match="inside"), span("failing"):
        raise ValueError("inside")
