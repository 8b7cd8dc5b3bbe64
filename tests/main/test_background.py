"""What goes on in the background ends when it is asked to, if need be more than once."""

import asyncio

import pytest

from portico.main.background import ended


async def deaf(times: int) -> None:
    """It hears that it is cancelled only when it has been told more often than that."""
    for _ in range(times):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue
    await asyncio.Event().wait()


async def begun(times: int) -> "asyncio.Task[None]":
    task = asyncio.create_task(deaf(times), name="the box")
    await asyncio.sleep(0)
    return task


async def test_who_hears_ends_at_once(caplog: pytest.LogCaptureFixture) -> None:
    task = await begun(0)

    await ended([task], pause=60)

    assert task.cancelled()
    assert caplog.messages == []


async def test_who_does_not_hear_is_asked_again_and_named(caplog: pytest.LogCaptureFixture) -> None:
    task = await begun(2)

    await ended([task], pause=0)
    await asyncio.wait([task])

    assert task.cancelled()
    assert set(caplog.messages) == {
        "asked to end, and still going on in the background: the box",
    }


async def test_nobody_is_waited_for_forever() -> None:
    task = await begun(3)

    await ended([task], pause=0)

    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
