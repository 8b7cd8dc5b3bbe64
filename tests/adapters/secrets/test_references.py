"""What each kind of reference leads to, and what none leads to."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import keyring
import pytest

from portico.adapters.secrets.age_file import AgeFile
from portico.adapters.secrets.drawer import OURS, Kept
from portico.adapters.secrets.references import References
from portico.adapters.secrets.vault_keys import KeysByReference, KeysElsewhere, KeysInDrawer
from portico.guard.core.secret import SecretsUnavailable, parse_ref
from portico.guard.core.vault_keys import BadVaultKeys, VaultKeys
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from portico.testing.secrets import MemoryDrawer
from tests.adapters.secrets.keyrings import MemoryKeyring

KEPT = {("home", "github"): "kept value"}


def references(**own: Path) -> References:
    return References(
        {"TOKEN": "from the environment", "EMPTY": ""},
        lambda space, name: KEPT.get((space, name)),
        own=tuple(path for name, path in own.items() if name != "own_file"),
        own_file=own.get("own_file"),
    )


def value(text: str, found: References | None = None, space: str = "home") -> str | None:
    ref = parse_ref(text)
    assert ref is not None
    return (found or references()).value(space, ref)


def test_a_variable_a_kept_secret_and_a_file_are_found(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from a file\r\n")

    assert value("env:TOKEN") == "from the environment"
    assert value("secret:github") == "kept value"
    assert value(f"file:{file}") == "from a file"


def test_an_entry_of_the_keyring_is_found() -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(MemoryKeyring())
    keyring.set_password("github", "ana", "hers")
    try:
        assert value("keyring:github/ana") == "hers"
        assert value("keyring:github/bob") is None
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize("text", ["env:MISSING", "env:EMPTY", "secret:slack", "file:/nowhere/x"])
def test_what_is_not_there_is_none(text: str) -> None:
    assert value(text) is None
    assert value("secret:github", space="elsewhere") is None


def test_no_reference_leads_into_our_own_folders_not_even_by_a_link(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "pepper").write_text("never")
    (tmp_path / "link").symlink_to(own / "pepper")

    for text in (f"file:{own}/pepper", f"file:{tmp_path}/link", f"file:{own}/../own/pepper"):
        with pytest.raises(SecretsUnavailable, match="Portico's own"):
            value(text, references(own=own))


def test_of_our_own_file_only_what_it_says_of_servers_is_given(tmp_path: Path) -> None:
    found = references(own_file=tmp_path / "portico.toml", folder=tmp_path)

    assert not found.closed(tmp_path / "portico.toml", "/servers/github/env/TOKEN")
    assert found.closed(tmp_path / "portico.toml", "/identity/pepper")
    assert found.closed(tmp_path / "portico.toml", "")
    assert found.closed(tmp_path / "client.key", "")
    assert not found.closed(tmp_path.parent / "elsewhere", "")


def test_what_is_no_ordinary_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")

    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(SecretsUnavailable, match="no ordinary file"):
            value(f"file:{path}")
    with pytest.raises(SecretsUnavailable, match="cannot be read"):
        value(f"file:{tmp_path}/binary")


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such place on this system")
def test_what_the_kernel_makes_up_is_refused_not_even_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/environ")

    for path in ("/proc/self/environ", tmp_path / "link"):
        with pytest.raises(SecretsUnavailable, match="no ordinary file"):
            value(f"file:{path}")


def in_drawer(drawer: MemoryDrawer | AgeFile | None = None, seed: str = "one") -> KeysInDrawer:
    return KeysInDrawer(drawer or MemoryDrawer(), TickingClock(), SeededEntropy(seed))


def test_a_key_is_made_once_and_found_ever_after(tmp_path: Path) -> None:
    drawer = AgeFile(tmp_path / "secrets.age", tmp_path / "identity")
    one, other = in_drawer(drawer), in_drawer(drawer, "other")

    assert one.read() is None
    made = one.make()

    assert other.make() == made
    assert other.read() == made


def test_a_change_is_kept() -> None:
    keys = in_drawer()
    fresh = VaultKeys.fresh(SeededEntropy("fresh")).current
    made = keys.make()

    changed = keys.change(lambda now: now.announcing(fresh))

    assert changed.keys == (*made.keys, fresh)
    assert keys.read() == changed


def test_what_is_kept_under_their_name_and_is_no_key_is_refused() -> None:
    drawer = MemoryDrawer()
    drawer.change(OURS, "vault", lambda _before: Kept("no key", BEGINNING, "ana"))

    with pytest.raises(BadVaultKeys):
        in_drawer(drawer).read()
    with pytest.raises(BadVaultKeys):
        in_drawer(drawer).make()


def test_by_reference_they_are_read_and_never_written() -> None:
    keys = KeysByReference("env:KEYS", lambda: "0a" * 32)
    same: Callable[[VaultKeys], VaultKeys] = VaultKeys.only_current

    assert keys.read() == VaultKeys.parse("0a" * 32, "")
    with pytest.raises(KeysElsewhere, match="env:KEYS"):
        keys.change(same)


def test_a_reference_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(BadVaultKeys, match="env:KEYS"):
        KeysByReference("env:KEYS", lambda: None).read()
