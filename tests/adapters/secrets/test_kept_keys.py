"""The keys of the vault, with the secrets or where a setting says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from portico.adapters.secrets.age_file import AgeFile
from portico.adapters.secrets.drawer import OURS, Kept
from portico.adapters.secrets.vault_keys import KeysByReference, KeysElsewhere, KeysInDrawer
from portico.guard.core.vault_keys import BadVaultKeys, VaultKeys
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from portico.testing.secrets import MemoryDrawer


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
