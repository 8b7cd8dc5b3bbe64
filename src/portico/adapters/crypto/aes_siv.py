"""Seals by AES-SIV (RFC 5297): unreadable, unforgeable, and alike for what is alike."""

import hashlib
import hmac
from typing import Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

_PURPOSE: Final = b"portico cursor 1"


class AesSivSeal:
    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    @classmethod
    def from_pepper(cls, pepper: bytes) -> Self:
        """With a key of its own: what seals cursors says nothing of what proves keys."""
        return cls(hmac.digest(pepper, _PURPOSE, hashlib.sha512))

    def seal(self, content: bytes, context: bytes) -> bytes:
        return self._cipher.encrypt(content, [context])

    def unseal(self, sealed: bytes, context: bytes) -> bytes | None:
        try:
            return self._cipher.decrypt(sealed, [context])
        except InvalidTag:
            return None
