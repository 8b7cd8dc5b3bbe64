"""The embedded PostgreSQL: started by the first Portico process, stopped by the last."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Event

from portico.adapters.postgres.account import Account
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.binaries import Binaries
from portico.adapters.postgres.cluster import Cluster
from portico.adapters.postgres.folders import check_private, own_folder, socket_folder
from portico.adapters.postgres.locks import UsersLock, alone
from portico.adapters.postgres.majors import existing_major, locks_folder
from portico.adapters.postgres.passwords import Passwords
from portico.adapters.system.private_files import private_folder
from portico.engine.core.errors import StoreBusy, StoreRefused


class EmbeddedServer:
    def __init__(
        self, folder: Path, binaries: Binaries, account: Account, passwords: Passwords
    ) -> None:
        self._folder = folder
        self.binaries = binaries
        self.account = account
        self._passwords = passwords
        self._socket = socket_folder(folder)
        self.cluster = self._on(folder / str(binaries.major))
        self._locks = locks_folder(folder)
        self._keep = self._locks / "keep"
        self._users = UsersLock(self._locks / "users.lock")
        self._leaving = Event()
        self.addresses: Addresses = self.cluster.addresses

    @property
    def major(self) -> int:
        return self.binaries.major

    def password(self, role: str) -> str:
        return self._passwords[role]

    @property
    def socket(self) -> Path:
        return self._socket

    @property
    def data(self) -> Path:
        return self.cluster.data

    @property
    def log(self) -> Path:
        return self.cluster.log

    def start(
        self, progress: Callable[[str], None] = lambda _: None, *, create: bool = False
    ) -> None:
        """Share the server that runs, or start it; only to `create` one is one made.

        Raises `StoreRefused`, `StoreUnavailable`.
        """
        self._leaving.clear()
        self.prepare()
        with self.alone():
            self._users.take()
            self._run(progress, create=create)

    def restart(self) -> None:
        """After a crash, for as long as we have not left. Raises as `start` does."""
        with self.alone():
            if self._users.held:
                self.prepare()  # whoever stopped it may have taken the folder of its socket along
                self._run(lambda _: None, create=False)

    def _run(self, progress: Callable[[str], None], *, create: bool) -> None:
        self._not_left_behind()
        if not self.cluster.answers():
            self._make(progress, create=create)
            progress("starting the database")
            self.cluster.launch(self._leaving.is_set)

    def alone(self) -> AbstractContextManager[None]:
        """Nobody else starts or stops it meanwhile."""
        private_folder(self._locks)
        return alone(self._locks / "start.lock")

    def keep(self) -> None:
        """Let it run when the last one is out, until `stop`."""
        self._keep.touch()

    def release(self) -> None:
        """Done with it; the last one out stops it."""
        if not self._users.held:
            return
        self._leaving.set()  # a restart that is under way gives up
        with self.alone():
            self._halt_if_idle()
            self._users.give_back()

    def settle(self) -> bool:
        """Stop it if nobody uses it any more, as after a crash of whoever did; whether it was."""
        if not self._folder.exists():
            return False
        with self.alone():
            return self._halt_if_idle()

    def _halt_if_idle(self) -> bool:
        idle = not self._users.others() and not self._keep.exists()
        if not idle or not self.cluster.answers():
            return False
        self._halt()
        return True

    def stop(self, *, force: bool = False) -> bool:
        """False if it was not running. Raises `StoreBusy` while others use it, unless forced."""
        if not self._folder.exists():
            return False
        with self.alone():
            return self.stop_alone(force=force)

    def stop_alone(self, *, force: bool = False) -> bool:
        """As `stop`, by whoever has the lock already."""
        if not force and self._users.others():
            raise StoreBusy("Other Portico processes are using the database.")
        self._keep.unlink(missing_ok=True)
        running = self.cluster.answers()
        if running:
            self._halt()
        return running

    def running(self) -> bool:
        return self._folder.exists() and self.cluster.answers()

    def _on(self, data: Path) -> Cluster:
        return Cluster(data, self.binaries, self.account, self._passwords, self._socket)

    def prepare(self) -> None:
        for folder in (self._folder, self._socket):
            own_folder(folder, self.account)
        programs = self.binaries["postgres"]
        for path in (self._folder, programs):
            if not self.account.reaches(path):
                raise StoreRefused(
                    f"The account {self.account.name!r} cannot reach {path}.",
                    fix="Put the environment and PORTICO_HOME where it can, for instance below "
                    "/opt and /var/lib; a home folder is closed to other accounts.",
                )

    def _not_left_behind(self) -> None:
        """Whoever waited for the lock may have waited for an upgrade; and what is left from before
        one is not taken for the database when that is gone."""
        newest = existing_major(self._folder)
        if newest is not None and newest > self.binaries.major:
            raise StoreRefused(
                f"The database has been upgraded to PostgreSQL {newest} meanwhile.",
                fix="Do it again: the new one is used then.",
            )
        made = [int(mark.name.removeprefix("made-")) for mark in self._locks.glob("made-[0-9]*")]
        later = [major for major in made if major > self.binaries.major]
        if later:
            raise _gone(self._folder / str(max(later)), self._locks / f"made-{max(later)}")

    def _make(self, progress: Callable[[str], None], *, create: bool) -> None:
        """`initdb` beside its place, then moved there: a half-made one is never used.

        Never where there was one before: a disk that is not mounted looks the same.
        """
        if (self.data / "PG_VERSION").exists():
            check_private(self.data, self.account)
            return
        if not create or self.made.exists():
            raise _gone(self.data, self.made)
        progress("making the database")
        half_made = self.half_made()
        half_made.init()
        self.put_in_place(half_made)

    def half_made(self) -> Cluster:
        """Beside its place, where nobody takes it for the database."""
        return self._on(self._folder / f"{self.binaries.major}.new")

    def put_in_place(self, half_made: Cluster) -> None:
        """From one moment to the next it is the database."""
        half_made.must(["mv", half_made.data, self.data])
        half_made.must(["sync", self._folder])
        self.made.touch()

    @property
    def made(self) -> Path:
        """A mark that there was one: where it stands, none is made anew."""
        return self._locks / f"made-{self.binaries.major}"

    def _halt(self) -> None:
        self.cluster.halt()
        if self._socket.parent != self._folder:
            with suppress(OSError):
                self._socket.rmdir()


def _gone(data: Path, mark: Path) -> StoreRefused:
    return StoreRefused(
        f"The database is gone from {data}.",
        fix="Bring it back: is a disk not mounted? To begin anew with an empty one, "
        f"remove {mark}, then: portico init",
    )
