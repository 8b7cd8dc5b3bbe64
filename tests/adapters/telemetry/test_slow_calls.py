"""What takes too long is said, and nothing else."""

import logging

import pytest

from portico.adapters.telemetry.slow_calls import SlowCalls, Thresholds

SLOW = SlowCalls("portico.test", Thresholds(warning=0.5, error=2.0))


@pytest.mark.requirement("telemetry:slow-calls:told")
@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.1, []),
        (0.5, []),
        (0.6123, [("WARNING", "reading took 0.612 s")]),
        (2.0, [("WARNING", "reading took 2.000 s")]),
        (2.5, [("ERROR", "reading took 2.500 s")]),
    ],
)
def test_slow_is_a_warning_and_very_slow_an_error(
    seconds: float, said: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    SLOW.took("reading", seconds)

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == said


def test_a_line_has_the_name_and_the_seconds_as_facts(caplog: pytest.LogCaptureFixture) -> None:
    SLOW.took("reading", 0.61234)

    facts = vars(caplog.records[0])
    assert (facts["slow"], facts["seconds"]) == ("reading", 0.612)


def test_watching_times_what_is_inside_even_if_it_fails(caplog: pytest.LogCaptureFixture) -> None:
    every: list[float] = []
    slow = SlowCalls("portico.test", Thresholds(warning=0.0, error=60.0), every.append)

    with pytest.raises(ValueError, match="inside"), slow.watch("failing") as watch:
        raise ValueError("inside")

    assert every == [watch.seconds]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "inside" not in caplog.text
