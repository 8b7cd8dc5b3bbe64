"""Backup and restore with PostgreSQL's own programs, as the owner, all or nothing."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from portico.adapters.postgres.addresses import without_password
from portico.adapters.postgres.binaries import Binaries
from portico.engine.core.errors import BackupFailed

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
