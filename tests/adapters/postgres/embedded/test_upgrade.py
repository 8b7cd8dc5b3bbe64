"""The embedded database from PostgreSQL 16 to 18: nothing is lost, whatever happens meanwhile."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses, read
from portico.adapters.postgres.embedded.server import EmbeddedServer, account_for
from portico.adapters.postgres.embedded.upgrade import MajorUpgrade
from portico.adapters.postgres.source import DatabaseChoice, open_upgrade
from portico.adapters.postgres.store import unsafe
from portico.adapters.system.clock import system_entropy
from portico.engine.core.errors import NotProvisioned, StoreBusy, StoreRefused, UpgradeFailed
from tests.adapters.postgres.dying_upgrade import POINTS
from tests.migrations.fixture import FIXTURES
from tests.migrations.test_schema import SCHEMA, dumped
from tests.servers import RUN_AS, embedded_store, reachable_folder, wheel

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
pytestmark = [pytest.mark.postgres]

_NAMED = r"CONSTRAINT \w+_not_null (?=NOT NULL)"
"""16 has no names for these, and what comes from there has those of 18's own choice."""
_KILLED_AT = POINTS if FULL_SIZE else ("during pg_upgrade", "after mv")
_NEAR = """
    CREATE TABLE public.near AS
        SELECT number, ARRAY[number % 7, number % 11, number % 13]::vector(3) AS place
          FROM generate_series(1, 500) AS number;
    CREATE INDEX ON public.near USING hnsw (place vector_l2_ops)
"""
_NEAREST = """
    SELECT number FROM public.near ORDER BY place <-> '[3, 5, 8]'::vector(3) LIMIT 5
"""


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    """A database of 16 with a row or more in every table, at rest."""
    with reachable_folder() as folder:
        store = embedded_store(folder, 16)
        store.start_here(create=True)
        with psycopg.connect(str(store.addresses.owner), autocommit=True) as owner:
            owner.execute(FIXTURES[-1].read_bytes())
        with psycopg.connect(str(store.addresses.admin), dbname="portico") as admin:
            admin.execute(_NEAR)
        store.server.release()
        yield folder


@pytest.fixture
def folder(template: Path) -> Iterator[Path]:
    with reachable_folder() as made:
        for part in template.iterdir():
            subprocess.run(["cp", "--archive", part, made], check=True)
        yield made
        for major in (16, 18):
            embedded_store(made, major).server.stop(force=True)


def upgrading(folder: Path, free: int = 10**15) -> MajorUpgrade:
    def server(major: int) -> EmbeddedServer:
        passwords = read(folder / "secrets" / "postgres.json")
        return EmbeddedServer(folder / "postgres", wheel(major), account_for(RUN_AS), passwords)

    return MajorUpgrade(folder / "postgres", server, 18, lambda _: free)


def upgraded(folder: Path) -> tuple[int, int]:
    done = upgrading(folder).upgrade(lambda _: None)
    return done.before, done.after


def rows(addresses: Addresses) -> dict[str, str]:
    """Every table's rows, as one hash; and what is found by a graph of vectors."""
    with psycopg.connect(str(addresses.admin), dbname="portico") as admin:
        tables = admin.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'portico'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"
        ).fetchall()
        found = {
            table: str(
                admin.execute(
                    f"SELECT md5(string_agg(t::text, ',' ORDER BY t::text)), count(*)"
                    f" FROM portico.{table} t".encode()
                ).fetchone()
            )
            for (table,) in tables
        }
        admin.execute("SET enable_seqscan = off")
        plan = admin.execute(f"EXPLAIN {_NEAREST}".encode()).fetchall()
        assert "Index Scan" in str(plan)
        return found | {"nearest": str(admin.execute(_NEAREST).fetchall())}


def seen(folder: Path, major: int) -> dict[str, str]:
    store = embedded_store(folder, major)
    store.start_here(create=False)
    try:
        return rows(store.addresses)
    finally:
        store.server.release()


@pytest.mark.requirement("postgres:upgrade:rows")
async def test_every_row_is_there_after_an_upgrade_and_every_wall(folder: Path) -> None:
    before = seen(folder, 16)

    assert upgraded(folder) == (16, 18)

    store = embedded_store(folder, 18)
    store.start_here(create=False)
    assert rows(store.addresses) == before
    assert re.sub(_NAMED, "", dumped(store.addresses)) == re.sub(_NAMED, "", SCHEMA.read_text())
    assert await unsafe(store.addresses.app) == []
    with psycopg.connect(str(store.addresses.app)) as app:
        assert app.info.server_version // 10000 == 18
        assert app.execute("SHOW data_checksums").fetchone() == ("on",)
    with psycopg.connect(str(store.addresses.admin), dbname="portico") as admin:
        known = admin.execute("SELECT 1 FROM pg_stats WHERE tablename = 'near' LIMIT 1")
        assert known.fetchone() is not None
    store.server.release()
    assert upgraded(folder) == (18, 18)
    _only_the_new_one_is_the_database(folder)


