"""The embedded server: started by the first process of Portico, stopped by the last."""

import asyncio
import fcntl
import logging
import os
import pwd
import re
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final

import psutil
import psycopg
from psycopg_pool import AsyncConnectionPool

from portico.adapters.postgres.addresses import (
    ADMIN,
    OWNER,
    Addresses,
    Passwords,
    local_addresses,
    new_passwords,
    read,
    save,
)
from portico.adapters.postgres.embedded.programs import Binaries, existing_major, locks_folder
from portico.adapters.postgres.store import PostgresStore, Progress, provision
from portico.adapters.postgres.transaction import ListeningConnection
from portico.adapters.system.files import make_above, private_folder, short_folder
from portico.engine.core.errors import (
    NotProvisioned,
    StoreBusy,
    StoreOutdated,
    StoreRefused,
    StoreUnavailable,
)
from portico.engine.core.store import Source, StoreStatus
from portico.kernel.clock import Entropy


@dataclass(frozen=True, slots=True)
class Account:
    """`switch` is set where we are root and have to become this account first."""

    name: str
    uid: int
    gid: int
    switch: bool

    def run(self, arguments: Sequence[str | Path], *, timeout: float, given: str = "") -> "Ran":
        """`given` on its standard input."""
        done = subprocess.run(  # noqa: S603 # PostgreSQL's own programs, with our arguments
            list(map(str, arguments)),
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "HOME": "/"},
            user=self.uid if self.switch else None,
            group=self.gid if self.switch else None,
            extra_groups=[] if self.switch else None,
            start_new_session=True,  # a Ctrl-C at our terminal is not meant for the database
            text=True,
        )
        return Ran(done.returncode == 0, done.stdout)

    def owns(self, path: Path) -> None:
        if self.switch:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def writes(self, file: Path, text: str) -> None:
        """Anew and for itself alone. As root we never write where that account has its folders:
        it could have laid a link there. Raises `StoreUnavailable`."""
        script = 'umask 077 && rm -f "$1" && cat > "$1"'
        ran = self.run(["/bin/sh", "-c", script, "sh", file], timeout=30, given=text)
        if not ran.ok:
            raise StoreUnavailable(f"{file} cannot be written: {ran.output.strip()}")

    def reaches(self, path: Path) -> bool:
        return not self.switch or self.run(["test", "-x", path], timeout=10).ok


@dataclass(frozen=True, slots=True)
class Ran:
    ok: bool
    output: str


def account_for(run_as: str | None) -> Account:
    """Ourselves; as root, the account that the settings name. Raises `StoreRefused`."""
    if os.geteuid() != 0:
        me = pwd.getpwuid(os.geteuid())
        return Account(me.pw_name, me.pw_uid, me.pw_gid, switch=False)
    if run_as is None:
        raise StoreRefused(
            "The embedded database does not run as root.",
            fix="Run Portico as an ordinary user, or name an unprivileged account: "
            "portico config set database.run_as NAME",
        )
    try:
        other = pwd.getpwnam(run_as)
    except KeyError:
        raise StoreRefused(
            f"There is no account {run_as!r}, which the setting database.run_as names.",
            fix=f"Make it: useradd --system --no-create-home {run_as}",
        ) from None
    if other.pw_uid == 0:
        raise StoreRefused(
            f"The account {run_as!r} is root itself.",
            fix="Name an unprivileged account: portico config set database.run_as NAME",
        )
    return Account(other.pw_name, other.pw_uid, other.pw_gid, switch=True)


def own_folder(folder: Path, account: Account) -> Path:
    """Made for `account` alone; one that exists must be so already. Raises `StoreRefused`.

    Only a folder that we have just made is given away, never one that we find.
    """
    make_above(folder)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        check_private(folder, account)
    else:
        account.owns(folder)
    return folder


def check_private(folder: Path, account: Account) -> None:
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise StoreRefused(f"{folder} is not a folder.", fix=f"Remove it: rm {folder}")
    if state.st_uid != account.uid:
        raise StoreRefused(
            f"{folder} belongs to another account than {account.name!r}.",
            fix=f"Give it back (chown {account.name} {folder}), or set another PORTICO_HOME.",
        )
    if stat.S_IMODE(state.st_mode) & 0o077:
        raise StoreRefused(
            f"Others can look into {folder}.",
            fix=f"Close it: chmod 700 {folder}, or: portico doctor --fix",
        )


def socket_folder(postgres: Path) -> Path:
    return short_folder(postgres / "run")


# Who uses the embedded server: a shared lock each, so that the last one out can tell it is last.
#
# The kernel gives a lock back when its holder dies, however it dies; a pid in a file stays.


class UsersLock:
    """Held as long as this process uses the server."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def take(self) -> None:
        if self._handle is None:
            self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_SH)

    def give_back(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def others(self) -> bool:
        """Whether anybody else holds it; ask only while holding the start lock."""
        probe = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        held = self._handle
        try:
            if held is not None:
                fcntl.flock(held, fcntl.LOCK_UN)
            with suppress(BlockingIOError):
                fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
            return True
        finally:
            os.close(probe)
            if held is not None:
                fcntl.flock(held, fcntl.LOCK_SH)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """One process at a time starts or stops the server; the others wait here."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_COMPLAINT: Final = re.compile(r"(?:FATAL|PANIC): +(?! |terminating |postmaster exited)(.*)")
