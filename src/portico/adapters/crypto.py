"""Cryptography: AES-SIV for what is given out, Ed25519 signatures, AES-256-GCM for the vault."""

import hashlib
import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final, Self

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

from portico.guard.core.vault import VaultClosed, VaultKeys

_PURPOSE: Final = b"portico cursor 1"


class AesSivSeal:
    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    @classmethod
    def from_pepper(cls, pepper: bytes) -> Self:
        """With a key of its own: what seals cursors says nothing of what proves keys."""
        return cls(hmac.digest(pepper, _PURPOSE, hashlib.sha512))

    def encrypt(self, content: bytes, context: bytes) -> bytes:
        return self._cipher.encrypt(content, [context])

    def decrypt(self, sealed: bytes, context: bytes) -> bytes | None:
        try:
            return self._cipher.decrypt(sealed, [context])
        except InvalidTag:
            return None


_SIGNING_PURPOSE: Final = b"portico record signature 1"
_FORM: Final = "ed25519"


class Ed25519Signing:
    def __init__(self, key: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(key)
        self.public = self._key.public_key().public_bytes_raw().hex()

    @classmethod
    def from_pepper(cls, pepper: bytes) -> Self:
        """With a key of its own: what signs records says nothing of what proves keys."""
        return cls(hmac.digest(pepper, _SIGNING_PURPOSE, hashlib.sha256))

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


# What only we can open, by AES-256-GCM: the id of its key stands in front, so that keys change.

_VAULT_FORM: Final = b"v1"
_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
HEAD_BYTES: Final = len(_VAULT_FORM) + _ID_BYTES
"""How many bytes of what is sealed tell which key it needs."""


def head(key_id: str) -> bytes:
    """What everything begins with that this key has sealed."""
    return _VAULT_FORM + key_id.encode()


class RingVault:
    """Keys may be exchanged while it is in use: see `portico secrets rotate`."""

    def __init__(self, keys: VaultKeys | None) -> None:
        self._ciphers: Mapping[bytes, AESGCM] = {}
        self._current = b""
        if keys is not None:
            self.use(keys)

    def use(self, keys: VaultKeys) -> None:
        self._ciphers = {head(key.id): AESGCM(key.secret) for key in keys.keys}
        self._current = head(keys.current.id)

    def encrypt(self, plain: bytes, context: bytes) -> bytes:
        """Raises `VaultClosed`."""
        current = self._current
        cipher = self._ciphers.get(current)
        if cipher is None:
            raise VaultClosed
        nonce = os.urandom(_NONCE_BYTES)
        return current + nonce + cipher.encrypt(nonce, plain, current + context)

    def decrypt(self, sealed: bytes, context: bytes) -> bytes | None:
        key, rest = sealed[:HEAD_BYTES], sealed[HEAD_BYTES:]
        cipher = self._ciphers.get(key)
        if cipher is None or len(rest) < _NONCE_BYTES + _TAG_BYTES:
            return None
        nonce, closed = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
        try:
            return cipher.decrypt(nonce, closed, key + context)
        except InvalidTag:
            return None
