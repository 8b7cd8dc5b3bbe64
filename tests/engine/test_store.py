"""The store: migrate, diagnose, show status and metrics."""

import asyncio
import logging
from datetime import timedelta

import pytest

from portico.engine.core.errors import SchemaEdited, StoreUnavailable
from portico.engine.core.retention import Forgotten, Keep
from portico.engine.core.store import CheckResult, Migration, Source, State, StoreStatus
from portico.engine.retention import Retain
from portico.engine.store import Diagnose, InstallationStatus, MigrateStore, ShowMetrics, ShowStatus
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role, Scope
from portico.sandbox.core.probes import Backend, Report
from portico.testing.engine import MemorySchema, ScriptedCheck
from portico.testing.guard import a_person, an_identity

# The story of bringing a database up to date.

ONE, TWO = (Migration(number, f"step {number}", f"SELECT {number}") for number in (1, 2))


@pytest.fixture
def schema() -> MemorySchema:
    return MemorySchema()


async def migrated(schema: MemorySchema, *known: Migration) -> list[int]:
    return [migration.number async for migration in MigrateStore(schema=schema, known=known)()]


@pytest.mark.requirement("engine:migrations:forward-only")
async def test_each_migration_is_applied_once_and_in_order(schema: MemorySchema) -> None:
    assert [await migrated(schema, *known) for known in ((ONE,), (TWO, ONE), (TWO, ONE))] == [
        [1],
        [2],
        [],
    ]
    assert [step.checksum for step in await schema.applied()] == [ONE.checksum, TWO.checksum]


@pytest.mark.requirement("engine:migrations:forward-only")
async def test_of_two_migrators_at_once_each_step_is_applied_by_one(schema: MemorySchema) -> None:
    done = await asyncio.gather(*(migrated(schema, ONE, TWO) for _ in range(3)))

    assert sorted(done) == [[], [], [1, 2]]


@pytest.mark.requirement("engine:migrations:checksum")
async def test_nothing_is_applied_on_top_of_an_edited_migration(schema: MemorySchema) -> None:
    await migrated(schema, ONE)

    with pytest.raises(SchemaEdited):
        await migrated(schema, Migration(1, "step 1", "SELECT 'something else'"), TWO)

    assert [step.number for step in await schema.applied()] == [1]


BOXES = [Report(backend=Backend.LANDLOCK, missing="the kernel has none")]


def a_status(*, running: bool = True, pending: int | None = 0) -> StoreStatus:
    return StoreStatus(source=Source.EMBEDDED, address="memory", running=running, pending=pending)


def showing(status: StoreStatus) -> ShowStatus:
    async def ask() -> StoreStatus:
        return status

    async def kept_in() -> str:
        return "age"

    return ShowStatus(store_status=ask, boxes=lambda: BOXES, secrets_in=kept_in)


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        (a_status(), True),
        (a_status(pending=1), False),
        (a_status(pending=None), False),
        (a_status(running=False), False),
    ],
)
async def test_it_is_ready_when_the_store_runs_and_nothing_is_pending(
    status: StoreStatus, ready: bool
) -> None:
    if ready:
        await showing(status).ready()
    else:
        with pytest.raises(StoreUnavailable):
            await showing(status).ready()


async def test_status_and_figures_are_for_whoever_may_see_them() -> None:
    viewer, guest = a_person(roles=[Role.VIEWER]), a_person(roles=[])

    shown = await showing(a_status())(viewer)
    assert shown == InstallationStatus(store=a_status(), boxes=BOXES, secrets="age")
    with pytest.raises(NotPermitted):
        await showing(a_status())(guest)

    show = ShowMetrics(text=figures)
    first = as_principal(an_identity("first", roles=[], grants=[Scope.METRICS_READ]))

    assert await show(first) == "portico_runs_in_flight 0\n"
    for role in Role:
        with pytest.raises(NotPermitted):
            await show(a_person(roles=[role]))


async def figures() -> str:
    return "portico_runs_in_flight 0\n"


GOOD = CheckResult(check="platform", state=State.GOOD, detail="fine")
OPEN = CheckResult(check="files", state=State.BROKEN, detail="open", fix="portico doctor --fix")
CLOSED = CheckResult(check="files", state=State.MENDED, detail="closed")


@pytest.mark.parametrize(("mend", "found"), [(False, [GOOD, OPEN]), (True, [GOOD, CLOSED])])
async def test_every_check_is_asked_in_order_and_mends_only_when_told_to(
    mend: bool, found: list[CheckResult]
) -> None:
    diagnose = Diagnose(checks=[ScriptedCheck(GOOD), ScriptedCheck(OPEN, mended=CLOSED)])

    assert [finding async for finding in diagnose(mend=mend)] == found


async def test_of_no_checks_there_are_no_findings_and_of_several_places_one_each() -> None:
    assert [finding async for finding in Diagnose(checks=[])(mend=True)] == []

    class Twice:
        async def __call__(self, *, mend: bool) -> list[CheckResult]:
            return [GOOD, OPEN]

    assert [finding async for finding in Diagnose(checks=[Twice()])(mend=False)] == [GOOD, OPEN]


class ScriptedRetention:
    """Does what it is told, one time after the other, and then nothing."""

    def __init__(self, *script: Forgotten | Exception) -> None:
        self._script = list(script)
        self.asked: list[Keep] = []
        self.through = asyncio.Event()

    async def forget(self, keep: Keep) -> Forgotten:
        self.asked.append(keep)
        if not self._script:
            self.through.set()
            return Forgotten()
        now = self._script.pop(0)
        if isinstance(now, Exception):
            raise now
        return now


async def test_what_was_forgotten_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    retain = Retain(retention=ScriptedRetention(Forgotten(runs=2)), keep=Keep(most_runs=5))

    with caplog.at_level(logging.INFO):
        gone = await retain()

    assert gone.runs == 2
    assert "forgot 2 runs" in caplog.text


async def test_it_goes_on_after_a_time_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    retention = ScriptedRetention(StoreUnavailable("away"), ValueError("odd"))
    forgetting = asyncio.ensure_future(Retain(retention=retention, keep=Keep()).every(timedelta(0)))

    async with asyncio.timeout(30):
        await retention.through.wait()
    forgetting.cancel()

    assert len(retention.asked) >= 3