def _only_the_new_one_is_the_database(folder: Path) -> None:
    """What is left from before is not taken for it, neither beside it nor when it is gone."""
    old = embedded_store(folder, 16)
    with pytest.raises(StoreRefused, match="upgraded to PostgreSQL 18"):
        old.start_here(create=False)
    (folder / "postgres" / "18").rename(folder / "unmounted")
    with pytest.raises(StoreRefused, match="is gone from"):
        old.start_here(create=False)


@pytest.mark.requirement("postgres:upgrade:killed")
def test_an_upgrade_that_is_killed_leaves_one_that_works_and_can_be_repeated(folder: Path) -> None:
    before = seen(folder, 16)

    for point in _KILLED_AT:
        died = subprocess.run(
            [sys.executable, "-m", "tests.adapters.postgres.dying_upgrade", str(folder), point],
            check=False,
            timeout=120,
        )
        assert died.returncode == -signal.SIGKILL, point
        in_use = 18 if point == "after mv" else 16
        assert (folder / "postgres" / "18").exists() == (in_use == 18), point
        assert seen(folder, in_use) == before, point

    assert upgraded(folder) == (18, 18)
    assert not (folder / "postgres" / "upgrade").exists()


def test_one_can_go_back_and_forth_and_forget(folder: Path) -> None:
    before = seen(folder, 16)
    account_for(RUN_AS).run(
        [wheel(16)["pg_checksums"], "--disable", "-D", folder / "postgres" / "16"], timeout=60
    )
    upgraded(folder)
    store = embedded_store(folder, 18)
    store.start_here(create=False)
    with psycopg.connect(str(store.addresses.owner)) as owner:
        assert owner.execute("SHOW data_checksums").fetchone() == ("off",)
        owner.execute("DELETE FROM portico.message_ack")
    with pytest.raises(StoreBusy):
        upgrading(folder).back()
    store.server.release()

    done = upgrading(folder).back()

    assert (done.before, done.after) == (18, 16)
    assert seen(folder, 16) == before
    with pytest.raises(StoreRefused, match="nothing from before"):
        upgrading(folder).back()
    removed = upgrading(folder).forget_old()
    assert [Path(each).name for each in removed.folders] == ["18.undone"]
    assert removed.bytes > 1_000_000
    assert seen(folder, 16) == before


def test_a_database_that_is_in_use_is_not_upgraded(folder: Path) -> None:
    store = embedded_store(folder, 16)
    store.start_here(create=False)

    with pytest.raises(StoreBusy):
        upgraded(folder)

    assert store.server.running()
    store.server.release()


def test_without_room_for_a_second_copy_nothing_is_begun(folder: Path) -> None:
    with pytest.raises(StoreRefused, match="free in"):
        upgrading(folder, free=1_000_000).upgrade(lambda _: None)

    assert {each.name for each in (folder / "postgres").iterdir()} & {"18", "18.new"} == set()


def test_what_cannot_be_taken_over_is_told_and_the_old_one_stays(folder: Path) -> None:
    store = embedded_store(folder, 16)
    store.start_here(create=False)
    with psycopg.connect(str(store.addresses.owner), autocommit=True) as owner:
        owner.execute("CREATE TABLE portico.mine (of regproc)")
    store.server.release()

    with pytest.raises(UpgradeFailed, match="pg_upgrade failed") as failure:
        upgraded(folder)

    assert "pg_upgrade_output.d" in str(failure.value.fix)
    assert "mine" in seen(folder, 16)


@pytest.mark.parametrize(
    ("source", "addresses", "error"),
    [("dsn", None, StoreRefused), ("auto", Addresses(app="host=x"), StoreRefused)],
)
def test_only_a_database_that_is_ours_to_run_is_upgraded(
    tmp_path: Path, source: str, addresses: Addresses | None, error: type[Exception]
) -> None:
    with pytest.raises(error, match="not run by Portico"):
        open_upgrade(wanted(tmp_path, source, addresses))
    with pytest.raises(NotProvisioned):
        open_upgrade(wanted(tmp_path, "embedded", None)).upgrade(lambda _: None)


def wanted(folder: Path, source: str, addresses: Addresses | None) -> DatabaseChoice:
    return DatabaseChoice(
        source=source,
        version=18,
        run_as=RUN_AS,
        addresses=addresses,
        folder=folder / "postgres",
        passwords_file=folder / "secrets" / "postgres.json",
        entropy=system_entropy,
    )
