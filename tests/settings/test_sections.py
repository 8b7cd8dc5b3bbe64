"""What the user decides in the smaller sections, and what none of them takes."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from portico.guard.core.rate_limits import CallRates
from portico.learning.core.prefetch_gates import PrefetchLimits, PrefetchMode
from portico.sandbox.core.profile import NetworkEndpoint
from portico.settings.agents import ProviderEntry
from portico.settings.gateway import WebSettings
from portico.settings.guard import ApprovalsSettings, LimitSettings, SecretsSettings
from portico.settings.load import InvalidSettings
from portico.settings.model import (
    EmbeddingSettings,
    LogSettings,
    Settings,
    TelemetrySettings,
    typed,
)
from tests.settings.conftest import Machine, Read

HOOK = "https://hooks.example/portico?token=hidden"


def test_what_is_not_said_is_as_the_rooms_would_have_decided() -> None:
    settings = Settings()

    assert settings.ahead.terms == PrefetchLimits()
    assert settings.limits.rates == CallRates(principal=1000)
    assert (settings.box.unboxed, settings.web.places) == ((), ())
    assert (settings.approvals.webhook, settings.telemetry.otlp_endpoint) == (None, None)
    assert (settings.embeddings.encoder, settings.log.level_of) == ("static", {})


def test_everything_can_be_said_of_calls_ahead(read: Read) -> None:
    text = """
        [ahead]
        mode = "shadow"
        external = ["search", "wiki"]
        least_gain_ms = 200
        keep_seconds = 3
        calls_at_once = 1
        calls_a_minute = 10
        seconds = 2.5
        dollars = 0.05
        share = 0.1
        [ahead.prices]
        "search.*" = 0.01
        "wiki.find" = 1
    """

    assert read(text).ahead.terms == PrefetchLimits(
        mode=PrefetchMode.SHADOW,
        external=frozenset({"search", "wiki"}),
        least_gain=timedelta(milliseconds=200),
        keep=timedelta(seconds=3),
        calls_at_once=1,
        calls_a_principal=1,
        calls_a_minute=10,
        longest=timedelta(seconds=2.5),
        dollars=0.05,
        prices={"search.*": 0.01, "wiki.find": 1},
        share=0.1,
    )


def test_tools_and_servers_have_limits_by_names_of_the_users_own(read: Read) -> None:
    text = """
        [limits]
        calls_a_minute = 50
        [limits.tools]
        "github.*" = 60
        "*.delete_*" = 5
        [limits.servers]
        github = 120
    """

    assert read(text).limits.rates == CallRates(
        principal=50, tools={"github.*": 60, "*.delete_*": 5}, servers={"github": 120}
    )
    assert LimitSettings(calls_a_minute=0).rates == CallRates(principal=None)


@pytest.mark.parametrize(
    "text",
    [
        '[ahead]\nmode = "on"',
        '[ahead]\nexternal = ["Not A Name"]',
        "[ahead]\nleast_gain_ms = -1",
        "[ahead]\nkeep_seconds = 0",
        "[ahead]\nkeep_seconds = 61",
        "[ahead]\ncalls_at_once = 0",
        "[ahead]\ncalls_a_minute = 0",
        "[ahead]\nseconds = 5.1",
        "[ahead]\ndollars = 0.11",
        "[ahead]\nshare = 0.6",
        "[ahead]\nshare = nan",
        '[ahead]\nprices = {"search.*" = -1}',
        "[limits]\ncalls_a_minute = -1",
        '[limits.tools]\n"github.*" = 0',
        '[limits.tools]\n"github.*" = "60"',
        '[limits.servers]\n"Git Hub" = 60',
        "[limits]\ntools = 60",
        "[limits]\ncalls_per_minute = 60",
        '[box]\nrun_as = "no body"',
    ],
)
def test_what_would_do_too_much_or_is_none_is_refused(read: Read, text: str) -> None:
    with pytest.raises(InvalidSettings, match=text[1:].partition("]")[0].partition(".")[0]):
        read(text)


def test_references_in_our_own_file_are_no_secrets_to_be_blacked_out(machine: Machine) -> None:
    machine.user_file.write_text(
        '[servers.x]\ncommand = "x"\nenv = { A = "secret:github", B = "a real value" }\n'
    )

    assert [*machine.load().secrets()] == ["a real value"]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"gateway.keep_calls_days": 7}, "gateway.keep_calls_days"),
        ({"workflows.keep_days": 31}, "gateway.keep_calls_days"),
        ({"workflows.keep_days": 1}, "workflows.keep_days"),
        ({"workflows.keep_days": 7, "approvals.expires_minutes": 10_080}, "workflows.keep_days"),
        ({"gateway.keep_calls_days": 8}, None),
        ({"workflows.keep_days": 365, "gateway.keep_calls_days": 365}, None),
        ({"workflows.keep_days": 2, "approvals.expires_minutes": 1_440}, None),
        ({"approvals.expires_minutes": 10_080}, None),
    ],
)
def test_what_a_plan_needs_is_not_forgotten_before_it(
    machine: Machine, said: dict[str, Any], field: str | None
) -> None:
    if field is None:
        settings = machine.load(**said).settings
        assert settings.gateway.keep_calls_days >= settings.workflows.keep_days
    else:
        with pytest.raises(InvalidSettings) as caught:
            machine.load(**said)
        assert [flaw.field for flaw in caught.value.field_errors] == [field]


@pytest.mark.parametrize("kept", ["env:HOOK", "file:/etc/hook", "keyring:portico/hook"])
def test_secrets_are_referred_to(kept: str) -> None:
    hook = ApprovalsSettings(webhook=HOOK, webhook_secret=kept)

    assert (hook.webhook, hook.webhook_secret) == (HOOK, kept)
    assert SecretsSettings(keys=kept).keys == kept


@pytest.mark.parametrize("secret", ["hunter2hunter2", "0a" * 32, "secret:hook", "vault.keys", ""])
def test_secrets_themselves_are_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ApprovalsSettings(webhook=HOOK, webhook_secret=secret)
    with pytest.raises(ValidationError, match="must say where the keys are"):
        SecretsSettings(keys=secret)

    assert "must say where the secret is" in caught.value.errors()[0]["msg"]
    with pytest.raises(ValidationError, match="webhook needs webhook_secret"):
        ApprovalsSettings(webhook=HOOK)


@pytest.mark.parametrize(
    "address",
    [
        "hooks.example",
        "//hooks.example",
        "ftp://hooks.example",
        "https://me:word@hooks.example",
        "https://",
        "https://hooks.example/#part",
    ],
)
def test_what_is_no_address_or_carries_a_password_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="must be an address"):
        hook(address)
    with pytest.raises(ValidationError, match="must be an address"):
        vectors(address)
    with pytest.raises(ValidationError):
        telemetry(address)


def hook(address: str) -> ApprovalsSettings:
    return ApprovalsSettings(webhook=address, webhook_secret="env:HOOK")


def vectors(address: str) -> EmbeddingSettings:
    return EmbeddingSettings(url=address)


def provider(address: str) -> ProviderEntry:
    return ProviderEntry(kind="compatible", url=address)


def telemetry(address: str) -> TelemetrySettings:
    return TelemetrySettings(otlp_endpoint=address)


@pytest.mark.parametrize(
    ("made", "address"),
    [
        (hook, "https://hooks.example:0/"),
        (hook, "https://hooks.example:x/"),
        (vectors, "https://x/v1?key=1"),
        (telemetry, "http://h?x=1"),
        (telemetry, "http://[::1"),
    ],
)
def test_what_this_one_does_not_take_is_refused(
    made: Callable[[str], object], address: str
) -> None:
    with pytest.raises(ValidationError):
        made(address)


@pytest.mark.parametrize("made", [vectors, telemetry, provider])
@pytest.mark.parametrize(
    "address", ["http://h:0/v1", "http://h:x/v1", "http://h:65536/v1", "http://[::1", "http://:1"]
)
def test_an_address_that_nobody_can_reach_is_refused_with_one_that_can_be(
    made: Callable[[str], object], address: str
) -> None:
    told = r"must be an address, its port from 1 to 65535 .* as in http://127\.0\.0\.1:\d+"

    with pytest.raises(ValidationError, match=told) as caught:
        made(address)

    assert len(caught.value.errors()) == 1


def test_what_is_allowed_to_the_web_is_a_place() -> None:
    assert WebSettings(allow=("127.0.0.1:11434",)).places == (NetworkEndpoint("127.0.0.1", 11434),)
    for wider in ("127.0.0.1", "http://localhost:80", "10.0.0.0/8", "*:80", ""):
        with pytest.raises(ValidationError, match="must be host:port"):
            WebSettings(allow=(wider,))


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "url and model and dimensions"),
        ({"url": "http://127.0.0.1:1/v1", "dimensions": 8}, "model"),
        ({"url": "http://127.0.0.1:1/v1", "model": "m"}, "dimensions"),
    ],
)
def test_a_server_of_vectors_must_be_said_in_full(given: dict[str, object], missing: str) -> None:
    with pytest.raises(ValidationError, match=f"remote also needs {missing};"):
        EmbeddingSettings.model_validate({"encoder": "remote", **given})


def test_a_server_of_vectors_is_used_once_all_is_said() -> None:
    found = EmbeddingSettings(
        encoder="remote", url="http://127.0.0.1:11434/v1/", model="m", dimensions=8
    )

    assert found.url == "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize("name", ["../elsewhere", "Upper", "", "a/b", "-x", "a" * 65])
def test_an_encoders_name_is_no_path(name: str) -> None:
    with pytest.raises(ValidationError):
        EmbeddingSettings(encoder=name)


def test_a_key_is_named_not_given_and_not_repeated() -> None:
    with pytest.raises(ValidationError) as caught:
        EmbeddingSettings(key_variable="sk-hunter2-hunter2")

    assert "hunter2" not in str([each["msg"] for each in caught.value.errors()])


def test_rooms_have_levels_of_their_own() -> None:
    log = LogSettings(rooms="portico.http=debug, uvicorn=info,")

    assert log.level_of == {"portico.http": "debug", "uvicorn": "info"}


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


def test_where_telemetry_is_sent_and_with_which_headers() -> None:
    headers = SecretStr("Authorization=Basic abc==,X-Scope=team")

    sent = TelemetrySettings(otlp_endpoint="https://otlp.example/tenant/", otlp_headers=headers)

    assert sent.otlp_endpoint == "https://otlp.example/tenant"
    assert sent.header_values == {"Authorization": "Basic abc==", "X-Scope": "team"}
    assert "abc" not in repr(sent)


@pytest.mark.parametrize("headers", ["c4nary", "a=\nb", "=c4nary", "a b=c4nary"])
def test_headers_that_are_none_are_refused_and_not_repeated(headers: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TelemetrySettings(otlp_headers=SecretStr(headers))

    assert "c4nary" not in str(refused.value)
