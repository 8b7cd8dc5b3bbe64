"""The keys of the vault, where they are kept: with the secrets, or wherever a setting says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from portico.adapters.secrets.drawer import OURS, Drawer, Kept
from portico.guard.core.vault import BadVaultKeys, VaultKeys
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.errors import Kind, PorticoError

_NAME: Final = "vault"
_BY: Final = "portico"


class KeysElsewhere(PorticoError):
    kind = Kind.CONFLICT
    code = "keys_elsewhere"
    title = "The keys are not kept here"

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The keys of the vault are in {where}, which Portico does not write.",
            fix=f"Put a new key behind the others in {where} on every machine and restart them; "
            "then put it in front of them and restart; then run this again.",
        )


class KeptKeys(Protocol):
    """Everything here waits, so call it in a thread. Raises `SecretsUnavailable`."""

    def read(self) -> VaultKeys | None:
        """Raises `BadVaultKeys`."""
        ...

    def change(self, to: Callable[[VaultKeys], VaultKeys]) -> VaultKeys:
        """Raises `KeysElsewhere`, `BadVaultKeys`."""
        ...


@dataclass(frozen=True, slots=True)
class KeysInDrawer:
    drawer: Drawer
    clock: Clock
    entropy: Entropy

    def read(self) -> VaultKeys | None:
        kept = self.drawer.get(OURS, _NAME)
        return None if kept is None else VaultKeys.parse(kept.value, f"the {self.drawer.title}")

    def make(self) -> VaultKeys:
        """The first one; what is there already stays."""
        return self._changed(lambda keys: keys or VaultKeys.fresh(self.entropy))

    def change(self, to: Callable[[VaultKeys], VaultKeys]) -> VaultKeys:
        return self._changed(lambda keys: to(keys or VaultKeys.fresh(self.entropy)))

    def _changed(self, to: Callable[[VaultKeys | None], VaultKeys]) -> VaultKeys:
        made: list[VaultKeys] = []

        def change(kept: Kept | None) -> Kept:
            before = None
            if kept is not None:
                before = VaultKeys.parse(kept.value, f"the {self.drawer.title}")
            made.append(to(before))
            if kept is not None and made[0] == before:
                return kept
            return Kept(made[0].text(), self.clock.now(), _BY)

        self.drawer.change(OURS, _NAME, change)
        return made[0]


@dataclass(frozen=True, slots=True)
class KeysByReference:
    """In an environment or a file that every machine of a fleet has."""

    where: str
    value: Callable[[], str | None]

    def read(self) -> VaultKeys | None:
        text = self.value()
        if text is None:
            raise BadVaultKeys(self.where)
        return VaultKeys.parse(text, self.where)

    def change(
        self,
        to: Callable[[VaultKeys], VaultKeys],  # noqa: ARG002 # whatever it would be
    ) -> VaultKeys:
        raise KeysElsewhere(self.where)
