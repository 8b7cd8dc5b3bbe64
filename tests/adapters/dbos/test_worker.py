"""DBOS is ended once it has begun, and never while it begins."""

import asyncio
import threading
from dataclasses import dataclass, field

import pytest

from portico.adapters.dbos import engine as dbos_worker
from portico.adapters.dbos.engine import DbosWorker
from portico.engine.core.runs import Leg


@dataclass
class SlowDbos:
    """Begins when it is let; the one that there is in a process."""

    breaks: bool = False
    may_begin: threading.Event = field(default_factory=threading.Event)
    begins: threading.Event = field(default_factory=threading.Event)
    happened: list[str] = field(default_factory=list)

    def __call__(self, *, config: object) -> None:
        assert config

    def workflow(self, **_options: object) -> object:
        return lambda function: function

    def launch(self) -> None:
        self.begins.set()
        self.may_begin.wait(5)
        self.happened.append("begun")
        if self.breaks:
            raise OSError("the database has gone")

    def destroy(self, *, destroy_registry: bool) -> None:
        self.happened.append(f"ended {destroy_registry}")


@pytest.fixture
def dbos(monkeypatch: pytest.MonkeyPatch) -> SlowDbos:
    slow = SlowDbos()
    monkeypatch.setattr(dbos_worker, "DBOS", slow)
    return slow


async def nothing(_leg: Leg) -> None:
    raise AssertionError


def a_worker() -> DbosWorker:
    return DbosWorker("postgresql://engine@/x", "me", nothing, queues=[], pool_size=1)


@pytest.mark.parametrize("breaks", [False, True])
async def test_who_is_cancelled_while_it_begins_ends_it_afterwards(
    dbos: SlowDbos, *, breaks: bool
) -> None:
    dbos.breaks = breaks
    worker = a_worker()
    launching = asyncio.create_task(worker.launch())
    await asyncio.to_thread(dbos.begins.wait, 5)

    launching.cancel()
    await asyncio.wait([launching])
    closing = asyncio.create_task(worker.close())
    await asyncio.sleep(0.05)
    before = list(dbos.happened)
    dbos.may_begin.set()
    await closing

    assert launching.cancelled()
    assert before == []
    assert dbos.happened == ["begun", "ended True"]
    assert not worker.launched


async def test_one_that_never_begins_is_not_waited_for_forever(
    dbos: SlowDbos, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dbos_worker, "_PATIENCE", 0.01)
    worker = a_worker()
    launching = asyncio.create_task(worker.launch())
    await asyncio.to_thread(dbos.begins.wait, 5)
    launching.cancel()
    await asyncio.wait([launching])

    await worker.close()

    assert dbos.happened == ["ended True"]
    assert "still starting" in caplog.text
    dbos.may_begin.set()
