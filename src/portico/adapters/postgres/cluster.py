"""One data folder of PostgreSQL, and the server that runs on it.

Whether it lives is asked by connecting, never by looking for a pid: after a crash that pid may
belong to a stranger, or to a zombie.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil
import psycopg

from portico.adapters.postgres.account import Account
from portico.adapters.postgres.addresses import Addresses, local_addresses
from portico.adapters.postgres.binaries import Binaries
from portico.adapters.postgres.passwords import ADMIN, Passwords
from portico.adapters.postgres.server_log import complaint, passes, size
from portico.engine.core.errors import StoreRefused, StoreUnavailable

_log: Final = logging.getLogger("portico.postgres")
_PATIENCE: Final = 120.0
"""Seconds for a start: recovery after a crash may have much to replay."""
_PAUSE: Final = 0.1
_LONG_LOG: Final = 10_000_000

_SOCKET_LOCK: Final = ".s.PGSQL.5432.lock"
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


class Cluster:
    def __init__(
        self, data: Path, binaries: Binaries, account: Account, passwords: Passwords, socket: Path
    ) -> None:
        self.data = data
        self.binaries = binaries
        self.log = data.parent / "server.log"
        self.addresses: Addresses = local_addresses(str(socket), passwords)
        self._account = account
        self._passwords = passwords
        self._socket = socket

    def init(self, *, checksums: bool = True) -> None:
        """In the place of what may be there. Raises `StoreUnavailable`."""
        self.must(["rm", "-rf", self.data])
        password_file = self.data.parent / "first-password"
        try:
            self._account.writes(password_file, self._passwords[ADMIN])
            self.must(self._initdb(password_file, checksums=checksums))
        finally:
            self.must(["rm", "-f", password_file])
        include = "printf '\\ninclude %s\\n' \"'portico.conf'\" >> \"$1\""
        self.must(["/bin/sh", "-c", include, "sh", self.data / "postgresql.conf"])
        self.configure()

    def configure(self) -> None:
        self._account.writes(self.data / "portico.conf", _CONF.format(socket=self._socket))
        self._account.writes(self.data / "pg_hba.conf", _HBA)

    def answers(self) -> bool:
        """Raises `StoreRefused` if a server answers that has another password than ours."""
        try:
            with psycopg.connect(str(self.addresses.admin), connect_timeout=5) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise StoreRefused(
                    "The embedded database does not accept the password that we have for it.",
                    fix=f"Put back the secrets that belong to {self.data}, or restore a backup "
                    "into a new PORTICO_HOME.",
                ) from error
            return False
        return True

    def launch(self, given_up: Callable[[], bool] = lambda: False) -> None:
        """Tried again for a while: after a crash, orphans hold the old shared memory at first."""
        self.configure()
        if size(self.log) > _LONG_LOG:
            self.must(["mv", self.log, self.log.with_suffix(".log.1")])
        deadline, told = time.monotonic() + _PATIENCE, None
        while True:
            before = size(self.log)
            self._pg_ctl("start", "--log", self.log)
            if self.answers():
                return
            reason = complaint(self.log, before)
            hopeless = reason is not None and not passes(reason)
            if hopeless or given_up() or time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"The embedded database does not start: {reason or 'it does not say why'}.",
                    fix=f"See more in {self.log}, then: portico doctor",
                )
            if reason != told:
                _log.warning("the embedded database does not accept connections yet: %s", reason)
                told = reason
            self._forget_stranger()
            time.sleep(_PAUSE)

    def halt(self) -> None:
        """Only after it has answered, or somebody works in its folder: then the pid that stands
        there is its own."""
        self._pg_ctl("stop", "--mode=fast")

    def worked_in(self) -> bool:
        """Whether any process has its folder as its own: every one of a server has."""
        return anyone_in(self.data)

    def _initdb(self, password_file: Path, *, checksums: bool) -> list[str | Path]:
        major = self.binaries.major
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if major >= 17 else []
        without = ["--no-data-checksums"] if major >= 18 else []
        return [
            self.binaries["initdb"],
            f"--pgdata={self.data}",
            f"--username={ADMIN}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            *locale,
            *(["--data-checksums"] if checksums else without),
            "--no-instructions",
        ]

    def _forget_stranger(self) -> None:
        """A file left by a crash may name a process that now is somebody else's: also another
        PostgreSQL, of another installation.

        PostgreSQL would refuse to start for its sake, for ever. It is taken away only if nobody
        works in the data folder, as each of its processes does before it writes such a file.
        """
        for file in (self.data / "postmaster.pid", self._socket / _SOCKET_LOCK):
            if _names_somebody(file) and not self.worked_in():
                self.must(["rm", "-f", file])

    def _pg_ctl(self, action: str, *arguments: str | Path) -> None:
        self._account.run(
            [
                self.binaries["pg_ctl"],
                action,
                f"--pgdata={self.data}",
                "--wait",
                f"--timeout={int(_PATIENCE)}",
                *arguments,
            ],
            timeout=_PATIENCE * 2,
        )

    def must(self, arguments: list[str | Path]) -> None:
        """Raises `StoreUnavailable`."""
        ran = self._account.run(arguments, timeout=_PATIENCE)
        if not ran.ok:
            raise StoreUnavailable(f"{arguments[0]} failed: {_last_line(ran.output)}")


def anyone_in(*folders: Path) -> bool:
    return any(True for _ in processes_in(*folders))


def processes_in(*folders: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cwd"])
        if process.info["cwd"] is not None and Path(process.info["cwd"]) in folders
    ]


def _names_somebody(file: Path) -> bool:
    try:
        return psutil.pid_exists(int(file.read_text().split()[0]))
    except (OSError, ValueError, IndexError):
        return False


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1] if lines else "it said nothing"
