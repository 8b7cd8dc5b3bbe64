"""Bring the embedded database to another major version of PostgreSQL."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from portico.adapters.postgres.addresses import ADMIN
from portico.adapters.postgres.embedded.programs import existing_major, locks_folder, majors
from portico.adapters.postgres.embedded.server import (
    Account,
    Cluster,
    EmbeddedServer,
    alone,
    processes_in,
)
from portico.adapters.system.files import private_folder
from portico.engine.core.errors import NotProvisioned, StoreBusy, StoreRefused, UpgradeFailed
from portico.engine.core.store import Removed, Upgraded

# Bring the embedded database to another major version of PostgreSQL.
#
# The new one is made beside its place by `pg_upgrade`, which copies, and is moved there when it is
# whole: until then the old one is the database, and afterwards it is what one can go back to.

Progress = Callable[[str], None]

_PATIENCE: Final = 24 * 3600.0
"""Seconds for `pg_upgrade`: it copies everything, and how much that is nobody knows."""
_DYING: Final = 10.0
_BESIDES: Final = 200_000_000
"""Bytes that a new database takes before anything is in it, with room to move."""
_RUN_THERE: Final = 'cd "$1" && PGPASSFILE="$1/password" && export PGPASSFILE && shift && exec "$@"'


class MajorUpgrade:
    def __init__(
        self,
        folder: Path,
        server: Callable[[int], EmbeddedServer],
        wanted: int,
        free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self._folder = folder
        self._server = server
        self._wanted = wanted
        self._free = free
        self._work = folder / "upgrade"

    def upgrade(self, progress: Progress) -> Upgraded:
        """Raises `StoreBusy`, `StoreRefused`, `StoreUnavailable`, `UpgradeFailed`."""
        with self._alone() as have:
            if have >= self._wanted:
                self._server(have).cluster.must(["rm", "-rf", self._work])
                return Upgraded(before=have, after=have, retained=tuple(map(str, self._kept(have))))
            old, new = self._server(have), self._server(self._wanted)
            self._rest(old, progress)
            new.prepare()
            self._see_that_there_is_room(old)
            made = new.half_made()
            try:
                self._make(old, made, progress)
                self._look_after(made, progress)
                new.put_in_place(made)
            finally:
                self._end_orphans(made)
                made.must(["rm", "-rf", self._work])
            return Upgraded(
                before=have, after=self._wanted, retained=tuple(map(str, self._kept(self._wanted)))
            )

    def back(self) -> Upgraded:
        """To the one from before the upgrade, as it was then. Raises `StoreBusy`,
        `StoreRefused`."""
        with self._alone() as have:
            older = [major for major in majors(self._folder) if major < have]
            if not older:
                raise StoreRefused(
                    f"There is nothing from before PostgreSQL {have} to go back to.",
                    fix="Restore a backup: portico db restore FILE",
                )
            undone = self._folder / f"{have}.undone"
            if undone.exists():
                raise StoreRefused(
                    f"What an earlier return has left is still in {undone}.",
                    fix="If it can go: portico db upgrade --forget-old",
                )
            server = self._server(have)
            self._stop(server)
            server.made.unlink(missing_ok=True)
            server.cluster.must(["mv", server.data, undone])
            return Upgraded(before=have, after=max(older), retained=(str(undone),))

    def forget_old(self) -> Removed:
        """What is no longer, or not yet, the database. Raises `StoreBusy`."""
        with self._alone() as have:
            left = [*self._kept(have), *self._folder.glob("*.undone"), *self._folder.glob("*.new")]
            size = sum(map(_size, left))
            for each in left:
                self._server(have).cluster.must(["rm", "-rf", each])
            return Removed(folders=tuple(map(str, left)), bytes=size)

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """With the version that is in use."""
        with alone(private_folder(locks_folder(self._folder)) / "start.lock"):
            have = existing_major(self._folder)
            if have is None:
                raise NotProvisioned("This installation has no database yet.")
            yield have

    def _kept(self, have: int) -> tuple[Path, ...]:
        return tuple(self._folder / str(major) for major in majors(self._folder) if major < have)

    def _stop(self, server: EmbeddedServer) -> None:
        try:
            server.stop_alone()
        except StoreBusy as busy:
            fix = "Stop the Portico processes that use it first: it stands still meanwhile."
            raise StoreBusy(str(busy), fix=fix) from busy

    def _rest(self, old: EmbeddedServer, progress: Progress) -> None:
        """Ended in good order: what a crash has left in it is recovered first."""
        self._stop(old)
        old.prepare()
        self._end_orphans(self._server(self._wanted).half_made())
        if old.cluster.worked_in():
            old.cluster.halt()
        progress(f"looking at PostgreSQL {old.major}")
        old.cluster.launch()
        old.cluster.halt()

    def _end_orphans(self, half_made: Cluster) -> None:
        """What is left running by an upgrade that was cut short; it is to be made anew."""
        left = processes_in(self._work, half_made.data)
        for process in left:
            with suppress(psutil.NoSuchProcess):  # it may end with one that was killed before it
                process.kill()
        psutil.wait_procs(left, timeout=_DYING)

    def _see_that_there_is_room(self, old: EmbeddedServer) -> None:
        needed, free = _size(old.data) + _BESIDES, self._free(self._folder)
        if free < needed:
            raise StoreRefused(
                f"There are {_mb(free)} free in {self._folder}, and a second copy of the database "
                f"needs {_mb(needed)}.",
                fix="Make room, or move PORTICO_HOME to where there is some.",
            )

    def _make(self, old: EmbeddedServer, made: Cluster, progress: Progress) -> None:
        progress(f"making a database of PostgreSQL {made.binaries.major}")
        made.init(checksums=_checksums(old, old.account))
        made.must(["rm", "-rf", self._work])
        made.must(["mkdir", "-m", "700", self._work])
        old.account.writes(self._work / "password", f"*:*:*:{ADMIN}:{old.password(ADMIN)}\n")
        progress(f"copying {_mb(_size(old.data))} to PostgreSQL {made.binaries.major}")
        ran = old.account.run(
            [
                *("/bin/sh", "-c", _RUN_THERE, "sh", self._work),
                made.binaries["pg_upgrade"],
                f"--old-bindir={old.binaries.folder}",
                f"--new-bindir={made.binaries.folder}",
                f"--old-datadir={old.data}",
                f"--new-datadir={made.data}",
                f"--socketdir={old.socket}",
                f"--username={ADMIN}",
            ],
            timeout=_PATIENCE,
        )
        if not ran.ok:
            _tell(ran.output, made.data)

    def _look_after(self, made: Cluster, progress: Progress) -> None:
        """What `pg_upgrade` leaves to whoever calls it: extensions, and what is known of the
        tables, without which plans are poor."""
        progress("looking through the tables")
        made.launch()
        try:
            admin = str(made.addresses.admin)
            with psycopg.connect(admin, autocommit=True) as connection:
                found = connection.execute("SELECT datname FROM pg_database WHERE datallowconn")
                names = [str(name) for (name,) in found]
            for name in names:
                with psycopg.connect(make_conninfo(admin, dbname=name), autocommit=True) as inside:
                    _refresh(inside)
        finally:
            made.halt()


def _refresh(inside: psycopg.Connection) -> None:
    if inside.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchone() is not None:
        inside.execute("ALTER EXTENSION vector UPDATE")
    inside.execute("ANALYZE")


def _checksums(old: EmbeddedServer, account: Account) -> bool:
    """Both have them or neither."""
    ran = account.run([old.binaries["pg_controldata"], old.data], timeout=30)
    return "checksum version: 0" not in " ".join(ran.output.split())


def _tell(output: str, made: Path) -> NoReturn:
    said = [line.strip() for line in output.splitlines() if line.strip()]
    raise UpgradeFailed(
        f"pg_upgrade failed: {' '.join(said[-3:]) or 'it said nothing'}",
        fix="Nothing has changed: the old database is in its place. What went wrong is in "
        f"{made / 'pg_upgrade_output.d'}; mend it and repeat: portico db upgrade",
    )


def _size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def _mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
