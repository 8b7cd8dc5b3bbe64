"""How to reach a database as each of its roles."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from portico.adapters.postgres.passwords import ADMIN, APP, ENGINE, OWNER, Passwords

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
