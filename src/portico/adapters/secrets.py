"""Secret stores of this machine: the system's keyring, or a file that age has encrypted."""

import asyncio
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

import pyrage

from portico.adapters.system.files import (
    NotOrdinary,
    kept_secret,
    open_to_others,
    opened,
    private_folder,
    write_private,
    written_beside,
)
from portico.guard.core.secrets import SecretRef, SecretsUnavailable, Source, StoredSecret
from portico.guard.core.vault import InvalidVaultKeys, VaultKeys
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

# What a place for secrets can do, whichever it is; all of it waits, so call it in a thread.

OURS: Final = "portico"
"""Stands in the place of a space for what belongs to the installation."""


@dataclass(frozen=True, slots=True)
class SecretEntry:
    value: str
    set_at: datetime
    set_by: str

    def __repr__(self) -> str:
        return f"SecretEntry(set_at={self.set_at!r}, set_by={self.set_by!r})"


Change = Callable[[SecretEntry | None], SecretEntry | None]


class SecretStore(Protocol):
    """Each of them raises `SecretsUnavailable`."""

    @property
    def title(self) -> str: ...

    def get(self, space: str, name: str) -> SecretEntry | None: ...

    def change(self, space: str, name: str, to: Change) -> SecretEntry | None:
        """What `to` makes of what is there, or None to have nothing there; while it is made, no
        other process changes anything. Returns what was there before."""
        ...

    def all(self, space: str) -> Mapping[str, SecretEntry]: ...

    def spaces(self) -> Iterator[str]: ...


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """One process at a time; the kernel gives the lock back when its holder dies."""
    private_folder(lock.parent)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


Content = dict[str, dict[str, SecretEntry]]
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

    def get(self, space: str, name: str) -> SecretEntry | None:
        return self._read().get(space, {}).get(name)

    def change(self, space: str, name: str, to: Change) -> SecretEntry | None:
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

    def all(self, space: str) -> Mapping[str, SecretEntry]:
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
            name: SecretEntry(value, datetime.fromisoformat(at), by)
            for name, (value, at, by) in places.items()
        }
        for space, places in json.loads(plain).items()
    }


# Secrets in the keyring of the system, one entry each, and one that lists their names.
#
# Keyrings cannot be asked what they hold, so the names of a space are an entry of their own.

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
    wait_timeout: float = 10.0
    """Seconds for it to prove itself in: one that is locked may ask a person who is not there."""

    title = "keyring"

    def works(self) -> bool:
        """Whether what is written can be read again and removed: some backends only say so."""
        found: list[bool] = []
        proving = Thread(target=lambda: found.append(self._proves_itself()), daemon=True)
        proving.start()
        proving.join(self.wait_timeout)
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

    def get(self, space: str, name: str) -> SecretEntry | None:
        with _translated():
            text = self.backend.get_password(self.service, f"{space}/{name}")
        return None if text is None else _kept(text)

    def change(self, space: str, name: str, to: Change) -> SecretEntry | None:
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

    def all(self, space: str) -> Mapping[str, SecretEntry]:
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


def _kept(text: str) -> SecretEntry:
    value, at, by = json.loads(text)
    return SecretEntry(value, datetime.fromisoformat(at), by)


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


Choice = Literal["auto", "keyring", "age"]
_PROBED: Final = "portico probe"


@dataclass(frozen=True, slots=True)
class Places:
    file: Path
    identity: Path
    installation: Path


def choose(choice: Choice, places: Places) -> SecretStore:
    """Never a plain file. What was chosen by itself once stays chosen: secrets that lie in the file
    are not forgotten because a keyring has come, nor those in the keyring because it is locked.
    Raises `SecretsUnavailable`."""
    in_file = AgeFile(places.file, places.identity)
    if choice == "age" or (choice == "auto" and places.file.exists()):
        return in_file
    try:
        return _keyring(places)
    except SecretsUnavailable:
        if choice == "keyring" or places.installation.exists():
            raise
        return in_file


def _keyring(places: Places) -> OsKeyring:
    """Only one that works is given a name of ours to keep things under."""
    backend, lock = system_keyring(), places.installation.with_suffix(".lock")
    if not OsKeyring(backend, _PROBED, lock).works():
        raise SecretsUnavailable(
            "the system's keyring does not keep what it is given",
            "Unlock it, or keep the secrets in a file: portico config set secrets.store age",
        )
    name = hashlib.sha256(kept_secret(places.installation).encode()).hexdigest()[:12]
    return OsKeyring(backend, f"portico {name}", lock)


