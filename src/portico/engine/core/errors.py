"""What the engine room refuses.

PorticoError
├── StoreUnavailable     no PostgreSQL answers
├── StoreRefused         we will not start one like this (root, Windows, a folder open to others)
├── StoreBusy            others are using what was to be stopped or replaced
├── PasswordRefused      it answers, but not to us
├── NotProvisioned       the roles or the database are missing
├── AlreadyProvisioned   the roles are there, with passwords we do not know
├── SchemaEdited         a migration that was applied has since been changed
├── SchemaAhead          the database was migrated by a newer Portico
├── SchemaBehind         the database needs `db migrate`
├── BackupFailed
└── KeyReused            an idempotency key sent again with another request
"""

from portico.kernel.errors import Kind, PorticoError


class StoreUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "store_unavailable"
    title = "The database does not answer"
    fix = "See what is wrong: portico doctor"


class StoreRefused(PorticoError):
    kind = Kind.INVALID
    code = "store_refused"
    title = "The database cannot be used like this"


class StoreBusy(PorticoError):
    kind = Kind.CONFLICT
    code = "store_busy"
    title = "The database is in use"
    fix = "Stop the Portico processes that use it first, or pass --force."


class PasswordRefused(PorticoError):
    kind = Kind.DENIED
    code = "password_refused"
    title = "The database refuses the password"
    fix = (
        "Put the addresses right (portico config show --origin), or: portico db provision --rotate"
    )

    def __init__(self) -> None:
        super().__init__("The database server answers, but not to the password that we have.")


class NotProvisioned(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "not_provisioned"
    title = "The database is not set up"
    fix = "Set it up: portico init, or with a database of your own: portico db provision"


class AlreadyProvisioned(PorticoError):
    kind = Kind.CONFLICT
    code = "already_provisioned"
    title = "The roles exist already"
    fix = "Pass --rotate to give them new passwords; other installations on it then need those too."


class SchemaEdited(PorticoError):
    kind = Kind.CONFLICT
    code = "schema_edited"
    title = "An applied migration has changed"
    fix = "Install the Portico version that applied it, or restore a backup."

    def __init__(self, name: str) -> None:
        super().__init__(f"The migration {name!r} differs from the one the database was given.")
        self.name = name


class SchemaAhead(PorticoError):
    kind = Kind.CONFLICT
    code = "schema_ahead"
    title = "The database is newer than this Portico"
    fix = "Upgrade Portico: the database was migrated by a later version."

    def __init__(self, applied: int, known: int) -> None:
        super().__init__(f"The database is at migration {applied}; this Portico knows {known}.")
        self.applied = applied
        self.known = known


class SchemaBehind(PorticoError):
    kind = Kind.CONFLICT
    code = "schema_behind"
    title = "The database needs migrating"
    fix = "Run: portico db migrate"

    def __init__(self, pending: int) -> None:
        super().__init__(f"{pending} migration(s) have not been applied to the database yet.")
        self.pending = pending


class BackupFailed(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "backup_failed"
    title = "The backup or restore failed"


class KeyReused(PorticoError):
    kind = Kind.INVALID
    code = "idempotency_key_reused"
    title = "The idempotency key was used for another request"
    fix = "Send a new Idempotency-Key with a new request; repeat one only with the same body."

    def __init__(self, key: str) -> None:
        super().__init__(f"The idempotency key {key[:64]!r} belongs to a different request.")
        self.key = key
