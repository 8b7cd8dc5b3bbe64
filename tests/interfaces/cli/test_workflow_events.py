"""A workflow kept up to date while its server comes and goes."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from portico.interfaces.cli.server import RESET, ReceivedEvent, Refused, Server
from portico.interfaces.cli.workflow_events import Followed
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.picture.reports import a_report, an_event
from tests.interfaces.cli.picture.scenes import RUN
from tests.interfaces.cli.scripted_server import ScriptedServer, answering
from tests.interfaces.cli.workflow_answers import DONE, answers

THERE = f"GET /workflows/{RUN}"


@pytest.fixture
def found() -> dict[str, object]:
    return answers(DONE, status="running")


@pytest.fixture
def server(found: dict[str, object]) -> Iterator[ScriptedServer]:
    with answering(found) as running:
        yield running


@pytest.fixture
def followed(cli: CommandLine, server: ScriptedServer) -> Followed:
    cli.house.remote = server.url
    return Followed.of(Server(cli.house), RUN)


def test_a_server_that_is_starting_is_asked_again_later(
    followed: Followed, server: ScriptedServer, found: dict[str, object]
) -> None:
    followed.take(ReceivedEvent("run.started", an_event("run.started", 0)))
    server.late = True

    followed.refresh()

    assert followed.stale
    found[THERE] = a_report(DONE, status="waiting")
    followed.refresh(at_once=True)
    assert followed.view.status == "waiting"
    assert not followed.stale


def test_one_that_is_gone_for_good_is_not(followed: Followed, found: dict[str, object]) -> None:
    followed.take(ReceivedEvent(RESET, {"topic": RUN}))
    del found[THERE]

    with pytest.raises(Refused):
        followed.refresh()


def test_time_is_told_by_the_clock_of_the_server(followed: Followed) -> None:
    before = followed.now()

    followed.met(before + timedelta(seconds=1))
    assert abs(followed.now() - before) < timedelta(minutes=1)
    followed.met(before + timedelta(hours=1))
    assert followed.now() - before > timedelta(minutes=59)
    followed.met(None)
    assert followed.now() - before > timedelta(minutes=59)
