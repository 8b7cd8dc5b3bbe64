"""What only we can open, by AES-256-GCM: the id of its key stands in front, so that keys change."""

import os
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from portico.guard.core.vault import VaultClosed, VaultKeys

_FORM: Final = b"v1"
_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
HEAD_BYTES: Final = len(_FORM) + _ID_BYTES
"""How many bytes of what is sealed tell which key it needs."""


def head(key_id: str) -> bytes:
    """What everything begins with that this key has sealed."""
    return _FORM + key_id.encode()


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

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """Raises `VaultClosed`."""
        current = self._current
        cipher = self._ciphers.get(current)
        if cipher is None:
            raise VaultClosed
        nonce = os.urandom(_NONCE_BYTES)
        return current + nonce + cipher.encrypt(nonce, plain, current + context)

    def unseal(self, sealed: bytes, context: bytes) -> bytes | None:
        key, rest = sealed[:HEAD_BYTES], sealed[HEAD_BYTES:]
        cipher = self._ciphers.get(key)
        if cipher is None or len(rest) < _NONCE_BYTES + _TAG_BYTES:
            return None
        nonce, closed = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
        try:
            return cipher.decrypt(nonce, closed, key + context)
        except InvalidTag:
            return None
