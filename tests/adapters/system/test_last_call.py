"""Whoever is asked to end has ended a while later, and says what it waited for."""

import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.timeout(60)

PRELUDE = """
    import asyncio, logging, threading
    from portico.adapters.system.last_call import LastCall
    from portico.adapters.system.signals import end_orderly

    logging.basicConfig(format="%(message)s")
    last_call = LastCall((1.0, 1.0, 20.0))
    end_orderly(last_call.begin)
"""
SERVING = """
    import socket, uvicorn
    from portico.faces.http.asked_server import AskedServer

    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        print("here", flush=True)
        await stubborn()

    async def serve():
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            config = uvicorn.Config(app, lifespan="on", log_config=None)
            await AskedServer(config, last_call.begin).serve(sockets=[listener])
"""
STUBBORN = """
    async def stubborn():
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass
"""


def asked_to_end(program: str) -> tuple[int, str]:
    """How a process ends, and what it says, which is asked to as soon as it says that it is
    here."""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PRELUDE) + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGTERM)
        try:
            said, errors = process.communicate(timeout=50)
        finally:
            process.kill()
    return process.returncode, said + errors


def test_who_ends_in_time_is_not_disturbed() -> None:
    code, said = asked_to_end("""
        try:
            print("here", flush=True)
            threading.Event().wait()
        finally:
            print("tidied up")
    """)

    assert (code, said) == (0, "tidied up\n")


def test_a_task_that_will_not_be_cancelled_is_named_and_left() -> None:
    code, said = asked_to_end(
        textwrap.dedent(STUBBORN)
        + textwrap.dedent("""
        async def main():
            asyncio.create_task(stubborn(), name="the bus")
            await asyncio.sleep(0)
            print("here", flush=True)
            await asyncio.Event().wait()

        try:
            asyncio.run(main())
        finally:
            print("tidied up")
        """)
    )

    assert code == 1
    assert "these do not end: the bus in Event.wait, line" in said
    assert "tidied up\n" in said
    assert "by force" not in said


def test_a_thread_that_never_ends_is_named_and_left() -> None:
    _, said = asked_to_end("""
        threading.Thread(target=threading.Event().wait, name="a launch").start()
        print("here", flush=True)
        threading.Event().wait()
    """)

    assert "these do not end: the thread a launch" in said


def test_who_cannot_be_broken_off_is_ended_by_force() -> None:
    code, said = asked_to_end("""
        last_call = LastCall((1.0, 1.0, 1.0))
        end_orderly(last_call.begin)
        while True:
            try:
                print("here", flush=True)
                threading.Event().wait()
            except SystemExit:
                pass
    """)

    assert code == 1
    assert "ended by force; it still waited for: nothing that is known" in said


def test_a_server_whose_house_does_not_end_is_left() -> None:
    code, said = asked_to_end(
        textwrap.dedent(STUBBORN) + textwrap.dedent(SERVING) + "\nasyncio.run(serve())\n"
    )

    assert code == 1
    assert "these do not end:" in said
    assert "Event.wait, line" in said
