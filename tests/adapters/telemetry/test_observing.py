"""Setting up what is sent, where the program that would send it is missing."""

import sys

import pytest

from portico.adapters.telemetry.errors import ExporterMissing
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.adapters.telemetry.observing import ObserveWishes, Observing


@pytest.mark.requirement("release:extras:told")
def test_without_the_exporter_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    monkeypatch.delitem(sys.modules, "portico.adapters.telemetry.export", raising=False)
    wishes = ObserveWishes(version="1", endpoint="http://127.0.0.1:9")

    with pytest.raises(ExporterMissing) as caught:
        Observing(wishes, KnownSecrets())

    assert "portico[otel]" in str(caught.value.fix)
