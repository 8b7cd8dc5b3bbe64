"""The database as an operator handles it: what every `Store` does."""

from collections.abc import Iterator

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Store
from portico.testing.engine import MemoryStore
from tests.servers import embedded_store, migrate, reachable_folder


def quiet(_text: str) -> None:
    """Says nothing of what is being done."""


@pytest.fixture(params=["memory", pytest.param("embedded", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with reachable_folder() as folder:
        made = embedded_store(folder)
        made.start_here(create=True)
        migrate(made.owner_address)
        made.server.release()
        yield made
        made.server.stop(force=True)


async def test_it_runs_from_start_to_release(store: Store) -> None:
    before = (await store.status()).running
    await store.start(create=False, progress=quiet)
    meanwhile = (await store.status()).running
    await store.release()

    assert (before, meanwhile, (await store.status()).running) == (False, True, False)


async def test_one_that_is_to_be_kept_runs_until_it_is_stopped(store: Store) -> None:
    await store.start(create=False, keep=True, progress=quiet)
    await store.release()
    kept = (await store.status()).running

    stopped = await store.stop(force=False)

    assert (kept, stopped) == (True, True)
    assert not (await store.status()).running
    assert not await store.stop(force=False)


async def test_only_one_that_runs_can_be_looked_into(store: Store) -> None:
    with pytest.raises(StoreUnavailable):
        await store.info()
    await store.start(create=False, progress=quiet)

    info = await store.info()

    assert info.status.running
    assert await store.unsafe() == []
    await store.release()
