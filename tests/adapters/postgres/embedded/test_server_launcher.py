"""The embedded server: who can reach it, how it is shared, and what it survives."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import LiteralString

import psutil
import psycopg
import pytest

from portico.adapters.postgres.addresses import ADMIN, APP, Addresses, read
from portico.adapters.postgres.embedded import server
from portico.adapters.postgres.embedded.server import EmbeddedStore, account_for, socket_folder
from portico.adapters.postgres.source import DatabaseChoice, open_store
from portico.adapters.system.clock import system_entropy
from portico.engine.core.errors import (
    NotProvisioned,
    StoreBusy,
    StoreOutdated,
    StoreRefused,
    StoreUnavailable,
)
from portico.engine.core.store import Source
from tests.servers import IS_ROOT, embedded_store, reachable_folder, wheel

pytestmark = [pytest.mark.postgres]

needs_root = pytest.mark.skipif(not IS_ROOT, reason="becoming another user needs root")


LAST_WORDS = """\
2026-11-17 UTC [8] FATAL:  terminating connection due to unexpected postmaster exit
2026-11-17 UTC [9] FATAL:  postmaster exited during a parallel transaction
"""


@pytest.fixture(scope="module")
def templates() -> Iterator[Path]:
    """By version, a home with a database that is at rest."""
    with reachable_folder() as folder:
        yield folder


def made_in(home: Path, templates: Path, major: int = 18) -> EmbeddedStore:
    """As if it had been made there, which takes longer."""
    template = templates / str(major)
    if not template.exists():
        template.mkdir(mode=0o755)
        store = embedded_store(template, major)
        store.start_here(create=True)
        store.server.release()
    for part in template.iterdir():
        subprocess.run(["cp", "--archive", part, home], check=True)
    return embedded_store(home, major)


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


@pytest.fixture(params=[18, pytest.param(16, marks=pytest.mark.nightly)])
def store(request: pytest.FixtureRequest, folder: Path, templates: Path) -> Iterator[EmbeddedStore]:
    """One that runs."""
    made = made_in(folder, templates, request.param)
    made.start_here(create=False)
    yield made
    made.server.stop(force=True)


@pytest.fixture
def made(folder: Path, templates: Path) -> Iterator[EmbeddedStore]:
    """One that was made and does not run."""
    made = made_in(folder, templates)
    yield made
    made.server.stop(force=True)


def postmaster(store: EmbeddedStore) -> int:
    return int((store.server.data / "postmaster.pid").read_text().split()[0])


def psql(store: EmbeddedStore, *, user: str | None, password: str | None) -> tuple[bool, str]:
    """Whether PostgreSQL's own client gets in, run by an account of the operating system."""
    environment = {"PATH": os.defpath, "PGCONNECT_TIMEOUT": "5"}
    if password is not None:
        environment["PGPASSWORD"] = password
    done = subprocess.run(
        [
            str(wheel(18)["psql"]),
            "--no-password",
            f"--host={store.server.socket}",
            f"--username={ADMIN}",
            "--dbname=postgres",
            "--command=SELECT 1",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=environment,
        user=user,
        group=None if user is None else "nogroup",
        extra_groups=None if user is None else [],
    )
    return done.returncode == 0, done.stderr


@needs_root
@pytest.mark.root
@pytest.mark.requirement("postgres:access:other-os-user")
def test_another_user_of_this_machine_cannot_connect_even_with_the_password(
    store: EmbeddedStore,
) -> None:
    password = read(store._passwords_file)[ADMIN]

    ours, _ = psql(store, user=None, password=password)
    theirs, said = psql(store, user="nobody", password=password)

    assert ours
    assert not theirs
    assert "Permission denied" in said


@pytest.mark.requirement("postgres:access:password")
def test_a_process_without_the_password_cannot_connect_though_it_can_reach_the_socket(
    store: EmbeddedStore,
) -> None:
    with_password, _ = psql(store, user=None, password=read(store._passwords_file)[ADMIN])
    without, said = psql(store, user=None, password=None)
    wrong, also_said = psql(store, user=None, password="postgres")

    assert with_password
    assert not without
    assert "no password supplied" in said
    assert not wrong
    assert "password authentication failed" in also_said


@pytest.mark.requirement("postgres:access:no-tcp")
@pytest.mark.requirement("postgres:access:no-trust")
def test_it_is_reached_by_its_private_socket_and_a_scram_password_alone(
    store: EmbeddedStore,
) -> None:
    """A stranger on the socket is not told the password either."""
    assert psutil.Process(postmaster(store)).net_connections("inet") == []
    with psycopg.connect(str(store.addresses.admin)) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        rules = connection.execute("SELECT type, auth_method FROM pg_hba_file_rules").fetchall()
        hashes = connection.execute(
            "SELECT rolpassword FROM pg_authid WHERE rolcanlogin"
        ).fetchall()
    assert rules == [("local", "scram-sha-256")]
    assert "trust" not in (store.server.data / "pg_hba.conf").read_text()
    assert all(row[0].startswith("SCRAM-SHA-256$") for row in hashes)
    for address in (store.addresses.app, store.addresses.owner or ""):
        assert address.split("require_auth=")[1].split()[0] == "scram-sha-256"

    folders = [store.server.data, store.server.socket, store.server.data.parent]
    secret = store._passwords_file
    assert {path: path.stat().st_mode & 0o077 for path in folders} == dict.fromkeys(folders, 0)
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.parent.stat().st_mode & 0o777 == 0o700
    assert len(read(secret)[APP]) == 43  # 256 bits in base 64


def test_the_last_one_out_stops_it(store: EmbeddedStore) -> None:
    second = embedded_store(store._folder.parent, store._binaries.major)
    second.start_here(create=False)

    store.server.release()
    still = second.server.running()
    second.server.release()

    assert still
    assert not second.server.running()


def test_it_outlives_a_process_that_is_killed_and_the_next_one_takes_it_over(
    store: EmbeddedStore,
) -> None:
    first_pid = postmaster(store)
    with holder(store._folder.parent, store._binaries.major):
        store.server._users.give_back()

    after = embedded_store(store._folder.parent, store._binaries.major)
    assert after.server.running()
    after.start_here(create=False)
    assert postmaster(after) == first_pid
    after.server.release()
    assert not after.server.running()


@contextmanager
def holder(folder: Path, major: int) -> Iterator[None]:
    """Another process that uses the server, until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(folder), str(major)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        try:
            yield
        finally:
            process.kill()


_HOLDER = """
import sys, time
from pathlib import Path
from tests.servers import embedded_store
store = embedded_store(Path(sys.argv[1]), int(sys.argv[2]))
store.start_here(create=False)
print("started", flush=True)
time.sleep(60)
"""


def test_stopping_it_is_refused_while_others_use_it_unless_forced(store: EmbeddedStore) -> None:
    operator = embedded_store(store._folder.parent, store._binaries.major)

    with pytest.raises(StoreBusy):
        operator.server.stop()

    assert operator.server.stop(force=True)
    assert not operator.server.stop(force=True)


def test_one_that_was_told_to_stay_stays_until_it_is_stopped(store: EmbeddedStore) -> None:
    store.server.keep()
    store.server.release()
    stayed = store.server.running()

    stopped = store.server.stop()

    assert (stayed, stopped) == (True, True)
    store.start_here(create=False)
    store.server.release()
    assert not store.server.running()
    store.restart()  # leaving ends one that is under way
    assert not store.server.running()


@pytest.mark.requirement("postgres:heals:kill")
def test_it_starts_again_after_its_postmaster_was_killed(store: EmbeddedStore) -> None:
    with psycopg.connect(str(store.addresses.admin), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(postmaster(store), signal.SIGKILL)

    store.server.start()

    with psycopg.connect(str(store.addresses.admin)) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_the_last_words_of_its_sessions_do_not_keep_it_from_starting(store: EmbeddedStore) -> None:
    """Each that works when the postmaster dies says so in the log, and may say it after the next
    postmaster has tried to start."""
    work = "SELECT count(*) FROM generate_series(1, 20000000)"
    with ThreadPoolExecutor(6) as others:
        for _ in range(6):
            others.submit(_work, str(store.addresses.admin), work)
        _until_there_are(6, store)
        os.kill(postmaster(store), signal.SIGKILL)

        store.server.start()

    assert "unexpected postmaster exit" in store.server.log.read_text()


def _work(address: str, statement: LiteralString) -> None:
    with suppress(psycopg.OperationalError), psycopg.connect(address) as connection:
        connection.execute(statement)


def _until_there_are(many: int, store: EmbeddedStore) -> None:
    """So many sessions that are at work, but for our own."""
    busy = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(str(store.addresses.admin), autocommit=True) as connection:
        while connection.execute(busy).fetchone() != (many,):
            time.sleep(0.02)


def test_one_that_still_recovers_is_waited_for(
    made: EmbeddedStore, caplog: pytest.LogCaptureFixture
) -> None:
    """It recovers until it is told that this is over; a crash leaves less to replay, or more."""
    made.server.prepare()
    account, data = account_for("portico" if IS_ROOT else None), made.server.data
    account.writes(data / "standby.signal", "")
    with (data / "postgresql.conf").open("a") as settings:
        settings.write("hot_standby = off\n")
    pg_ctl: list[str | Path] = [made.server.binaries["pg_ctl"], f"--pgdata={data}"]
    with ThreadPoolExecutor(1) as starting:
        started = starting.submit(made.start_here, create=False)
        while not _said(caplog, "accepting connections"):
            assert not started.done(), started.exception()
            time.sleep(0.02)
        account.run([*pg_ctl, "promote"], timeout=60)
        started.result()

    assert made.server.running()


def _said(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return any(words in each for each in caplog.messages)


@pytest.mark.parametrize("name", ["sleep", "postgres"])
def test_a_pid_file_that_names_a_stranger_does_not_keep_it_from_starting(
    store: EmbeddedStore, name: str, folder: Path
) -> None:
    store.server.stop(force=True)
    store.server.prepare()
    program = shutil.copy("/bin/sleep", folder / name)
    account = account_for("portico" if IS_ROOT else None)
    stranger = subprocess.Popen(
        [program, "60"],
        user=account.uid if account.switch else None,
        group=account.gid if account.switch else None,
    )
    for left in (store.server.data / "postmaster.pid", store.server.socket / ".s.PGSQL.5432.lock"):
        left.write_text(f"{stranger.pid}\n{store.server.data}\n1\n5432\n\n\n1 1\nready\n")
        account.owns(left)

    store.server.start()

    assert store.server.running()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_one_that_was_stopped_with_the_folder_of_its_socket_is_started_again(folder: Path) -> None:
    home = folder / ("long" * 20)
    store = embedded_store(home)
    store.start_here(create=True)
    embedded_store(home).server.stop(force=True)
    assert not store.server.socket.exists()

    store.server.restart()

    assert store.server.running()
    store.server.release()


@pytest.mark.parametrize(
    ("complaint", "may_pass"),
    [
        ('lock file "postmaster.pid" already exists', True),
        ('lock file "/x/.s.PGSQL.5432.lock" is empty', True),
        ("pre-existing shared memory block (key 1, ID 2) is still in use", True),
        ("the database system is starting up", True),
        ('could not create lock file "/x/.s.PGSQL.5432.lock": No such file or directory', False),
        ("could not create shared memory segment: No space left on device", False),
    ],
)
def test_only_what_may_pass_is_waited_for(tmp_path: Path, complaint: str, may_pass: bool) -> None:
    log = tmp_path / "server.log"
    log.write_text(f"before\n2026-11-17 UTC [7] FATAL:  {complaint}\n{LAST_WORDS}")

    reason = server.complaint(log, 0)

    assert reason == complaint
    assert server.passes(reason) is may_pass


def test_a_database_that_was_half_made_is_made_again(folder: Path) -> None:
    store = embedded_store(folder)
    half = folder / "postgres" / "18.new"
    store.start_here(create=True)
    store.server.release()
    store.server.data.rename(half)
    (half / "PG_VERSION").unlink()
    store.server.made.unlink()

    store.start_here(create=True)

    assert store.server.running()
    assert not half.exists()
    store.server.release()


def test_what_others_can_read_look_into_or_have_put_there_is_not_used(
    made: EmbeddedStore, folder: Path
) -> None:
    run, elsewhere = folder / "postgres" / "run", folder / "elsewhere"

    made._passwords_file.chmod(0o644)
    with pytest.raises(StoreRefused, match="Others can read"):
        embedded_store(folder).start_here(create=False)
    made._passwords_file.chmod(0o600)
    for mode in (0o755, 0o770, 0o701):
        run.chmod(mode)
        with pytest.raises(StoreRefused, match="Others can look into"):
            embedded_store(folder).start_here(create=False)
    run.chmod(0o700)
    run.rename(elsewhere)
    run.symlink_to(elsewhere)
    with pytest.raises(StoreRefused, match="not a folder"):
        embedded_store(folder).start_here(create=False)


def test_other_passwords_than_the_server_has_are_told_plainly_and_none_replaces_it(
    made: EmbeddedStore, folder: Path
) -> None:
    text = made._passwords_file.read_text()
    made._passwords_file.write_text(text.replace(read(made._passwords_file)[ADMIN], "x" * 43))
    with pytest.raises(StoreRefused, match="does not accept the password"):
        embedded_store(folder).start_here(create=False)
    made._passwords_file.write_text(text)
    embedded_store(folder).server.stop(force=True)

    made._passwords_file.rename(folder / "lost")
    with pytest.raises(StoreRefused, match="passwords are gone"):
        embedded_store(folder).start_here(create=True)
    (folder / "lost").rename(made._passwords_file)


def test_a_long_path_gets_a_short_private_socket_folder() -> None:
    with reachable_folder() as folder:
        deep = folder / ("d" * 60) / ("e" * 60)
        store = embedded_store(deep)

        store.start_here(create=True)

        assert len(str(store.server.socket)) < 60
        assert store.server.socket.stat().st_mode & 0o077 == 0
        assert store.server.running()
        store.server.release()
        assert not store.server.socket.exists()


def test_the_short_socket_folder_of_somebody_else_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = folder / ("d" * 60) / ("e" * 60) / "postgres"
    squatted = socket_folder(deep)
    squatted.mkdir(mode=0o777)
    squatted.chmod(0o777)

    try:
        with pytest.raises(StoreRefused):
            embedded_store(deep.parent).start_here(create=True)
    finally:
        squatted.rmdir()


@needs_root
@pytest.mark.root
@pytest.mark.requirement("postgres:root:refused")
def test_root_is_refused_unless_a_setting_names_an_unprivileged_account() -> None:
    with pytest.raises(StoreRefused, match="does not run as root") as refusal:
        account_for(None)
    with pytest.raises(StoreRefused, match="root itself"):
        account_for("root")
    with pytest.raises(StoreRefused, match="no account"):
        account_for("no-such-account")

    assert "database.run_as" in str(refusal.value.fix)


@needs_root
@pytest.mark.root
def test_an_account_that_cannot_reach_the_folder_is_told_where_to_put_it(folder: Path) -> None:
    folder.chmod(0o700)

    with pytest.raises(StoreRefused, match="cannot reach"):
        embedded_store(folder).start_here(create=True)


@pytest.mark.requirement("postgres:windows:refused")
def test_windows_is_refused_with_the_two_ways_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(StoreRefused) as refusal:
        open_store(wanted(folder))

    assert "WSL" in str(refusal.value.fix)
    assert "DSN" in str(refusal.value.fix)


def test_what_cannot_be_opened_is_refused_with_what_to_do(folder: Path) -> None:
    """A DSN is taken before anything else."""
    addresses = Addresses(app="host=example dbname=portico")

    assert open_store(wanted(folder, addresses=addresses)).addresses is addresses
    with pytest.raises(StoreRefused, match=r"database\.dsn is not set"):
        open_store(wanted(folder, chosen="dsn"))
    with pytest.raises(StoreRefused, match="no PostgreSQL 17"):
        open_store(wanted(folder, chosen="embedded", version=17))
    with pytest.raises(NotProvisioned):
        embedded_store(folder).start_here(create=False)


@pytest.mark.parametrize("major", [pytest.param(16, marks=pytest.mark.nightly), 18])
def test_binaries_of_the_system_are_found_on_the_path_and_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, major: int
) -> None:
    monkeypatch.setenv("PATH", f"{wheel(major).folder}:{os.defpath}")

    store = open_store(wanted(folder, chosen="system", version=major))

    assert store.source is Source.SYSTEM
    store.start_here(create=True)
    with psycopg.connect(str(store.addresses.owner)) as owner:
        assert owner.info.server_version // 10000 == major
    assert isinstance(store, EmbeddedStore)
    store.server.release()


def test_an_existing_database_keeps_its_version_and_is_not_started_if_a_newer_one_is_wanted(
    folder: Path,
) -> None:
    store = embedded_store(folder, 16)
    store.start_here(create=True)
    store.server.release()

    newer, same = (open_store(wanted(folder, version=version)) for version in (18, 16))

    for create in (False, True):
        with pytest.raises(StoreOutdated, match="PostgreSQL 16") as refusal:
            newer.start_here(create=create)
        assert "portico db upgrade" in str(refusal.value.fix)
    assert isinstance(same, EmbeddedStore)
    same.start_here(create=False)
    assert same.server.data.name == "16"
    same.server.release()


def test_a_crowd_that_starts_at_once_shares_one_server(folder: Path) -> None:
    first = embedded_store(folder)
    first.start_here(create=True)
    first.server.release()

    with ThreadPoolExecutor(4) as threads, ExitStack() as crowd:
        entered = [threads.submit(crowd.enter_context, holder(folder, 18)) for _ in range(4)]
        for each in entered:
            each.result()
        pids = {postmaster(embedded_store(folder)) for _ in range(4)}

    assert len(pids) == 1
    assert embedded_store(folder).server.stop()


def wanted(
    folder: Path,
    *,
    chosen: str = "auto",
    version: int = 18,
    addresses: Addresses | None = None,
) -> DatabaseChoice:
    return DatabaseChoice(
        source=chosen,
        version=version,
        run_as="portico" if IS_ROOT else None,
        addresses=addresses,
        folder=folder / "postgres",
        passwords_file=folder / "secrets" / "postgres.json",
        entropy=system_entropy,
    )


@pytest.mark.requirement("postgres:data:never-replaced")
@pytest.mark.parametrize("create", [False, True])
def test_a_database_that_is_gone_is_not_replaced_by_an_empty_one(
    made: EmbeddedStore, folder: Path, create: bool
) -> None:
    made.server.data.rename(folder / "unmounted")

    with pytest.raises(StoreRefused, match="is gone from"):
        embedded_store(folder).start_here(create=create)

    (folder / "unmounted").rename(made.server.data)
    made.start_here(create=False)
    made.server.release()


def test_a_start_that_cannot_succeed_is_told_at_once_and_why(
    made: EmbeddedStore, folder: Path
) -> None:
    account = account_for("portico" if IS_ROOT else None)
    account.writes(made.server.data / "postgresql.conf", "no such thing\n")

    with pytest.raises(StoreUnavailable, match="configuration file"):
        made.start_here(create=False)


@needs_root
@pytest.mark.root
def test_as_root_no_link_of_the_other_account_is_followed(
    made: EmbeddedStore, folder: Path
) -> None:
    for name in ("keep", "users.lock", "start.lock"):
        trap, target = folder / "postgres" / name, folder / "made-by-root"
        trap.unlink(missing_ok=True)
        trap.symlink_to(target)

        made.start_here(create=False)
        made.server.keep()
        made.server.stop(force=True)

        assert not target.exists(), name
        trap.unlink(missing_ok=True)


@needs_root
@pytest.mark.root
def test_as_root_no_file_of_ours_is_read_into_the_other_accounts_folder(
    made: EmbeddedStore, folder: Path
) -> None:
    secret = folder / "root-only"
    secret.write_text("root-only secret")
    secret.chmod(0o600)
    for name in ("portico.conf", "pg_hba.conf"):
        (made.server.data / name).unlink()
        (made.server.data / name).symlink_to(secret)

    made.start_here(create=False)
    made.server.release()

    assert secret.read_text() == "root-only secret"
    assert not (made.server.data / "portico.conf").is_symlink()
