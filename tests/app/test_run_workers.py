"""What goes on in the background ends when it is asked to, and so does a server beside it."""

import asyncio
import signal
import subprocess
import sys

import pytest

from portico.app.run_workers import ended
from tests.children import gone


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


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
time.sleep(60)
"""
MEANWHILE = f"""
import sys, time
from types import SimpleNamespace
from portico.app import supervision as meanwhile

server = [sys.executable, "-c", {STUBBORN!r}]
looks = iter([False])
meanwhile._command = lambda ground: server
meanwhile._ready = lambda ground: next(looks, True)
meanwhile._ENDING = 2.0
popen = meanwhile.subprocess.Popen

def told(*given, **how):
    process = popen(*given, **how)
    end = process.send_signal
    process.send_signal = lambda number: (end(number), print("ending", flush=True))
    print(process.pid, flush=True)
    time.sleep(float(sys.argv[1]))  # as one that is not known to anybody yet
    return process

meanwhile.subprocess.Popen = told
with meanwhile.serving_meanwhile(SimpleNamespace(private_socket="there")):
    print("under way", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("being_started", [0.0, 0.5])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_nothing_stays(number: signal.Signals, being_started: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MEANWHILE, str(being_started)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        server = int(process.stdout.readline())
        if not being_started:
            assert process.stdout.readline() == "under way\n"
        process.send_signal(number)
        assert process.stdout.readline() == "ending\n"
        process.send_signal(number)
        code = process.wait(30)

    assert code == 128 + number
    assert gone(server)
