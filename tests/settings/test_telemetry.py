"""What is logged and sent, as it may be set."""

import pytest
from pydantic import SecretStr, ValidationError

from portico.settings.kinds import typed
from portico.settings.model import LogSettings, TelemetrySettings


def test_rooms_have_levels_of_their_own() -> None:
    log = LogSettings(rooms="portico.http=debug, uvicorn=info,")

    assert log.level_of == {"portico.http": "debug", "uvicorn": "info"}
    assert LogSettings().level_of == {}


@pytest.mark.parametrize("rooms", ["portico.http", "=debug", "x=loud", "a=info;b=info", "a b=info"])
def test_a_room_without_a_level_is_refused(rooms: str) -> None:
    with pytest.raises(ValidationError, match=r"as in portico.http=debug"):
        LogSettings(rooms=rooms)


def test_a_warning_comes_before_an_error() -> None:
    with pytest.raises(ValidationError, match="slow_warning must not be longer"):
        LogSettings(slow_warning=3.0)


@pytest.mark.parametrize(
    ("text", "value"), [("0.5", 0.5), ("2", 2.0), ("soon", "soon"), ("1e9", "1e9"), ("nan", "nan")]
)
def test_a_text_is_read_as_the_decimal_that_the_setting_is(text: str, value: object) -> None:
    assert typed("log.slow_warning", text) == value


def test_nothing_is_sent_unless_it_is_said_where() -> None:
    telemetry = TelemetrySettings()

    assert telemetry.otlp_endpoint is None
    assert telemetry.header_values == {}


@pytest.mark.parametrize(
    "endpoint",
    ["collector:4318", "ftp://x", "http://user:secret@host", "http://h?x=1", "http://[::1", "//h"],
)
def test_an_endpoint_is_an_address_without_a_password(endpoint: str) -> None:
    with pytest.raises(ValidationError):
        TelemetrySettings(otlp_endpoint=endpoint)


def test_an_endpoint_may_have_a_path() -> None:
    telemetry = TelemetrySettings(otlp_endpoint="https://otlp.example/tenant/")

    assert telemetry.otlp_endpoint == "https://otlp.example/tenant"


def test_headers_are_names_and_values() -> None:
    headers = SecretStr("Authorization=Basic abc==,X-Scope=team")

    telemetry = TelemetrySettings(otlp_headers=headers)

    assert telemetry.header_values == {"Authorization": "Basic abc==", "X-Scope": "team"}
    assert "abc" not in repr(telemetry)


@pytest.mark.parametrize("headers", ["c4nary", "a=\nb", "=c4nary", "a b=c4nary"])
def test_headers_that_are_none_are_refused_and_not_repeated(headers: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TelemetrySettings(otlp_headers=SecretStr(headers))

    assert "c4nary" not in str(refused.value)
