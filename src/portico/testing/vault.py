"""A vault without keys or mathematics: what was sealed in one context opens in no other."""

import hashlib
from itertools import count
from typing import Final

from portico.guard.core.vault import VaultClosed

_FORM: Final = b"memory"


class MemoryVault:
    """Any two of them open what the other has sealed, as two processes with the same keys do."""

    def __init__(self) -> None:
        self._seals = count(1)

    def seal(self, plain: bytes, context: bytes) -> bytes:
        nonce = next(self._seals).to_bytes(8)
        closed = _blurred(plain, nonce + context)
        return _FORM + nonce + _mark(closed, nonce + context) + closed

    def unseal(self, sealed: bytes, context: bytes) -> bytes | None:
        form, nonce, mark, closed = sealed[:6], sealed[6:14], sealed[14:46], sealed[46:]
        if form != _FORM or mark != _mark(closed, nonce + context):
            return None
        return _blurred(closed, nonce + context)


class ClosedVault:
    """Of a machine that has no keys."""

    def seal(self, plain: bytes, context: bytes) -> bytes:  # noqa: ARG002 # it is closed
        raise VaultClosed

    def unseal(self, sealed: bytes, context: bytes) -> bytes | None:  # noqa: ARG002 # see above
        return None


def _blurred(text: bytes, context: bytes) -> bytes:
    noise = hashlib.shake_256(context).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, noise, strict=True))


def _mark(closed: bytes, context: bytes) -> bytes:
    return hashlib.sha256(len(context).to_bytes(8) + context + closed).digest()
