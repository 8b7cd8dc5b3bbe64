"""Machines that share a database: each opens what another has sealed, or says clearly that it
cannot."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from portico.adapters.crypto import RingVault
from portico.adapters.postgres.addresses import Addresses
from portico.app.app_context import AppContext
from portico.app.doctor import CheckSecrets, CheckVault
from portico.app.secrets import SecretDependencies, rotate_vault
from portico.engine.core.store import State
from portico.guard.core.oauth_logins import client_context
from portico.guard.core.vault import InvalidVaultKeys, VaultClosed
from portico.kernel.ids import Id, SpaceId
from tests.adapters.postgres.guard.test_vault import SERVER, SPACE

KEY, OTHER = "0a" * 32, "0b" * 32
CONTEXT = client_context(SpaceId(SPACE), Id(SERVER))


class Fleet:
    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._patch = patch

    def machine(
        self, name: str, *, keys: str | None = None, began: bool = False, owner: str = ""
    ) -> AppContext:
        """`began`: `init` was run here."""
        home = self._folder / name
        (home / "data" / "secrets").mkdir(parents=True, exist_ok=True)
        if began:
            (home / "data" / "secrets" / "pepper").write_text("pepper")
        config = self._folder / f"{name}.toml"
        lines = ["[secrets]", 'store = "age"']
        if keys is not None:
            file = self._folder / f"{name}.keys"
            file.write_text(f"{keys}\n")
            lines.append(f'keys = "file:{file}"')
        if owner:
            lines += ["[database]", f'dsn = "{owner}"', f'owner_dsn = "{owner}"']
        config.write_text("\n".join(lines))
        self._patch.setenv("PORTICO_HOME", str(home))
        ground = AppContext(config)
        assert ground.loaded.paths.data == home / "data"
        return ground


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(tmp_path, monkeypatch)


def opened(ground: AppContext) -> RingVault:
    doors = SecretDependencies(ground)
    doors.open_vault()
    return doors.vault


def test_processes_of_one_machine_share_the_key_that_was_made_first(fleet: Fleet) -> None:
    ground = fleet.machine("one", began=True)

    sealed = opened(ground).encrypt(b"x", b"here")

    assert opened(ground).decrypt(sealed, b"here") == b"x"


def test_machines_with_the_same_keys_open_what_the_other_has_sealed(fleet: Fleet) -> None:
    one, other = fleet.machine("one", keys=KEY), fleet.machine("other", keys=f"{OTHER},{KEY}")

    assert opened(other).decrypt(opened(one).encrypt(b"x", b"here"), b"here") == b"x"
    assert opened(one).decrypt(opened(other).encrypt(b"x", b"here"), b"here") is None


def test_a_machine_that_nothing_began_on_makes_no_key_of_its_own(fleet: Fleet) -> None:
    with pytest.raises(VaultClosed) as closed:
        opened(fleet.machine("late")).encrypt(b"x", b"here")

    assert "secrets.keys" in (closed.value.fix or "")


def test_keys_that_are_none_stop_it(fleet: Fleet) -> None:
    with pytest.raises(InvalidVaultKeys):
        opened(fleet.machine("one", keys="not a key"))


async def test_a_server_starts_without_its_keys_and_follows_when_they_come(
    fleet: Fleet, tmp_path: Path
) -> None:
    doors = SecretDependencies(fleet.machine("one", keys="not a key"))
    await doors.start()
    with pytest.raises(VaultClosed):
        doors.vault.encrypt(b"x", b"here")

    (tmp_path / "one.keys").write_text(KEY)
    keeping = asyncio.create_task(doors.keep_up())
    try:
        async with asyncio.timeout(30):
            while not _seals(doors.vault):  # noqa: ASYNC110 # nothing tells of it
                await asyncio.sleep(0.05)
    finally:
        keeping.cancel()


def _seals(vault: RingVault) -> bool:
    try:
        return bool(vault.encrypt(b"x", b"here"))
    except VaultClosed:
        return False


def _sealed_row(owner: str, sealed: bytes) -> None:
    with psycopg.connect(owner) as connection:
        connection.execute("INSERT INTO space VALUES (%s, 'a space', now())", [SPACE])
        connection.execute(
            "INSERT INTO server (space_id, server_id, name, origin, launch, launch_pin, enabled,"
            " tools_accepted, offers, accepted_offers, created_at)"
            " VALUES (%s, %s, 'far', 'added', '{}', 'p', true, true, '{}', '{}', now())",
            [SPACE, SERVER],
        )
        connection.execute(
            "INSERT INTO login_client VALUES (%s, %s, '{}', %s)", [SPACE, SERVER, sealed]
        )


@pytest.mark.postgres
async def test_the_doctor_says_which_keys_are_missing(
    fleet: Fleet, tcp_database: Addresses
) -> None:
    owner = str(tcp_database.owner)
    with_key = fleet.machine("one", keys=KEY, owner=owner)
    without = fleet.machine("other", keys=OTHER, owner=owner)
    none = fleet.machine("none", owner=owner)
    vault = opened(with_key)
    _sealed_row(owner, vault.encrypt(b"a client's secret", CONTEXT))

    good = await CheckVault(with_key)(mend=False)
    bad = [await CheckVault(each)(mend=False) for each in (without, none)]

    assert (good.state, "1 sealed" in good.detail) == (State.GOOD, True)
    assert [each.state for each in bad] == [State.BROKEN] * 2
    assert all("1 sealed by keys that are not here" in each.detail for each in bad)
    assert all("secrets.keys" in (each.fix or "") for each in bad)
    assert KEY not in repr((good, bad))


@pytest.mark.postgres
async def test_the_key_is_exchanged_while_another_process_has_the_vault_open(
    fleet: Fleet, tcp_database: Addresses
) -> None:
    owner = str(tcp_database.owner)
    ground = fleet.machine("one", began=True, owner=owner)
    running = SecretDependencies(ground)
    await running.start()
    _sealed_row(owner, running.vault.encrypt(b"a client's secret", CONTEXT))
    keeping = asyncio.create_task(running.keep_up())
    try:
        done = await rotate_vault(ground)
    finally:
        keeping.cancel()

    with psycopg.connect(owner) as connection:
        [[sealed]] = connection.execute("SELECT sealed FROM login_client").fetchall()
    assert (done.sealed_anew, done.lost) == (1, 0)
    assert running.vault.decrypt(sealed, CONTEXT) == b"a client's secret"
    assert running.vault.encrypt(b"", b"")[:10] == b"v1" + done.key.encode()
    assert (await CheckVault(ground)(mend=False)).state is State.GOOD


async def test_the_doctor_says_where_secrets_are_kept(fleet: Fleet) -> None:
    ground = fleet.machine("one", began=True)
    good = await CheckSecrets(ground)(mend=False)
    opened(ground)
    ground.loaded.paths.identity_file.unlink()

    broken = await CheckSecrets(ground)(mend=False)

    assert (good.state, broken.state) == (State.GOOD, State.BROKEN)
    assert "age" in good.detail
    assert broken.fix
