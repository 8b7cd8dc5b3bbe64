"""Secrets in the keyring of the system, one entry each, and one that lists their names.

Keyrings cannot be asked what they hold, so the names of a space are an entry of their own.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from portico.adapters.secrets.drawer import Change, Kept, alone
from portico.guard.core.secrets import SecretsUnavailable

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_SPACES: Final = "spaces"
_LIST: Final = "names of"
_PROBE: Final = "probe"
_PROBE_TEXT: Final = "whether what is kept can be had again"


def system_keyring() -> "KeyringBackend":
    """Raises `SecretsUnavailable`."""
    try:
        import keyring  # noqa: PLC0415 # an extra, and slow to load
        import keyring.errors  # noqa: PLC0415 # see above
    except ImportError as error:
        raise SecretsUnavailable(
            "the package keyring is not installed",
            "Install portico[keyring], or: portico config set secrets.store age",
        ) from error
    try:
        return keyring.get_keyring()
    except keyring.errors.KeyringError as error:
        raise _unavailable(error) from error


@dataclass(frozen=True, slots=True)
class OsKeyring:
    backend: "KeyringBackend"
    service: str
    """Another one for each installation of the same user."""
    lock: Path
    patience: float = 10.0
    """Seconds for it to prove itself in: one that is locked may ask a person who is not there."""

    title = "keyring"

    def works(self) -> bool:
        """Whether what is written can be read again and removed: some backends only say so."""
        found: list[bool] = []
        proving = Thread(target=lambda: found.append(self._proves_itself()), daemon=True)
        proving.start()
        proving.join(self.patience)
        return found == [True]

    def _proves_itself(self) -> bool:
        try:
            with alone(self.lock), _translated():
                self.backend.set_password(self.service, _PROBE, _PROBE_TEXT)
                found = self.backend.get_password(self.service, _PROBE)
                self.backend.delete_password(self.service, _PROBE)
                left = self.backend.get_password(self.service, _PROBE)
        except SecretsUnavailable:
            return False
        return found == _PROBE_TEXT and left is None

    def get(self, space: str, name: str) -> Kept | None:
        with _translated():
            text = self.backend.get_password(self.service, f"{space}/{name}")
        return None if text is None else _kept(text)

    def change(self, space: str, name: str, to: Change) -> Kept | None:
        with alone(self.lock):
            before = self.get(space, name)
            after = to(before)
            if after == before:
                return before
            if after is None:
                self._remove(space, name)
            else:
                # named first: what is listed and missing can be told, what is not listed is lost
                self._list(_SPACES, lambda spaces: spaces | {space})
                self._list(f"{_LIST} {space}", lambda names: names | {name})
                self._put(f"{space}/{name}", [after.value, after.set_at.isoformat(), after.set_by])
            return before

    def _remove(self, space: str, name: str) -> None:
        self._drop(f"{space}/{name}")
        names = f"{_LIST} {space}"
        self._list(names, lambda names: names - {name})
        if not self._listed(names):
            self._list(_SPACES, lambda spaces: spaces - {space})

    def all(self, space: str) -> Mapping[str, Kept]:
        found = {name: self.get(space, name) for name in self._listed(f"{_LIST} {space}")}
        return {name: kept for name, kept in found.items() if kept is not None}

    def spaces(self) -> Iterator[str]:
        return iter(sorted(self._listed(_SPACES)))

    def _list(self, place: str, to: Callable[[frozenset[str]], frozenset[str]]) -> None:
        before = self._listed(place)
        after = to(before)
        if not after:
            self._drop(place)
        elif after != before:
            self._put(place, sorted(after))

    def _listed(self, place: str) -> frozenset[str]:
        with _translated():
            text = self.backend.get_password(self.service, place)
        return frozenset() if text is None else frozenset(json.loads(text))

    def _drop(self, place: str) -> None:
        with _translated():
            if self.backend.get_password(self.service, place) is not None:
                self.backend.delete_password(self.service, place)

    def _put(self, place: str, content: list[str]) -> None:
        with _translated():
            self.backend.set_password(self.service, place, json.dumps(content))


def foreign_entry(backend: "KeyringBackend", service: str, name: str) -> str | None:
    """What somebody else keeps there. Raises `SecretsUnavailable`."""
    with _translated():
        return backend.get_password(service, name)


def _kept(text: str) -> Kept:
    value, at, by = json.loads(text)
    return Kept(value, datetime.fromisoformat(at), by)


@contextmanager
def _translated() -> Iterator[None]:
    """Backends raise what their own libraries raise, too: a bus that is gone, a prompt refused."""
    try:
        yield
    except Exception as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> SecretsUnavailable:
    return SecretsUnavailable(
        f"the system's keyring says {type(error).__name__}",
        "Unlock it, or keep the secrets in a file: portico config set secrets.store age",
    )
