"""Forgetting goes on, whatever happens to one time of it."""

import asyncio
import logging
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.retention import Forgotten, Keep
from portico.engine.retain import Retain


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

    async with asyncio.timeout(5):
        await retention.through.wait()
    forgetting.cancel()

    assert len(retention.asked) >= 3
