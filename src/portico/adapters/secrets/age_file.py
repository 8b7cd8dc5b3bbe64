"""Secrets in one file, encrypted by age to an identity that only this user can read."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol, cast

import pyrage

from portico.adapters.secrets.drawer import Change, Kept, alone
from portico.adapters.system.private_files import open_to_others, write_private, written_beside
from portico.guard.core.secrets import SecretsUnavailable

Content = dict[str, dict[str, Kept]]
_AGE: Final[Any] = pyrage
"""Compiled, and without types."""


class Identity(Protocol):
    def to_public(self) -> object: ...


@dataclass(frozen=True, slots=True)
class AgeFile:
    """Read anew each time: another process may have written it since."""

    file: Path
    identity: Path

    title = "age"

    def get(self, space: str, name: str) -> Kept | None:
        return self._read().get(space, {}).get(name)

    def change(self, space: str, name: str, to: Change) -> Kept | None:
        with alone(self.file.with_suffix(".lock")):
            content = self._read()
            place = content.setdefault(space, {})
            before = place.get(name)
            after = to(before)
            if after == before:
                return before
            if after is None:
                del place[name]
            else:
                place[name] = after
            self._write(content)
            return before

    def all(self, space: str) -> Mapping[str, Kept]:
        return self._read().get(space, {})

    def spaces(self) -> Iterator[str]:
        return iter(self._read())

    def _read(self) -> Content:
        try:
            closed = self.file.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SecretsUnavailable(
                f"{self.file} cannot be read: {error.strerror}", f"Make {self.file} readable."
            ) from error
        try:
            return _content(_AGE.decrypt(closed, [self._identity(make=False)]))
        except (_AGE.DecryptError, ValueError) as error:
            raise SecretsUnavailable(
                f"{self.file} cannot be opened with {self.identity}",
                f"Bring the {self.identity.name} back that belongs to it, from a backup.",
            ) from error

    def _write(self, content: Content) -> None:
        plain = {
            space: {
                name: [kept.value, kept.set_at.isoformat(), kept.set_by]
                for name, kept in places.items()
            }
            for space, places in content.items()
            if places
        }
        recipient = self._identity(make=True).to_public()
        text = json.dumps(plain).encode()
        write_private(self.file, _AGE.encrypt(text, [recipient], armored=True).decode())

    def _identity(self, *, make: bool) -> Identity:
        if make and not self.identity.exists():
            fresh = str(_AGE.x25519.Identity.generate())
            with written_beside(self.identity, fresh) as half, suppress(FileExistsError):
                self.identity.hardlink_to(half)
        try:
            if open_to_others(self.identity):
                raise SecretsUnavailable(
                    f"others can read {self.identity}", "Close it to them: portico doctor --fix"
                )
            text = self.identity.read_text().strip()
            return cast("Identity", _AGE.x25519.Identity.from_str(text))
        except OSError as error:
            raise SecretsUnavailable(
                f"there is no readable {self.identity}, which opens {self.file.name}",
                "Bring it back from a backup, or remove both and set the secrets again.",
            ) from error
        except _AGE.IdentityError as error:
            raise SecretsUnavailable(
                f"{self.identity} holds no identity of age", "Bring it back from a backup."
            ) from error


def _content(plain: bytes) -> Content:
    return {
        space: {
            name: Kept(value, datetime.fromisoformat(at), by)
            for name, (value, at, by) in places.items()
        }
        for space, places in json.loads(plain).items()
    }
