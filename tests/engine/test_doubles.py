"""The in-memory store, as the command line's tests use it."""

import pytest

from portico.engine.core.errors import StoreBusy, StoreUnavailable
from portico.testing.engine import MemoryStore


def silent(_: str) -> None:
    pass


async def test_a_store_runs_until_it_is_released() -> None:
    store = MemoryStore()

    await store.start(create=True, progress=silent)
    started = await store.status()
    await store.release()

    assert (started.running, (await store.status()).running) == (True, False)


async def test_a_store_that_is_kept_runs_until_it_is_stopped() -> None:
    store = MemoryStore()

    await store.start(create=False, keep=True, progress=silent)
    await store.release()

    assert (await store.info()).status.running
    assert await store.stop(force=False)
    assert not await store.stop(force=False)
    with pytest.raises(StoreUnavailable):
        await store.info()


async def test_a_store_that_others_use_is_stopped_only_by_force() -> None:
    store = MemoryStore(running=True, others=1)

    with pytest.raises(StoreBusy):
        await store.stop(force=False)

    assert await store.stop(force=True)
    assert await store.unsafe() == []
