"""Signatures by Ed25519 (RFC 8032): made by this installation, checked by whoever has its key."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_PURPOSE: Final = b"portico record signature 1"
_FORM: Final = "ed25519"


class Ed25519Signing:
    def __init__(self, key: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(key)
        self.public = self._key.public_key().public_bytes_raw().hex()

    @classmethod
    def from_pepper(cls, pepper: bytes) -> Self:
        """With a key of its own: what signs records says nothing of what proves keys."""
        return cls(hmac.digest(pepper, _PURPOSE, hashlib.sha256))

    def sign(self, content: bytes) -> str:
        """Its kind, the public key and the signature, so that it can be checked anywhere."""
        return f"{_FORM}:{self.public}:{b64encode(self._key.sign(content)).decode()}"

    def holds(self, content: bytes, signature: str) -> bool:
        form, _, rest = signature.partition(":")
        public, _, signed = rest.partition(":")
        if (form, public) != (_FORM, self.public):
            return False
        try:
            self._key.public_key().verify(b64decode(signed, validate=True), content)
        except (InvalidSignature, ValueError):
            return False
        return True
