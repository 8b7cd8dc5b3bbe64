"""`portico db`: migrate, back up, restore, upgrade."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Annotated

from cyclopts import App, Parameter

from portico.engine.core.store import StoreStatus, Upgraded
from portico.interfaces.cli.errors import ConfirmationRequired, Exit, FileInTheWay, InvalidUsage
from portico.interfaces.cli.terminal import PLAIN, At, Terminal, human_size
from portico.kernel.json import JsonObject, JsonValue


def bring_up(at: Terminal) -> None:
    with at.working("upgrading the database") as progress:
        done = at.services.store_upgrade().upgrade(progress)
    kept = ", ".join(map(str, done.retained))
    until = f"What was before stays in {kept}, until: portico db upgrade --forget-old"
    if done.before == done.after:
        text = f"Nothing to do: the database is of PostgreSQL {done.after}."
    else:
        text = f"The database is of PostgreSQL {done.after} now; it was of {done.before}."
    at.data(_facts(done), f"{text}\n{until}" if kept else text)


def go_back(at: Terminal, *, yes: bool) -> None:
    question = "Return to the database from before the upgrade, without what was written since?"
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    with at.working("going back"):
        done = at.services.store_upgrade().back()
    at.data(
        _facts(done),
        f"The database is of PostgreSQL {done.after} again; "
        f"the other one is in {done.retained[0]}.\n"
        f"To stay with it: portico config set database.version {done.after}",
    )


def forget(at: Terminal, *, yes: bool) -> None:
    question = "Remove what is kept of earlier databases? There is no way back then."
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    with at.working("removing what is old"):
        gone = at.services.store_upgrade().forget_old()
    folders: list[JsonValue] = [str(folder) for folder in gone.folders]
    names = ", ".join(map(str, folders))
    text = f"Removed {names} ({human_size(gone.bytes)})." if names else "Nothing to remove."
    at.data({"removed": folders, "bytes": gone.bytes}, text)


def _facts(done: Upgraded) -> JsonObject:
    return {
        "before": done.before,
        "after": done.after,
        "kept": [str(each) for each in done.retained],
    }


app = App(
    name="db",
    help="The database: migrate, back up, restore, upgrade.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@app.command(name="provision", sort_key=8)
def provision(
    *,
    admin_dsn: Annotated[str, Parameter(env_var="PORTICO_ADMIN_DSN")],
    rotate: bool = False,
    print_only: bool = False,
    at: At,
) -> None:
    """Make roles, database and the vector extension on a PostgreSQL of your own.

    Parameters
    ----------
    admin_dsn
        An administrator's address. Arguments can be seen by other users: rather set the variable.
    rotate
        Give roles that exist already new passwords.
    print_only
        Print the new addresses, as a shell reads them, instead of writing them to a file.
    """
    with at.working("setting up roles and database"):
        made = at.services.provision(admin_dsn, rotate=rotate, write=not print_only)
    if made.file is None:
        lines = [
            f"PORTICO_{setting.upper().replace('.', '__')}={quote(address)}"
            for setting, address in made.addresses.items()
        ]
        at.data(dict(made.addresses), "\n".join(lines))
    else:
        at.data(
            {"file": str(made.file)},
            f"The addresses are in {made.file} (only you can read it).\nNext: portico init",
        )


@app.command(name="migrate", sort_key=5)
async def migrate(*, at: At) -> None:
    """Bring the database to the shape that this version needs."""
    async with _running(at), _saying(at, "migrating"):
        applied: list[JsonObject] = [
            {"number": migration.number, "name": migration.name}
            async for migration in at.services.migrate()()
        ]
    names = ", ".join(f"{each['number']:04} {each['name']}" for each in applied)
    at.data({"applied": applied}, f"Applied: {names}" if names else "Nothing to do.")


@app.command(name="status", sort_key=1)
async def status(*, at: At) -> int:
    """Where the database is, whether it runs, and whether it needs migrating."""
    found = await at.services.store().status()
    at.details(_store_facts(found))
    return Exit.OK if found.running else Exit.NOT_RUNNING


@app.command(name="start", sort_key=2)
async def start(*, at: At) -> None:
    """Start the embedded database and leave it running until `db stop`."""
    store = at.services.store()
    with at.working("starting the database") as progress:
        await store.start(create=False, keep=True, progress=progress)
        found = await store.status()
    at.details(_store_facts(found))


@app.command(name="stop", sort_key=3)
async def stop(*, force: bool = False, at: At) -> None:
    """Stop the embedded database.

    Parameters
    ----------
    force
        Even if other Portico processes are using it; a server that runs starts it again.
    """
    with at.working("stopping the database"):
        stopped = await at.services.store().stop(force=force)
    at.data({"stopped": stopped}, "Stopped." if stopped else "It was not running.")


@app.command(name="backup", sort_key=6)
async def backup(target: Path | None = None, /, *, replace: bool = False, at: At) -> None:
    """Write everything to one file; the server may go on running.

    Parameters
    ----------
    target
        The file to write; a new one in the backups folder if left away.
    replace
        Even if there is such a file, which is then lost.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")  # noqa: TID251 # the name of a file
    file = target or at.services.whereabouts().backups / f"portico-{stamp}.dump"
    if file.exists() and not replace:
        raise FileInTheWay(file)
    async with _running(at), _saying(at, "backing up"):
        await at.services.archive().back_up(file)
    size = file.stat().st_size
    at.data({"file": str(file), "bytes": size}, f"{file} ({size:,} bytes)")


