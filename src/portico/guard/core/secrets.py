"""Secrets: their names, references and errors."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from portico.kernel.errors import Kind, PorticoError

# A secret by its name, and the ways to write where one is: `secret:github`, `env:TOKEN`.

_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
LONGEST: Final = 16_384
"""Characters of one secret; a private key with its chain is below that."""


class InvalidSecretName(PorticoError):
    kind = Kind.INVALID
    code = "bad_secret_name"
    type_name = "BadSecretName"
    title = "Not a name for a secret"
    fix = "Letters, digits, dots, - and _, at most 64, beginning with a letter or a digit."

    def __init__(self, name: str) -> None:
        super().__init__(f"{name[:64]!r} is not a name for a secret.")


class InvalidSecret(PorticoError):
    """Does not repeat it."""

    kind = Kind.INVALID
    code = "bad_secret"
    type_name = "BadSecret"
    title = "Not a secret"
    fix = f"Send a text of 1 to {LONGEST} characters, without a zero byte."

    def __init__(self) -> None:
        super().__init__("What was sent cannot be kept as a secret.")


class SecretNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "secret_not_found"
    title = "No such secret"
    fix = "List the secrets there are: portico secrets list"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no secret {name[:64]!r} in this space.")
        self.name = name


class SecretsUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "secrets_unavailable"
    title = "The secrets cannot be reached"

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"The secrets cannot be reached: {what}.", fix=fix)


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """What can be told of one: everything but what it is."""

    name: str
    set_at: datetime
    set_by: str


class Source(StrEnum):
    ENVIRONMENT = "env"
    """A variable of the environment that Portico runs in."""
    KEYRING = "keyring"
    """An entry of the system's keyring, by its service and its name."""
    FILE = "file"
    """All that stands in a file."""
    SECRET = "secret"  # noqa: S105 # what a reference begins with
    """One that was given to Portico under this name, in the space of whoever refers to it."""


@dataclass(frozen=True, slots=True)
class SecretRef:
    source: Source
    name: str
    service: str = ""
    """Of a keyring's entry."""

    def __str__(self) -> str:
        place = f"{self.service}/{self.name}" if self.source is Source.KEYRING else self.name
        return f"{self.source}:{place}"


_FORMS: Final[Mapping[Source, re.Pattern[str]]] = {
    Source.ENVIRONMENT: re.compile(r"env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)"),
    Source.KEYRING: re.compile(r"keyring:(?P<service>[^/\x00-\x1f]+)/(?P<name>[^\x00-\x1f]+)"),
    # `file:///…` is an address, which many programs are given as one
    Source.FILE: re.compile(r"file:(?P<name>(?:/(?!/)|~/)[^\x00-\x1f]+)"),
    Source.SECRET: re.compile(rf"secret:(?P<name>{_NAME})"),
}


def parse_ref(text: str) -> SecretRef | None:
    """None for what is no reference, and so stands for itself."""
    for source, form in _FORMS.items():
        if found := form.fullmatch(text):
            return SecretRef(source, found["name"], found.groupdict().get("service") or "")
    return None


def check_secret(name: str, value: str) -> None:
    """Raises `InvalidSecretName`, `InvalidSecret`."""
    check_name(name)
    if not 1 <= len(value) <= LONGEST or "\x00" in value or not value.strip():
        raise InvalidSecret


def check_name(name: str) -> None:
    """Raises `InvalidSecretName`."""
    if not re.fullmatch(_NAME, name):
        raise InvalidSecretName(name)
