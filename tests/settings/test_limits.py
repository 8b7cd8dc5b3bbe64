"""What the user decides about how often tools are called, and where secrets are."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from portico.guard.core.rate import CallRates
from portico.settings.errors import InvalidSettings
from portico.settings.limits import LimitSettings
from portico.settings.load import load
from portico.settings.secrets import SecretsSettings


def loaded(folder: Path, text: str) -> LimitSettings:
    file = folder / "portico.toml"
    file.write_text(text)
    return load({}, folder=folder, config=file).settings.limits


def test_a_principal_has_a_thousand_calls_a_minute_unless_somebody_says_otherwise() -> None:
    assert LimitSettings().rates == CallRates(principal=1000)
    assert LimitSettings(calls_a_minute=0).rates == CallRates(principal=None)


def test_tools_and_servers_are_tables_with_names_of_the_users_own(tmp_path: Path) -> None:
    text = """
        [limits]
        calls_a_minute = 50
        [limits.tools]
        "github.*" = 60
        "*.delete_*" = 5
        [limits.servers]
        github = 120
    """

    assert loaded(tmp_path, text).rates == CallRates(
        principal=50, tools={"github.*": 60, "*.delete_*": 5}, servers={"github": 120}
    )


@pytest.mark.parametrize(
    "text",
    [
        "[limits]\ncalls_a_minute = -1\n",
        '[limits.tools]\n"github.*" = 0\n',
        '[limits.tools]\n"github.*" = "60"\n',
        '[limits.servers]\n"Git Hub" = 60\n',
        "[limits]\ntools = 60\n",
        "[limits]\ncalls_per_minute = 60\n",
    ],
)
def test_what_is_no_limit_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidSettings):
        loaded(tmp_path, text)


@pytest.mark.parametrize("keys", ["env:VAULT_KEYS", "file:/etc/vault.keys", "keyring:portico/keys"])
def test_keys_are_referred_to(keys: str) -> None:
    assert SecretsSettings(keys=keys).keys == keys


@pytest.mark.parametrize("keys", ["0a" * 32, "secret:vault", "vault.keys"])
def test_keys_themselves_are_refused_and_not_repeated(keys: str) -> None:
    with pytest.raises(ValidationError, match="must say where the keys are"):
        SecretsSettings(keys=keys)


def test_references_in_our_own_file_are_no_secrets_to_be_blacked_out(tmp_path: Path) -> None:
    file = tmp_path / "portico.toml"
    file.write_text(
        '[servers.x]\ncommand = "x"\nenv = { A = "secret:github", B = "a real value" }\n'
    )

    assert [*load({}, folder=tmp_path, config=file).secrets()] == ["a real value"]
