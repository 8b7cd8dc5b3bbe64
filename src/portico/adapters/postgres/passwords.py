"""The passwords of the database's roles, kept in one file that only its owner can read."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, LiteralString

from portico.adapters.system.private_files import open_to_others, write_private
from portico.engine.core.errors import NotProvisioned, StoreRefused
from portico.kernel.entropy import Entropy

ADMIN: Final[LiteralString] = "postgres"
OWNER: Final[LiteralString] = "portico_owner"
APP: Final[LiteralString] = "portico_app"
ENGINE: Final[LiteralString] = "portico_engine"


@dataclass(frozen=True, slots=True, repr=False)
class Passwords:
    by_role: Mapping[str, str]

    def __getitem__(self, role: str) -> str:
        return self.by_role[role]

    def __repr__(self) -> str:
        return f"Passwords({', '.join(self.by_role)})"


def new_password(entropy: Entropy) -> str:
    """256 bits, in letters that need no quoting in an address."""
    return base64.urlsafe_b64encode(entropy(32)).decode().rstrip("=")


def new_passwords(entropy: Entropy) -> Passwords:
    return Passwords({role: new_password(entropy) for role in (ADMIN, OWNER, APP, ENGINE)})


def save(passwords: Passwords, file: Path) -> None:
    write_private(file, json.dumps(dict(passwords.by_role), indent=1))


def read(file: Path) -> Passwords:
    """Raises `NotProvisioned`, `StoreRefused`."""
    try:
        if open_to_others(file):
            raise StoreRefused(
                f"Others can read the database's passwords in {file}.",
                fix=f"Close it: chmod 600 {file}, or: portico doctor --fix",
            )
        return Passwords(json.loads(file.read_text()))
    except FileNotFoundError:
        raise NotProvisioned("This installation has no database yet.") from None
    except (OSError, ValueError):
        raise StoreRefused(
            f"The database's passwords in {file} cannot be read.",
            fix="Make it yours and mode 600; if it is damaged, put it back from a backup.",
        ) from None
