"""Keys of the vault: which one seals, which ones still open."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from portico.kernel.clock import Entropy
from portico.kernel.errors import Kind, PorticoError

_KEY_BYTES: Final = 32
_ONE: Final = re.compile(r"[0-9a-f]{64}")


class InvalidVaultKeys(PorticoError):
    """Does not repeat them."""

    kind = Kind.INVALID
    code = "bad_vault_keys"
    type_name = "BadVaultKeys"
    title = "Not keys of the vault"
    fix = "Each is 64 hexadecimal digits, parted by commas; the first one seals."

    def __init__(self, where: str) -> None:
        super().__init__(f"What {where} holds are not keys of the vault.")


class VaultClosed(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "vault_closed"
    title = "No key for what must be sealed"
    fix = (
        "Set secrets.keys to a reference to the keys of the other machines, as in "
        "file:/etc/portico/vault.keys; on the first machine run: portico init"
    )

    def __init__(self) -> None:
        super().__init__(
            "This machine has no key to seal what must not stand open in the database."
        )


@dataclass(frozen=True, slots=True)
class VaultKey:
    secret: bytes

    @property
    def id(self) -> str:
        """Tells keys apart, and says nothing of what they are."""
        return hashlib.sha256(b"portico vault key id" + self.secret).hexdigest()[:8]

    def __repr__(self) -> str:
        return f"VaultKey({self.id})"


@dataclass(frozen=True, slots=True)
class VaultKeys:
    """Never empty. The first one seals."""

    keys: tuple[VaultKey, ...]

    @classmethod
    def parse(cls, text: str, where: str) -> "VaultKeys":
        """Raises `InvalidVaultKeys`."""
        found = [each for each in re.split(r"[,\s]+", text.strip()) if each]
        if not found or not all(map(_ONE.fullmatch, found)):
            raise InvalidVaultKeys(where)
        return cls(tuple(VaultKey(bytes.fromhex(each)) for each in found))

    @classmethod
    def fresh(cls, entropy: Entropy) -> "VaultKeys":
        return cls((VaultKey(entropy(_KEY_BYTES)),))

    @property
    def current(self) -> VaultKey:
        return self.keys[0]

    def ids(self) -> Iterator[str]:
        return (key.id for key in self.keys)

    def announcing(self, new: VaultKey) -> "VaultKeys":
        """Known, and not used yet: every process has to be able to open what it will seal."""
        return VaultKeys((*self.keys, new))

    def led_by_newest(self) -> "VaultKeys":
        return VaultKeys((self.keys[-1], *self.keys[:-1]))

    def only_current(self) -> "VaultKeys":
        return VaultKeys((self.current,))

    def text(self) -> str:
        """As it is kept; a secret."""
        return ",".join(key.secret.hex() for key in self.keys)
