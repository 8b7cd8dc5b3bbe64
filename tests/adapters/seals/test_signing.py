"""Signatures of records: ours, of this very content, and checked without our key."""

from base64 import b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from portico.adapters.seals.signing import Ed25519Signing

OURS = Ed25519Signing.from_pepper(b"pepper")


def test_a_signature_is_of_one_content() -> None:
    signature = OURS.sign(b"content")

    assert OURS.holds(b"content", signature)
    assert not OURS.holds(b"another", signature)


def test_with_the_same_pepper_it_holds_elsewhere_and_with_another_not() -> None:
    signature = OURS.sign(b"content")

    assert Ed25519Signing.from_pepper(b"pepper").holds(b"content", signature)
    assert not Ed25519Signing.from_pepper(b"salt").holds(b"content", signature)


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "ed25519",
        f"ed25519:{OURS.public}:",
        f"ed25519:{OURS.public}:ä?",
        f"rsa:{OURS.public}:AA==",
    ],
)
def test_what_is_no_signature_does_not_hold(signature: str) -> None:
    assert not OURS.holds(b"content", signature)


def test_whoever_has_the_public_key_can_check_it() -> None:
    _, public, signed = OURS.sign(b"content").split(":")

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))

    key.verify(b64decode(signed), b"content")