class SecretsInStore:
    """`learn` is told every value that passes here, so that it is blacked out wherever else it
    turns up."""

    def __init__(self, drawer: Callable[[], SecretStore], learn: Callable[[str], None]) -> None:
        self._drawer = drawer
        self._learn = learn

    async def where(self) -> str:
        return (await asyncio.to_thread(self._drawer)).title

    async def get(self, caller: Principal, name: str) -> str | None:
        kept = await asyncio.to_thread(self._get, str(caller.space), name)
        return None if kept is None else kept.value

    async def put(self, caller: Principal, secret: StoredSecret, value: str) -> None:
        self._learn(value)
        kept = SecretEntry(value, secret.set_at, secret.set_by)
        await asyncio.to_thread(self._change, str(caller.space), secret.name, kept)

    async def remove(self, caller: Principal, name: str) -> bool:
        before = await asyncio.to_thread(self._change, str(caller.space), name, None)
        return before is not None

    async def forget(self, space: SpaceId) -> None:
        """All that it has. Raises `SecretsUnavailable`."""
        await asyncio.to_thread(self._forget, str(space))

    async def all(self, caller: Principal) -> Sequence[StoredSecret]:
        found = await asyncio.to_thread(self._all, str(caller.space))
        return [StoredSecret(name, kept.set_at, kept.set_by) for name, kept in sorted(found)]

    def _get(self, space: str, name: str) -> SecretEntry | None:
        kept = self._drawer().get(space, name)
        if kept is not None:
            self._learn(kept.value)
        return kept

    def _change(self, space: str, name: str, kept: SecretEntry | None) -> SecretEntry | None:
        return self._drawer().change(space, name, lambda _before: kept)

    def _forget(self, space: str) -> None:
        drawer = self._drawer()
        for name in drawer.all(space):
            drawer.change(space, name, lambda _before: None)

    def _all(self, space: str) -> list[tuple[str, SecretEntry]]:
        return [*self._drawer().all(space).items()]


_LARGEST: Final = 65_536


@dataclass(frozen=True, slots=True)
class References:
    """Everything here waits, so call it in a thread."""

    environment: Mapping[str, str]
    lookup: Callable[[str, str], str | None]
    """What `portico secrets set` was given, by space and name."""
    own: tuple[Path, ...] = ()
    """Files and folders that no reference leads into."""
    own_file: Path | None = None
    """Of which only what it says of servers is given to one."""

    def value(self, space: str, ref: SecretRef) -> str | None:
        """None if there is nothing there. Raises `SecretsUnavailable`."""
        match ref.source:
            case Source.ENVIRONMENT:
                return self.environment.get(ref.name) or None
            case Source.KEYRING:
                return foreign_entry(system_keyring(), ref.service, ref.name)
            case Source.FILE:
                return self._file(ref.name)
            case Source.SECRET:
                return self.lookup(space, ref.name)

    def closed(self, file: Path, pointer: str) -> bool:
        real = file.resolve()
        if self.own_file is not None and real == self.own_file.resolve():
            return not pointer.startswith("/servers/")
        return any(real.is_relative_to(each.resolve()) for each in self.own)

    def _file(self, name: str) -> str | None:
        """Without the line end that editors leave behind."""
        try:
            file = Path(name).expanduser()
            if self.closed(file, ""):
                raise SecretsUnavailable(
                    f"{name} is Portico's own", "Keep it in a file outside of Portico's folders."
                )
            with opened(file) as stream:
                text = stream.read(_LARGEST).decode()
        except FileNotFoundError:
            return None
        except NotOrdinary as error:
            fix = "Keep it in an ordinary file."
            raise SecretsUnavailable(f"{name} is no ordinary file", fix) from error
        except (OSError, RuntimeError, UnicodeDecodeError) as error:
            raise SecretsUnavailable(f"{name} cannot be read", f"Make {name} readable.") from error
        return text.rstrip("\r\n") or None


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


class BlockingVaultKeyStore(Protocol):
    """Everything here waits, so call it in a thread. Raises `SecretsUnavailable`."""

    def read(self) -> VaultKeys | None:
        """Raises `InvalidVaultKeys`."""
        ...

    def change(self, to: Callable[[VaultKeys], VaultKeys]) -> VaultKeys:
        """Raises `KeysElsewhere`, `InvalidVaultKeys`."""
        ...


@dataclass(frozen=True, slots=True)
class VaultKeysInStore:
    drawer: SecretStore
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

        def change(kept: SecretEntry | None) -> SecretEntry:
            before = None
            if kept is not None:
                before = VaultKeys.parse(kept.value, f"the {self.drawer.title}")
            made.append(to(before))
            if kept is not None and made[0] == before:
                return kept
            return SecretEntry(made[0].text(), self.clock.now(), _BY)

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
            raise InvalidVaultKeys(self.where)
        return VaultKeys.parse(text, self.where)

    def change(
        self,
        to: Callable[[VaultKeys], VaultKeys],  # noqa: ARG002 # whatever it would be
    ) -> VaultKeys:
        raise KeysElsewhere(self.where)
