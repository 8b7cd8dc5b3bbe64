"""The database, from the command line: in this process, whether the server runs or not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from cyclopts import App

from portico.engine.core.store import StoreStatus
from portico.faces.cli.exits import Exit
from portico.faces.cli.terminal import PLAIN, At, Terminal
from portico.kernel.json import JsonObject, JsonValue

app = App(
    name="db",
    help="The database: migrate, back up, restore.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@app.command
def provision(*, admin_dsn: str, rotate: bool = False, print_only: bool = False, at: At) -> None:
    """Make roles, database and the vector extension on a PostgreSQL of your own.

    Parameters
    ----------
    admin_dsn
        Address of an administrator: postgresql://postgres:…@host/postgres
    rotate
        Give roles that exist already new passwords.
    print_only
        Print the settings with the new addresses instead of writing them to a private file.
    """
    with at.working("setting up roles and database"):
        made = at.house.provision(admin_dsn, rotate=rotate, write=not print_only)
    if made.file is None:
        lines = [f"PORTICO_{k.upper().replace('.', '__')}={v}" for k, v in made.addresses.items()]
        at.data(dict(made.addresses), "\n".join(lines))
    else:
        at.data(
            {"file": str(made.file)},
            f"The addresses are in {made.file} (only you can read it).\nNext: portico init",
        )


@app.command
async def migrate(*, at: At) -> None:
    """Bring the database to the shape that this version needs."""
    async with _running(at), _saying(at, "migrating"):
        applied: list[JsonObject] = [
            {"number": migration.number, "name": migration.name}
            async for migration in at.house.migrate()()
        ]
    names = ", ".join(f"{each['number']:04} {each['name']}" for each in applied)
    at.data({"applied": applied}, f"Applied: {names}" if names else "Nothing to do.")


@app.command
async def status(*, at: At) -> int:
    """Where the database is, whether it runs, and whether it needs migrating."""
    found = await at.house.store().status()
    at.facts(_facts(found))
    return Exit.OK if found.running else Exit.NOT_RUNNING


@app.command
async def start(*, at: At) -> None:
    """Start the embedded database and leave it running until `db stop`."""
    store = at.house.store()
    with at.working("starting the database") as progress:
        await store.start(create=False, keep=True, progress=progress)
        found = await store.status()
    at.facts(_facts(found))


@app.command
async def stop(*, force: bool = False, at: At) -> None:
    """Stop the embedded database.

    Parameters
    ----------
    force
        Even if other Portico processes are using it; a server that runs starts it again.
    """
    with at.working("stopping the database"):
        stopped = await at.house.store().stop(force=force)
    at.data({"stopped": stopped}, "Stopped." if stopped else "It was not running.")


@app.command
async def backup(target: Path | None = None, *, at: At) -> None:
    """Write everything to one file; the server may go on running.

    Parameters
    ----------
    target
        The file to write; a new one in the backups folder if left away.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")  # noqa: TID251 # the name of a file
    file = target or at.house.whereabouts().backups / f"portico-{stamp}.dump"
    async with _running(at), _saying(at, "backing up"):
        await at.house.archive().back_up(file)
    size = file.stat().st_size
    at.data({"file": str(file), "bytes": size}, f"{file} ({size:,} bytes)")


@app.command
async def restore(source: Path, *, yes: bool = False, at: At) -> int:
    """Replace everything by what a backup holds: all of it or nothing.

    Parameters
    ----------
    source
        A file that `db backup` wrote.
    yes
        Do not ask.
    """
    if not yes and not at.confirm(f"Replace everything in the database by {source}?"):
        at.say("Nothing was changed. To restore without being asked: --yes")
        return Exit.APPROVAL
    async with _running(at), _saying(at, "restoring"):
        await at.house.archive().restore(source)
        applied = [migration.name async for migration in at.house.migrate()()]
    at.data({"restored": str(source), "migrations_applied": applied}, f"Restored {source}.")
    return Exit.OK


@app.command
async def info(*, at: At) -> None:
    """How large the database is, table by table, and what is connected."""
    async with _running(at):
        found = await at.house.store().info()
    tables: list[JsonObject] = [asdict(table) for table in found.tables]
    facts: JsonObject = _facts(found.status) | {
        "bytes": found.size,
        "connections": found.connections,
        "extensions": list(found.extensions),
    }
    if at.json:
        at.facts({**facts, "tables": tables})
        return
    at.facts(facts)
    print()
    at.table(["name", "rows", "size"], tables, None)


@asynccontextmanager
async def _running(at: Terminal) -> AsyncIterator[None]:
    store = at.house.store()
    try:
        with at.working("starting the database") as progress:
            await store.start(create=False, progress=progress)
        yield
    finally:
        await store.release()


@asynccontextmanager
async def _saying(at: Terminal, text: str) -> AsyncIterator[None]:
    with at.working(text):
        yield


def _facts(status: StoreStatus) -> dict[str, JsonValue]:
    return {
        "source": status.source,
        "address": status.address,
        "running": status.running,
        "server_version": status.server_version,
        "migrations_applied": status.applied,
        "migrations_pending": status.pending,
    }
