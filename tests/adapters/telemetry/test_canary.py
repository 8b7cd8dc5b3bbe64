"""A secret that code tells in every way it can comes out nowhere: not in a log, a trace, a metric.

The same search finds it everywhere when the redaction is taken away, so it can fail.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.adapters.telemetry import hostile_program
from tests.adapters.telemetry.receiver import Receiver, receiver
from tests.servers import free_port

CANARY = "c4nary-5f2d9b7e1a-0011223344"


def told(folder: Path, *rest: str) -> tuple[Mapping[str, bytes], Receiver]:
    """What the hostile program's outputs hold."""
    file = folder / "logs" / "portico.log"
    with receiver() as collector:
        done = _run(collector.url, file, *rest)
    assert done.returncode == 0, done.stderr.decode()
    places = {
        "standard error": done.stderr,
        "log file": file.read_bytes(),
        "traces": collector.got("/v1/traces"),
        "sent metrics": collector.got("/v1/metrics"),
        "shown metrics": done.stdout,
    }
    return places, collector


def _run(endpoint: str, file: Path, *rest: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, hostile_program.__file__, endpoint, str(file), CANARY, *rest],
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.requirement("telemetry:redaction:everything")
@pytest.mark.requirement("telemetry:export:only-if-asked")
def test_no_secret_comes_out_in_a_log_a_trace_or_a_metric_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything of the environment added to what is sent."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=for-somebody-else")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "other=for-somebody-else")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")

    places, collector = told(tmp_path)

    assert [place for place, text in places.items() if CANARY.encode() in text] == []
    assert [place for place, text in places.items() if b"********" not in text] == []
    assert set(collector.bodies) == {"/v1/traces", "/v1/metrics"}
    assert [headers for headers in collector.headers if "x-other" in headers] == []
    assert not any(b"somebody-else" in body for body in collector.bodies.values())


def test_without_the_redaction_the_same_search_finds_it_in_every_place(tmp_path: Path) -> None:
    places, _ = told(tmp_path, "open")

    assert [place for place, text in places.items() if CANARY.encode() in text] == [*places]
    assert places["traces"].count(CANARY.encode()) >= 8


def test_a_collector_that_is_not_there_is_a_warning_and_not_an_end(tmp_path: Path) -> None:
    done = _run(f"http://127.0.0.1:{free_port()}", tmp_path / "portico.log")

    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 0
    assert {line["logger"].split(".")[0] for line in lines} == {"portico", "opentelemetry"}
