"""The keys of the vault, as they are kept and exchanged."""

import pytest

from portico.guard.core.vault_keys import BadVaultKeys, VaultKey, VaultKeys
from portico.testing.kernel import SeededEntropy

OLD, NEW = "0a" * 32, "0b" * 32


def test_the_first_of_them_seals() -> None:
    keys = VaultKeys.parse(f" {NEW},\n{OLD}\n", "here")

    assert keys.current == VaultKey(bytes.fromhex(NEW))
    assert keys.text() == f"{NEW},{OLD}"
    assert [*keys.ids()] == [VaultKey(bytes.fromhex(each)).id for each in (NEW, OLD)]


@pytest.mark.parametrize("text", ["", " ,", "0a", "zz" * 32, f"{OLD},short", OLD.upper()])
def test_what_are_no_keys_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadVaultKeys) as refused:
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
