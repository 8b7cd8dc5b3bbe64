"""What is sealed opens with the same key, in the same context, and in no other way."""

from base64 import b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.crypto import HEAD_BYTES, Ed25519Signing, RingVault, head
from portico.guard.core.vault import VaultClosed, VaultKeys
from portico.guard.ports import Vault
from portico.testing.memory_store import SeededEntropy
from portico.testing.secrets import MemoryVault

KEYS = VaultKeys.fresh(SeededEntropy("vault"))
OTHER = VaultKeys.fresh(SeededEntropy("another"))


@pytest.fixture(params=["real", "memory"])
def vaults(request: pytest.FixtureRequest) -> tuple[Vault, Vault]:
    """Of two processes."""
    if request.param == "memory":
        return MemoryVault(), MemoryVault()
    return RingVault(KEYS), RingVault(KEYS)


@pytest.mark.parametrize("plain", [b"", b"x", b"a secret" * 1000])
def test_one_process_opens_what_another_has_sealed(
    vaults: tuple[Vault, Vault], plain: bytes
) -> None:
    one, other = vaults

    assert other.decrypt(one.encrypt(plain, b"here"), b"here") == plain


def test_what_is_sealed_opens_in_no_other_context(vaults: tuple[Vault, Vault]) -> None:
    one, other = vaults

    assert other.decrypt(one.encrypt(b"a secret", b"here"), b"there") is None


def test_what_is_alike_does_not_look_alike(vaults: tuple[Vault, Vault]) -> None:
    one, _ = vaults
    first, second = one.encrypt(b"a secret", b"here"), one.encrypt(b"a secret", b"here")

    assert first != second
    assert b"secret" not in first


def test_a_changed_byte_opens_nothing(vaults: tuple[Vault, Vault]) -> None:
    one, other = vaults
    sealed = one.encrypt(b"a secret", b"here")

    for place in range(len(sealed)):
        forged = bytearray(sealed)
        forged[place] ^= 1
        assert other.decrypt(bytes(forged), b"here") is None


@given(st.binary(max_size=80))
def test_what_was_never_sealed_opens_nothing(text: bytes) -> None:
    assert RingVault(KEYS).decrypt(text, b"") is None
    assert RingVault(KEYS).decrypt(head(KEYS.current.id) + text, b"") is None
    assert MemoryVault().decrypt(text, b"") is None


def test_it_says_which_key_has_sealed_it() -> None:
    sealed = RingVault(KEYS).encrypt(b"a secret", b"here")

    assert sealed[:HEAD_BYTES] == head(KEYS.current.id)


def test_an_older_key_opens_and_does_not_seal() -> None:
    [old], [new] = KEYS.keys, OTHER.keys
    sealed = RingVault(KEYS).encrypt(b"a secret", b"here")

    both = RingVault(VaultKeys((new, old)))

    assert both.decrypt(sealed, b"here") == b"a secret"
    assert RingVault(OTHER).decrypt(both.encrypt(b"anew", b"here"), b"here") == b"anew"
    assert RingVault(OTHER).decrypt(sealed, b"here") is None


def test_keys_are_exchanged_while_it_is_in_use() -> None:
    vault = RingVault(KEYS)

    vault.use(OTHER)

    assert RingVault(OTHER).decrypt(vault.encrypt(b"x", b""), b"") == b"x"


def test_without_a_key_it_seals_nothing() -> None:
    with pytest.raises(VaultClosed, match="no key"):
        RingVault(None).encrypt(b"a secret", b"here")
    assert RingVault(None).decrypt(RingVault(KEYS).encrypt(b"x", b""), b"") is None


SIGNING = Ed25519Signing.from_pepper(b"pepper")


def test_a_signature_is_of_one_content() -> None:
    signature = SIGNING.sign(b"content")

    assert SIGNING.holds(b"content", signature)
    assert not SIGNING.holds(b"another", signature)


def test_with_the_same_pepper_it_holds_elsewhere_and_with_another_not() -> None:
    signature = SIGNING.sign(b"content")

    assert Ed25519Signing.from_pepper(b"pepper").holds(b"content", signature)
    assert not Ed25519Signing.from_pepper(b"salt").holds(b"content", signature)


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "ed25519",
        f"ed25519:{SIGNING.public}:",
        f"ed25519:{SIGNING.public}:ä?",
        f"rsa:{SIGNING.public}:AA==",
    ],
)
def test_what_is_no_signature_does_not_hold(signature: str) -> None:
    assert not SIGNING.holds(b"content", signature)


def test_whoever_has_the_public_key_can_check_it() -> None:
    _, public, signed = SIGNING.sign(b"content").split(":")

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))

    key.verify(b64decode(signed), b"content")
