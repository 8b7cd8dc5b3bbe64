"""What the engine room may rely on of `Bus`: little, and that across processes."""

import asyncio
from contextlib import ExitStack

import pytest

from portico.engine.ports import Wakeups
from portico.kernel.ids import SpaceId
from portico.testing.guard import a_space
from tests.contracts.doors import Doors

HOME, ACME = a_space("home").id, a_space("acme").id
PATIENCE = 20.0


async def heard(wakeups: Wakeups) -> None:
    async with asyncio.timeout(PATIENCE):
        await wakeups.wait()


async def is_quiet(wakeups: Wakeups) -> bool:
    try:
        async with asyncio.timeout(0.2):
            await wakeups.wait()
    except TimeoutError:
        return True
    return False


async def connected(doors: Doors) -> None:
    """What is said before a process listens is not heard there."""
    for bus, other in ((doors.bus, doors.elsewhere), (doors.elsewhere, doors.bus)):
        with bus.listen(HOME, "connected") as ear:
            while True:
                other.wake(HOME, "connected")
                if not await is_quiet(ear):
                    break


async def test_whoever_listens_here_or_elsewhere_is_woken(doors: Doors) -> None:
    await connected(doors)

    with doors.bus.listen(HOME, "runs") as here, doors.elsewhere.listen(HOME, "runs") as there:
        doors.bus.wake(HOME, "runs")

        await heard(here)
        await heard(there)


async def test_each_of_several_listeners_is_woken(doors: Doors) -> None:
    with doors.bus.listen(HOME, "runs") as one, doors.bus.listen(HOME, "runs") as other:
        doors.bus.wake(HOME, "runs")

        await heard(one)
        await heard(other)


@pytest.mark.parametrize(("space", "topic"), [(HOME, "other"), (ACME, "runs")])
async def test_another_topic_or_space_wakes_nobody(
    doors: Doors, space: SpaceId, topic: str
) -> None:
    await connected(doors)

    with doors.bus.listen(HOME, "runs") as here, doors.elsewhere.listen(HOME, "runs") as there:
        doors.bus.wake(space, topic)

        assert await is_quiet(here)
        assert await is_quiet(there)


async def test_what_was_said_while_one_did_not_wait_is_remembered_once(doors: Doors) -> None:
    await connected(doors)

    with doors.bus.listen(HOME, "runs") as ear:
        for _ in range(5):
            doors.bus.wake(HOME, "runs")

        await heard(ear)
        assert await is_quiet(ear)


async def test_whoever_has_left_hears_nothing_and_others_still_do(doors: Doors) -> None:
    with doors.bus.listen(HOME, "runs") as stays:
        with doors.bus.listen(HOME, "runs") as leaves:
            pass
        doors.bus.wake(HOME, "runs")

        await heard(stays)
        assert await is_quiet(leaves)


async def test_many_topics_at_once_all_arrive(doors: Doors) -> None:
    await connected(doors)
    topics = [f"topic {number} {'é' * 150}" for number in range(300)]

    with ExitStack() as open_ones:
        ears = [open_ones.enter_context(doors.elsewhere.listen(HOME, topic)) for topic in topics]
        for topic in topics:
            doors.bus.wake(HOME, topic)

        for ear in ears:
            await heard(ear)