@app.command(name="restore", sort_key=7)
async def restore(source: Path, /, *, yes: bool = False, at: At) -> None:
    """Replace everything by what a backup holds: all of it or nothing.

    Parameters
    ----------
    source
        A file that `db backup` wrote.
    yes
        Do not ask.
    """
    _see_that_it_is_there(source)
    question = f"Replace everything in the database by {source}?"
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    async with _running(at), _saying(at, "restoring"):
        await at.services.archive().restore(source)
        applied = [migration.name async for migration in at.services.migrate()()]
    at.data({"restored": str(source), "migrations_applied": applied}, f"Restored {source}.")


@app.command(name="upgrade", sort_key=9)
def upgrade(*, back: bool = False, forget_old: bool = False, yes: bool = False, at: At) -> None:
    """Bring the embedded database to the PostgreSQL of `database.version`; the old one is kept.

    Parameters
    ----------
    back
        Return to the one from before, as it was then.
    forget_old
        Remove what is kept of earlier ones.
    yes
        Do not ask.
    """
    if back and forget_old:
        raise InvalidUsage("--back needs what --forget-old removes.", fix="Say one of them.")
    if back:
        go_back(at, yes=yes)
    elif forget_old:
        forget(at, yes=yes)
    else:
        bring_up(at)


@app.command(name="info", sort_key=4)
async def info(*, at: At) -> None:
    """How large the database is, table by table, and what is connected."""
    async with _running(at):
        found = await at.services.store().info()
    tables: list[JsonObject] = [asdict(table) for table in found.tables]
    facts: dict[str, JsonValue] = {
        "connections": found.connections,
        "extensions": list(found.extensions),
    }
    if at.for_a_person:
        at.details(_store_facts(found.status) | {"size": human_size(found.size)} | facts)
        print()
        sized = [asdict(table) | {"size": human_size(table.size)} for table in found.tables]
        at.table(["name", "rows", "size"], sized, None, right=["size"])
        return
    facts = _store_facts(found.status) | {"bytes": found.size} | facts
    if at.json:
        at.details({**facts, "tables": tables})
        return
    at.details(facts)
    print()
    at.table(["name", "rows", "size"], tables, None)


def _see_that_it_is_there(file: Path) -> None:
    """Before anybody is asked, and before the database is started. Raises `OSError`."""
    file.open("rb").close()


@asynccontextmanager
async def _running(at: Terminal) -> AsyncIterator[None]:
    store = at.services.store()
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


def _store_facts(status: StoreStatus) -> dict[str, JsonValue]:
    return {
        "source": status.source,
        "address": status.address,
        "running": status.running,
        "server_version": status.server_version,
        "migrations_applied": status.applied,
        "migrations_pending": status.pending,
    }
