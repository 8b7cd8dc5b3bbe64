"""How to reach a database as each of its roles, with their passwords."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, LiteralString
from urllib.parse import quote, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from portico.adapters.system.files import open_to_others, write_private
from portico.engine.core.errors import NotProvisioned, StoreRefused
from portico.kernel.clock import Entropy

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


DATABASE = "portico"


@dataclass(frozen=True, slots=True, repr=False)
class Addresses:
    """libpq connection strings; the owner's and the engine's may be unknown to a worker."""

    app: str
    owner: str | None = None
    engine: str | None = None
    admin: str | None = None

    def __repr__(self) -> str:
        return f"Addresses({without_password(self.app)!r})"


def local_addresses(socket: str, passwords: Passwords) -> Addresses:
    def address(role: str, database: str = DATABASE) -> str:
        return make_conninfo(
            host=socket,
            port=5432,
            dbname=database,
            user=role,
            password=passwords[role],
            require_auth="scram-sha-256",  # a stranger on this socket is told nothing
        )

    return Addresses(
        app=address(APP),
        owner=address(OWNER),
        engine=address(ENGINE),
        admin=address(ADMIN, "postgres"),
    )


def without_password(address: str) -> str:
    parts = conninfo_to_dict(address)
    parts.pop("password", None)
    return make_conninfo("", **parts)


def password_of(address: str) -> str:
    """Empty if it has none."""
    return str(conninfo_to_dict(address).get("password") or "")


def check_address(address: str) -> None:
    """Raises `ValueError`, which does not repeat the address: it may hold a password."""
    try:
        conninfo_to_dict(address)
    except ProgrammingError:
        raise ValueError("not an address of a PostgreSQL server") from None


def as_url(address: str) -> str:
    """For people and shells."""
    parts = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    user, password = (quote(parts.pop(name, ""), safe="") for name in ("user", "password"))
    host, port = parts.pop("host", ""), parts.pop("port", "")
    database = quote(parts.pop("dbname", ""), safe="")
    if host.startswith("/"):
        parts["host"], host = host, ""
    where = f"{user}:{password}@{host}" + (f":{port}" if port else "")
    return f"postgresql://{where}/{database}" + (f"?{urlencode(parts)}" if parts else "")
