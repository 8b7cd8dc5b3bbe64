"""Where secrets are kept on this machine: never in plain text, whatever there is."""

from pathlib import Path
from threading import Event

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import KeyringLocked

from portico.adapters.secrets.choosing import Places, choose
from portico.adapters.secrets.drawer import Kept
from portico.adapters.secrets.os_keyring import OsKeyring
from portico.guard.core.secret import SecretsUnavailable
from portico.testing.kernel import BEGINNING
from tests.adapters.secrets.keyrings import (
    BrokenKeyring,
    ForgetfulKeyring,
    LockedKeyring,
    MemoryKeyring,
)

KEPT = Kept("a value", BEGINNING, "ana")
USELESS: list[KeyringBackend] = [
    fail.Keyring(),  # type: ignore[no-untyped-call] # the library has no types there
    null.Keyring(),  # type: ignore[no-untyped-call] # likewise
    ForgetfulKeyring(),
    LockedKeyring(),
    BrokenKeyring(),
]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "secrets.age", tmp_path / "s" / "identity", tmp_path / "s" / "name")


@pytest.fixture(autouse=True)
def _own_keyring_again() -> object:
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


def test_a_keyring_that_works_is_taken(places: Places) -> None:
    backend = MemoryKeyring()
    keyring.set_keyring(backend)

    assert choose("auto", places).title == "keyring"
    assert choose("keyring", places).title == "keyring"
    assert choose("age", places).title == "age"
    assert backend.entries == {}


@pytest.mark.parametrize("backend", USELESS, ids=lambda each: type(each).__module__[-12:])
def test_without_one_they_are_kept_in_the_encrypted_file(
    places: Places, backend: KeyringBackend
) -> None:
    keyring.set_keyring(backend)

    assert choose("auto", places).title == "age"
    with pytest.raises(SecretsUnavailable, match="keyring"):
        choose("keyring", places)


def test_where_the_library_is_missing_they_are_kept_in_the_file(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)

    assert choose("auto", places).title == "age"
    with pytest.raises(SecretsUnavailable, match="not installed") as refused:
        choose("keyring", places)
    assert "portico[keyring]" in (refused.value.fix or "")


def test_secrets_in_the_file_are_not_forgotten_when_a_keyring_comes(places: Places) -> None:
    choose("age", places).change("here", "github", lambda _before: KEPT)
    keyring.set_keyring(MemoryKeyring())

    assert choose("auto", places).get("here", "github") == KEPT


def test_two_installations_of_one_user_do_not_share_their_entries(
    places: Places, tmp_path: Path
) -> None:
    keyring.set_keyring(MemoryKeyring())
    other = Places(tmp_path / "o.age", tmp_path / "o" / "identity", tmp_path / "o" / "name")

    choose("keyring", places).change("here", "github", lambda _before: KEPT)

    assert choose("keyring", other).get("here", "github") is None
    assert choose("keyring", places).get("here", "github") == KEPT


def test_a_keyring_that_cannot_even_be_opened_is_none(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked() -> KeyringBackend:
        raise KeyringLocked("locked")

    monkeypatch.setattr(keyring, "get_keyring", locked)

    assert choose("auto", places).title == "age"
    with pytest.raises(SecretsUnavailable, match="KeyringLocked"):
        choose("keyring", places)


def test_what_lies_in_the_keyring_is_not_begun_anew_in_the_file_while_it_is_locked(
    places: Places,
) -> None:
    keyring.set_keyring(MemoryKeyring())
    choose("auto", places).change("here", "github", lambda _before: KEPT)
    keyring.set_keyring(LockedKeyring())

    with pytest.raises(SecretsUnavailable, match="keyring"):
        choose("auto", places)
    assert choose("age", places).title == "age"


def test_a_keyring_that_waits_for_a_person_is_not_waited_for(tmp_path: Path) -> None:
    asked, nobody = Event(), Event()

    class Asking(MemoryKeyring):
        def set_password(self, service: str, username: str, password: str) -> None:
            asked.set()
            nobody.wait(20)

    try:
        assert not OsKeyring(Asking(), "portico x", tmp_path / "lock", patience=0.05).works()
        assert asked.is_set()
    finally:
        nobody.set()
