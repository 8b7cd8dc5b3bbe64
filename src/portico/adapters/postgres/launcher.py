"""The embedded PostgreSQL: started by the first Portico process, stopped by the last.

Whether it lives is asked by connecting, never by looking for a pid: after a crash that pid may
belong to a stranger, or to a zombie.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Event
from typing import Final

import psutil
import psycopg

from portico.adapters.postgres.account import Account
from portico.adapters.postgres.addresses import Addresses, local_addresses
from portico.adapters.postgres.binaries import Binaries
from portico.adapters.postgres.folders import check_private, own_folder, socket_folder
from portico.adapters.postgres.locks import UsersLock, alone
from portico.adapters.postgres.passwords import ADMIN, Passwords
from portico.adapters.postgres.server_log import complaint, passes, size
from portico.adapters.system.private_files import private_folder
from portico.engine.core.errors import StoreBusy, StoreRefused, StoreUnavailable

_PATIENCE: Final = 120.0
"""Seconds for a start: recovery after a crash may have much to replay."""
_PAUSE: Final = 0.1
_LONG_LOG: Final = 10_000_000

_HBA: Final = "local all all scram-sha-256\n"
_CONF: Final = """\
# Written by Portico at every start; put your own settings into postgresql.conf above the include.
listen_addresses = ''
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
password_encryption = 'scram-sha-256'
max_connections = 300
shared_buffers = 128MB
maintenance_work_mem = 256MB
jit = off
wal_compression = on
max_wal_size = 2GB
idle_in_transaction_session_timeout = 60s
log_timezone = 'UTC'
timezone = 'UTC'
log_min_messages = warning
log_statement = 'none'
log_checkpoints = off
"""


class EmbeddedServer:
    def __init__(
        self, folder: Path, binaries: Binaries, account: Account, passwords: Passwords
    ) -> None:
        self._folder = folder
        self._binaries = binaries
        self._account = account
        self._passwords = passwords
        self._socket = socket_folder(folder)
        self._data = folder / str(binaries.major)
        # Beside the server's own folder: as root, that one belongs to another account.
        self._locks = folder.with_name(f"{folder.name}-locks")
        self._keep = self._locks / "keep"
        self._users = UsersLock(self._locks / "users.lock")
        self._leaving = Event()
        self.addresses: Addresses = local_addresses(str(self._socket), passwords)

    @property
    def socket(self) -> Path:
        return self._socket

    @property
    def data(self) -> Path:
        return self._data

    @property
    def log(self) -> Path:
        return self._folder / "server.log"

    def start(
        self, progress: Callable[[str], None] = lambda _: None, *, create: bool = False
    ) -> None:
        """Share the server that runs, or start it; only to `create` one is one made.

        Raises `StoreRefused`, `StoreUnavailable`.
        """
        self._leaving.clear()
        self._prepare()
        with self._alone():
            self._users.take()
            self._run(progress, create=create)

    def restart(self) -> None:
        """After a crash, for as long as we have not left. Raises as `start` does."""
        with self._alone():
            if self._users.held:
                self._run(lambda _: None, create=False)

    def _run(self, progress: Callable[[str], None], *, create: bool) -> None:
        if not self._answers():
            self._make(progress, create=create)
            self._launch(progress)

    def _alone(self) -> AbstractContextManager[None]:
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
        with self._alone():
            last = not self._users.others() and not self._keep.exists()
            if last and self._answers():
                self._halt()
            self._users.give_back()

    def stop(self, *, force: bool = False) -> bool:
        """False if it was not running. Raises `StoreBusy` while others use it, unless forced."""
        if not self._folder.exists():
            return False
        with self._alone():
            if not force and self._users.others():
                raise StoreBusy("Other Portico processes are using the database.")
            self._keep.unlink(missing_ok=True)
            running = self._answers()
            if running:
                self._halt()
            return running

    def running(self) -> bool:
        return self._folder.exists() and self._answers()

    def _prepare(self) -> None:
        for folder in (self._folder, self._socket):
            own_folder(folder, self._account)
        programs = self._binaries["postgres"]
        for path in (self._folder, programs):
            if not self._account.reaches(path):
                raise StoreRefused(
                    f"The account {self._account.name!r} cannot reach {path}.",
                    fix="Put the environment and PORTICO_HOME where it can, for instance below "
                    "/opt and /var/lib; a home folder is closed to other accounts.",
                )

    def _answers(self) -> bool:
        """Raises `StoreRefused` if a server answers that has another password than ours."""
        try:
            with psycopg.connect(str(self.addresses.admin), connect_timeout=5) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise StoreRefused(
                    "The embedded database does not accept the password that we have for it.",
                    fix=f"Put back the secrets that belong to {self._data}, or restore a backup "
                    "into a new PORTICO_HOME.",
                ) from error
            return False
        return True

    def _make(self, progress: Callable[[str], None], *, create: bool) -> None:
        """`initdb` beside its place, then moved there: a half-made one is never used.

        Never where there was one before: a disk that is not mounted looks the same.
        """
        if (self._data / "PG_VERSION").exists():
            check_private(self._data, self._account)
            return
        if not create or self._made.exists():
            raise StoreRefused(
                f"The database is gone from {self._data}.",
                fix="Bring it back: is a disk not mounted? To begin anew with an empty one, "
                f"remove {self._made}, then: portico init",
            )
        progress("making the database")
        half_made = self._folder / f"{self._binaries.major}.new"
        self._must(["rm", "-rf", half_made])
        password_file = self._folder / "first-password"
        try:
            self._account.writes(password_file, self._passwords[ADMIN])
            self._must(self._initdb(half_made, password_file))
        finally:
            self._must(["rm", "-f", password_file])
        include = "printf '\\ninclude %s\\n' \"'portico.conf'\" >> \"$1\""
        self._must(["/bin/sh", "-c", include, "sh", half_made / "postgresql.conf"])
        self._must(["mv", half_made, self._data])
        self._made.touch()

    @property
    def _made(self) -> Path:
        return self._locks / f"made-{self._binaries.major}"

    def _initdb(self, target: Path, password_file: Path) -> list[str | Path]:
        locale = (
            ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            if self._binaries.major >= 17
            else []
        )
        return [
            self._binaries["initdb"],
            f"--pgdata={target}",
            f"--username={ADMIN}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            *locale,
            "--data-checksums",
            "--no-instructions",
        ]

    def _launch(self, progress: Callable[[str], None]) -> None:
        """Tried again for a while: after a crash, orphans hold the old shared memory at first."""
        progress("starting the database")
        self._account.writes(self._data / "portico.conf", _CONF.format(socket=self._socket))
        self._account.writes(self._data / "pg_hba.conf", _HBA)
        if size(self.log) > _LONG_LOG:
            self._must(["mv", self.log, self.log.with_suffix(".log.1")])
        deadline = time.monotonic() + _PATIENCE
        while True:
            before = size(self.log)
            self._pg_ctl("start", "--log", self.log)
            if self._answers():
                return
            reason = complaint(self.log, before)
            hopeless = reason is not None and not passes(reason)
            if hopeless or self._leaving.is_set() or time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"The embedded database does not start: {reason or 'it does not say why'}.",
                    fix=f"See more in {self.log}, then: portico doctor",
                )
            self._forget_stranger()
            time.sleep(_PAUSE)

    def _halt(self) -> None:
        """Only after it has answered: then the pid in its folder is its own."""
        self._pg_ctl("stop", "--mode=fast")
        if self._socket.parent != self._folder:
            with suppress(OSError):
                self._socket.rmdir()

    def _forget_stranger(self) -> None:
        """A pid file left by a crash may name a process that now is somebody else's.

        PostgreSQL would refuse to start for its sake, for ever. It is taken away only if that
        process is no PostgreSQL and no orphan of ours works in the data folder.
        """
        pid_file = self._data / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return
        if psutil.pid_exists(pid) and not _is_postgres(pid) and not _anyone_in(self._data):
            self._must(["rm", "-f", pid_file])

    def _pg_ctl(self, action: str, *arguments: str | Path) -> str:
        ran = self._account.run(
            [
                self._binaries["pg_ctl"],
                action,
                f"--pgdata={self._data}",
                "--wait",
                f"--timeout={int(_PATIENCE)}",
                *arguments,
            ],
            timeout=_PATIENCE * 2,
        )
        return ran.output

    def _must(self, arguments: list[str | Path]) -> None:
        ran = self._account.run(arguments, timeout=_PATIENCE)
        if not ran.ok:
            raise StoreUnavailable(f"{arguments[0]} failed: {_last_line(ran.output)}")


def _is_postgres(pid: int) -> bool:
    try:
        return psutil.Process(pid).name().startswith("postgres")
    except psutil.NoSuchProcess:
        return False


def _anyone_in(folder: Path) -> bool:
    places = (process.info["cwd"] for process in psutil.process_iter(["cwd"]))
    return any(place is not None and Path(place) == folder for place in places)


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1] if lines else "it said nothing"
