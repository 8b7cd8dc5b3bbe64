"""Two agents and a person at one table: a running Portico, a model over HTTP, real processes."""

import getpass
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.scenarios.agent_house import PATIENCE, AgentHouse, a_house

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]

ME = getpass.getuser()
"""Who sets a Portico up is its first person, under the name of their account."""
SLOGAN = "Where herons wait, readers may."
_NAME = re.compile(r"\AYou are ([\w-]+),")


def reply(asked: str) -> str:
    """What each of them says, by who they are and what was said to them last."""
    me = _NAME.match(asked)
    assert me is not None, asked
    last = asked.rpartition("\n\n[")[2]
    match me[1]:
        case "planner" if SLOGAN in last:
            return f"@{ME} here it is: {SLOGAN}"
        case "planner":
            return "@writer please write a line for the door of the library."
        case "writer":
            return f"@planner {SLOGAN}"
        case "left":
            return "@right and then?"
        case "right":
            return "@left and then?"
        case name:
            return f"I am {name}."


@pytest.fixture(scope="module")
def town() -> Iterator[AgentHouse]:
    with a_house() as house:
        house.model.replies = reply
        for name in ("planner", "writer", "left", "right", "slow"):
            house.agent(name, tools=[], description="At the table.")
        said(house, "projects", "new", "library")
        yield house


def said(town: AgentHouse, *arguments: str) -> str:
    done = town.house.run("bridge", *arguments)
    assert done.code == 0, (arguments, done.err, town.house.log[-4000:])
    return done.out


def begun(town: AgentHouse, title: str) -> str:
    said(town, "conversations", "new", "library", title)
    found = town.ask("GET", "/conversations")["data"]
    return next(str(each["id"]) for each in found if each["title"] == title)


@contextmanager
def connected(town: AgentHouse, agent: str, title: str, *options: str) -> Iterator[Any]:
    """At the table, once the others can see that it is."""
    command = [str(town.house.program), "connect-agent", agent, "--conversation", title]
    with subprocess.Popen(
        [*command, "--cool-down", "0s", *options],
        env=town.house.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert "takes part in" in first, first + process.stderr.read()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)


def talk(town: AgentHouse, conversation: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = town.ask("GET", f"/conversations/{conversation}/messages")["data"]
    return found


def until(
    town: AgentHouse, conversation: str, enough: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    deadline = time.monotonic() + PATIENCE
    while not enough(found := talk(town, conversation)):
        assert time.monotonic() < deadline, (found, town.house.log[-4000:])
        time.sleep(0.1)
    return found


def lines(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["sender_name"], each["body"]) for each in messages]


@pytest.mark.requirement("bridge:table:shared-task")
def test_two_agents_and_a_person_finish_a_small_task(town: AgentHouse) -> None:
    plan = begun(town, "the door")
    work = town.ask("POST", f"/projects/{project(town)}/work", {"title": "A line for the door"})

    with connected(town, "planner", "the door"), connected(town, "writer", "the door"):
        said(town, "work", "claim", work["id"])
        said(town, "post", "the door", "@planner we need a line for the door.")
        found = until(town, plan, lambda told: f"@{ME}" in told[-1]["body"])
    waiting = said(town, "inbox")
    said(town, "memory", "set", "library", "door", SLOGAN)
    said(town, "work", "done", work["id"], SLOGAN)

    assert lines(found) == [
        (ME, "@planner we need a line for the door."),
        ("planner", "@writer please write a line for the door of the library."),
        ("writer", f"@planner {SLOGAN}"),
        ("planner", f"@{ME} here it is: {SLOGAN}"),
    ]
    assert [each["reply_to"] for each in found[1:]] == [each["id"] for each in found[:3]]
    assert len({each["thread"] for each in found[1:]}) == 1
    assert waiting.split("\t")[:3] == ["the door", "3", "1"]
    assert said(town, "memory", "get", "library", "door").strip() == SLOGAN
    assert town.ask("GET", f"/work/{work['id']}")["state"] == "done"


@pytest.mark.requirement("bridge:connect:cannot-loop")
def test_agents_that_name_each_other_for_ever_stop(town: AgentHouse) -> None:
    ring = begun(town, "a ring")

    with connected(town, "left", "a ring"), connected(town, "right", "a ring") as right:
        said(town, "post", "a ring", "@left begin.")
        until(town, ring, lambda told: len(told) == 6)
        assert right.stderr is not None
        stopped = next(line for line in right.stderr if line.startswith("No answer to"))

    assert len(talk(town, ring)) == 6
    assert "agents have answered agents" in stopped


@pytest.mark.requirement("bridge:connect:once")
def test_killed_in_the_middle_it_goes_on_and_answers_once(town: AgentHouse) -> None:
    room = begun(town, "the middle")
    town.model.hold.clear()
    asked_before = len(town.model.asked_by("You are slow"))

    with ExitStack() as stack:
        process = stack.enter_context(connected(town, "slow", "the middle"))
        said(town, "post", "the middle", "@slow who are you?")
        deadline = time.monotonic() + PATIENCE
        while len(town.model.asked_by("You are slow")) == asked_before:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
        process.wait(PATIENCE)
    town.model.hold.set()
    with connected(town, "slow", "the middle"):
        until(town, room, lambda told: len(told) == 2)
    done = town.house.run("connect-agent", "slow", "--conversation", "the middle", "--once")

    assert done.code == 0, done.err
    assert lines(talk(town, room))[1:] == [("slow", "I am slow.")]
    assert len(town.model.asked_by("You are slow")) == asked_before + 1


def project(town: AgentHouse) -> str:
    return str(town.ask("GET", "/projects/library")["id"])
