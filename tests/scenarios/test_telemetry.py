"""What a running server tells of itself: what was asked for, to whom it was, and no secret."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr

from portico.settings.model import kinds_of, known_settings
from tests.adapters.telemetry.receiver import Receiver, receiver
from tests.installation import Installation

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
]

LOADED: Mapping[str, str] = {
    "identity.pepper": "c4nary-pepper-01",
    "database.dsn": "postgresql://app:c4nary-dsn-02@127.0.0.1:1/x",
    "database.owner_dsn": "postgresql://owner:c4nary-owner-03@127.0.0.1:1/x",
    "database.engine_dsn": "postgresql://engine:c4nary-engine-04@127.0.0.1:1/x",
    "telemetry.otlp_headers": "x-key=c4nary-header-05",
}
"""A canary in every secret that there is to set."""
SENT = "quiet-lagoon-7781"
"""One that no rule could know: it is not told because nothing that was sent is."""


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def test_there_is_a_canary_in_every_secret_setting() -> None:
    secret = {path for path in known_settings() if SecretStr in kinds_of(path)}

    assert secret == set(LOADED)


@pytest.mark.requirement("telemetry:redaction:everything")
@pytest.mark.requirement("telemetry:http:route-only")
def test_nothing_that_is_secret_or_was_sent_is_told_anywhere(
    house: Installation, collector: Receiver
) -> None:
    _load(house, collector)

    with house.serving(), house.client() as client:
        _send(house, client)
        _break_the_database(house, client)
        shown = client.get(f"{house.url}/metrics").text

    places = {
        "standard error": house.log.encode(),
        "log file": _file(house).read_bytes(),
        "traces": collector.got("/v1/traces"),
        "sent metrics": collector.got("/v1/metrics"),
        "shown metrics": shown.encode(),
    }
    canaries = [SENT, *(value[value.index("c4nary") :][:14] for value in LOADED.values())]
    assert [
        (place, canary)
        for place, text in places.items()
        for canary in canaries
        if canary.encode() in text
    ] == []
    assert "the database has gone" in house.log
    assert b"GET /api/v1/keys/{key_id}" in places["traces"]
    assert b"portico_http_request_seconds" in places["sent metrics"]
    assert "portico_transaction_seconds_count" in shown
    assert all(headers["x-key"] == "c4nary-header-05" for headers in collector.headers)


def _load(house: Installation, collector: Receiver) -> None:
    wanted = {
        **LOADED,
        "database.source": "embedded",
        "telemetry.otlp_endpoint": collector.url,
        "log.level": "debug",
        "log.rooms": "uvicorn=debug,psycopg=debug,asyncio=debug,opentelemetry=debug,fastapi=debug",
    }
    for path, value in wanted.items():
        done = house.run("config", "set", path, value)
        assert done.code == 0, done.err
    mended = house.run("init")  # under the new pepper the old key opens nothing
    assert mended.code == 0, mended.err


def _send(house: Installation, client: httpx2.Client) -> None:
    for headers in (
        {"X-Note": SENT, "User-Agent": SENT, "Cookie": f"a={SENT}", "Idempotency-Key": SENT},
        {"tracestate": f"portico={SENT}", "baggage": f"a={SENT}", "traceparent": SENT},
        {"Authorization": f"Bearer {SENT}"},
        {"Authorization": f"Basic {SENT}"},
        {"Host": SENT},
        {"Origin": f"http://{SENT}"},
    ):
        client.get("/me", headers=headers)
    client.get("/me", params={"q": SENT, SENT: "1"})
    client.get(f"/keys/{SENT}")
    client.get(f"/{SENT}")
    client.post("/keys", json={"name": SENT, SENT: SENT})
    client.post("/principals", json={"kind": "agent", "name": SENT})
    client.post("/keys", content=f'{{"name": "{SENT}')
    for command in (["keys", "revoke", SENT], ["--debug", "keys", "rotate", SENT]):
        assert house.run(*command).code != 0


def _break_the_database(house: Installation, client: httpx2.Client) -> None:
    os.kill(house.postmaster(), signal.SIGKILL)
    client.get("/me", params={"q": SENT})
    while not house.ready():
        time.sleep(0.1)


@pytest.mark.requirement("telemetry:export:only-if-asked")
def test_the_environment_alone_makes_nothing_leave(
    house: Installation, collector: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRIC_EXPORT_INTERVAL": "100",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_PYTHON_TRACER_PROVIDER": "sdk_tracer_provider",
        "OTEL_PYTHON_METER_PROVIDER": "sdk_meter_provider",
        "FASTAPI_OTEL_AUTO_CONFIGURE": "true",
    }.items():
        monkeypatch.setenv(name, value)

    with house.serving(), house.client() as client:
        assert client.get("/me").status_code == 200

    assert collector.bodies == {}


def _file(house: Installation) -> Path:
    return house.home / "state" / "logs" / "portico.log"
