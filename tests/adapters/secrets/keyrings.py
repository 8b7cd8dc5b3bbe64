"""Keyrings of the library's own kind: one in memory, and some that do not do what they say."""

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class MemoryKeyring(KeyringBackend):
    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # the library has no types there
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("no such entry")


class ForgetfulKeyring(MemoryKeyring):
    """Takes everything and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None: ...


class LockedKeyring(MemoryKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked")


class BrokenKeyring(MemoryKeyring):
    """Its bus is gone, which its library says in its own way."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise ConnectionResetError("the bus is gone")