"""But for the last words of its sessions: those of one that crashed are said while the next tries
to start, and say nothing of it."""
_PASSES: Final = re.compile(
    'lock file ".*" (?:already exists|is empty)|in use|starting up|recovery|shutting down'
    "|not (?:yet )?accepting connections"
)
_MOST: Final = 100_000


def size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def complaint(log: Path, start: int) -> str | None:
    """The last thing that it complained of since its log was `start` bytes long."""
    try:
        with log.open("rb") as stream:
            stream.seek(start)
            text = stream.read(_MOST).decode(errors="replace")
    except OSError:
        return None
    found = _COMPLAINT.findall(text)
    return found[-1].strip() if found else None


def passes(reason: str) -> bool:
    """Whether a start may fail of it and the next one succeed."""
    return _PASSES.search(reason) is not None


# One data folder of PostgreSQL, and the server that runs on it.
#
# Whether it lives is asked by connecting, never by looking for a pid: after a crash that pid may
# belong to a stranger, or to a zombie.

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


# The database that Portico runs itself: made at the first start, shared by every process.


class EmbeddedStore(PostgresStore):
    heals = True

    def __init__(
        self,
        folder: Path,
        binaries: Binaries,
        account: Account,
        *,
        source: Source,
        passwords_file: Path,
        entropy: Entropy,
    ) -> None:
        self.source = source
        self._folder = folder
        self._binaries = binaries
        self._account = account
        self._passwords_file = passwords_file
        self._entropy = entropy
        self.wanted = binaries.major
        """The version that it should have: one that is older is not started."""
        self._server: EmbeddedServer | None = None

    @property
    def server(self) -> EmbeddedServer:
        """Raises `NotProvisioned`."""
        if self._server is None:
            passwords = read(self._passwords_file)
            self._server = EmbeddedServer(self._folder, self._binaries, self._account, passwords)
        return self._server

    @property
    def addresses(self) -> Addresses:
        return self.server.addresses

    def restart(self) -> None:
        self.server.restart()

    async def start(
        self, *, create: bool, keep: bool = False, progress: Progress = lambda _: None
    ) -> None:
        await asyncio.to_thread(self.start_here, create=create, progress=progress)
        if keep:
            self.server.keep()

    def start_here(self, *, create: bool, progress: Progress = lambda _: None) -> None:
        if self.wanted > self._binaries.major:
            raise StoreOutdated(self._binaries.major, self.wanted)
        if not create:
            self._start(progress, create=False)
            return
        locks = private_folder(locks_folder(self._folder))
        with alone(locks / "setup.lock"):
            self._make_passwords()
            self._start(progress, create=True)

    async def release(self) -> None:
        if self._server is not None:
            await asyncio.to_thread(self._server.release)

    async def stop(self, *, force: bool = False) -> bool:
        if not self._passwords_file.exists():
            return False
        return await asyncio.to_thread(self.server.stop, force=force)

    async def settle(self) -> bool:
        if not self._passwords_file.exists():
            return False
        return await asyncio.to_thread(self.server.settle)

    async def status(self) -> StoreStatus:
        if not self._passwords_file.exists():
            address = str(self._folder)
            return StoreStatus(source=self.source, address=address, running=False)
        return await super().status()

    def _make_passwords(self) -> None:
        if self._passwords_file.exists():
            return
        if self._data.exists():
            raise StoreRefused(
                f"There is a database in {self._data}, but its passwords are gone.",
                fix=f"Put back {self._passwords_file}; without it nobody can log in.",
            )
        save(new_passwords(self._entropy), self._passwords_file)

    @property
    def _data(self) -> Path:
        return self._folder / str(self._binaries.major)

    def _start(self, progress: Progress, *, create: bool) -> None:
        self.server.start(progress, create=create)
        if not _made(self.addresses):
            if not create:
                raise NotProvisioned("The database was made, but not set up.")
            progress("setting up the database")
            known = read(self._passwords_file)
            provision(str(self.addresses.admin), known.by_role, rotate=True)


def _made(addresses: Addresses) -> bool:
    """Whether roles and database are there; a first start that was cut short goes on from here."""
    try:
        with psycopg.connect(str(addresses.owner), connect_timeout=10) as connection:
            found = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
            return found.fetchone() is not None
    except psycopg.OperationalError as error:
        if OWNER in str(error) or "does not exist" in str(error):
            return False
        raise StoreUnavailable("The database does not answer.") from error


# Notice at once that the embedded server has gone, and bring it back while we go on running.

_HEALING_PAUSE: Final = 0.5


class Healer:
    """Keeps one idle connection open, for the news of its end."""

    def __init__(
        self, address: str, restart: Callable[[], None], pool: AsyncConnectionPool[Any]
    ) -> None:
        self._address = address
        self._restart = restart
        self._pool = pool

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            await self._until_it_breaks()
            _log.warning("the database has gone; bringing it back")
            try:
                await asyncio.to_thread(self._restart)
                await self._pool.check()
            except Exception:  # noqa: BLE001 # whatever it was: if this loop ends, nothing heals
                _log.exception("the database could not be brought back; trying again")
                await asyncio.sleep(_HEALING_PAUSE)
            else:
                _log.warning("the database is back")

    async def _until_it_breaks(self) -> None:
        try:
            async with await ListeningConnection.connect(
                self._address, autocommit=True, application_name="portico sentinel"
            ) as connection:
                async for _ in connection.notifies():
                    pass
        except psycopg.OperationalError:
            return
