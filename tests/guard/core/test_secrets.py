"""Which texts are references, what may be kept as a secret, and the keys of the vault."""

import pytest

from portico.guard.core.secrets import (
    LONGEST,
    InvalidSecret,
    InvalidSecretName,
    SecretRef,
    Source,
    check_name,
    check_secret,
    parse_ref,
)
from portico.guard.core.vault import InvalidVaultKeys, VaultKey, VaultKeys
from portico.testing.memory_store import SeededEntropy


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("env:TOKEN", SecretRef(Source.ENVIRONMENT, "TOKEN")),
        ("keyring:github/ana@example", SecretRef(Source.KEYRING, "ana@example", "github")),
        ("keyring:a service/a/b", SecretRef(Source.KEYRING, "a/b", "a service")),
        ("file:/etc/token", SecretRef(Source.FILE, "/etc/token")),
        ("file:~/token", SecretRef(Source.FILE, "~/token")),
        ("secret:github", SecretRef(Source.SECRET, "github")),
        ("secret:a.b-c_9", SecretRef(Source.SECRET, "a.b-c_9")),
    ],
)
def test_a_reference_says_where_a_secret_is(text: str, ref: SecretRef) -> None:
    assert parse_ref(text) == ref
    assert str(ref) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "plain", "env:", "env:1X", "env:A B", "ENV:TOKEN", " env:TOKEN", "env:TOKEN\n"),
        *("keyring:service", "keyring:/name", "keyring:service/", "keyring:a/b\x00"),
        *("file:", "file:relative", "file:///etc/token", "file://host/x", "file:~ana/x"),
        *("secret:", "secret:-x", "secret:a b", "secret:" + "x" * 65, "my secret:github"),
    ],
)
def test_anything_else_stands_for_itself(text: str) -> None:
    assert parse_ref(text) is None


@pytest.mark.parametrize("name", ["github", "GITHUB_TOKEN", "9.a-b", "x" * 64])
def test_a_name_is_a_word(name: str) -> None:
    check_secret(name, "a value")

    assert parse_ref(f"secret:{name}") == SecretRef(Source.SECRET, name)


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a b", "ä", "x" * 65, "x\n"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidSecretName):
        check_name(name)


@pytest.mark.parametrize("value", ["", "  \n", "a\x00b", "x" * (LONGEST + 1)])
def test_what_is_no_secret_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(InvalidSecret) as refused:
        check_secret("github", value)

    assert "xxx" not in str(refused.value)


OLD, NEW = "0a" * 32, "0b" * 32


def test_the_first_of_them_seals() -> None:
    keys = VaultKeys.parse(f" {NEW},\n{OLD}\n", "here")

    assert keys.current == VaultKey(bytes.fromhex(NEW))
    assert keys.text() == f"{NEW},{OLD}"
    assert [*keys.ids()] == [VaultKey(bytes.fromhex(each)).id for each in (NEW, OLD)]


@pytest.mark.parametrize("text", ["", " ,", "0a", "zz" * 32, f"{OLD},short", OLD.upper()])
def test_what_are_no_keys_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidVaultKeys) as refused:
        VaultKeys.parse(text, "file:/etc/keys")

    assert "file:/etc/keys" in str(refused.value)
    assert len(text) < 3 or text not in str(refused.value)


def test_a_key_shows_its_id_and_nothing_of_itself() -> None:
    [key] = VaultKeys.fresh(SeededEntropy()).keys

    assert repr(key) == f"VaultKey({key.id})"
    assert key.id not in key.secret.hex()


def test_a_key_is_announced_leads_and_stays_alone() -> None:
    keys = VaultKeys.parse(OLD, "here")
    fresh = VaultKey(bytes.fromhex(NEW))

    announced = keys.announcing(fresh)
    leading = announced.led_by_newest()

    assert announced.current == keys.current
    assert leading.current == fresh
    assert {*leading.keys} == {*announced.keys}
    assert leading.only_current().keys == (fresh,)
