"""A server in a box is ended by whoever keeps the box, who must not be killed before that."""

import asyncio
import signal
import uuid
from datetime import timedelta

import pytest

from portico.adapters.mcp import family
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.housing import Lodging
from portico.adapters.mcp.last_words import LastWords
from portico.adapters.mcp.resolve import Command
from portico.adapters.mcp.stdio import Starting, start
from portico.adapters.mcp.terms import Terms
from portico.adapters.mcp.watch import Watch
from portico.box.core.limits import Limits
from portico.box.core.profile import Order, Profile
from portico.box.core.report import Backend
from tests.adapters.box.boxes import PYTHON, Made, running, until

pytestmark = pytest.mark.timeout(60)

STUBBORN = """
import os, signal, sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stderr.write("ready\\n")
sys.stdin.read()
if not os.fork():
    os.setsid()
while True:
    signal.pause()
"""
"""Once its input is at its end it has a child that has left its group, and that nobody knew of
before."""
TERMS = Terms(grace=timedelta(milliseconds=300))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[signal.Signals]:
    """Signals to servers and all that came of them."""
    numbers: list[signal.Signals] = []
    send = family.send

    def noted(group: int, others: family.Others, number: signal.Signals) -> None:
        numbers.append(number)
        send(group, others, number)

    monkeypatch.setattr(family, "send", noted)
    return numbers


async def a_server(backend: Backend, word: str, words: LastWords) -> Duplex:
    """Without a control group: where the kernel counts, it would end everybody in any case."""
    arguments = ("-I", "-S", "-c", STUBBORN, word)
    environment = {"PATH": "/usr/bin:/bin"}
    order = Order(program=PYTHON, arguments=arguments, environment=environment, profile=Profile())
    room = Made(backend).box(groups=None).cell(order, Limits())
    starting = Starting(
        Command(PYTHON, arguments, environment, None, frozenset()),
        environment,
        Lodging(room, asyncio.create_task),
        Watch(),
    )
    return await start(starting, words, TERMS)


@pytest.mark.parametrize("backend", Backend)
async def test_who_begins_something_at_the_end_leaves_nothing(
    backend: Backend, sent: list[signal.Signals]
) -> None:
    word, words = uuid.uuid4().hex, LastWords()  # noqa: TID251 # any word will do
    words.begin()
    server = await a_server(backend, word, words)
    await until(lambda: words.last(str) == "ready")
    before = len(running(word))

    await server.close()

    assert before >= 1
    assert sent == [signal.SIGTERM]
    assert running(word) == []
