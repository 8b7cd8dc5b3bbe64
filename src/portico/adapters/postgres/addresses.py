"""How to reach a database as each of its roles."""

from dataclasses import dataclass

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
            host=socket, port=5432, dbname=database, user=role, password=passwords[role]
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
