"""A team's server: two machines with one PostgreSQL over TCP, one of them is killed, and work goes
on."""

import itertools
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest

from portico.engine.core.runs import ClaimedActivation
from portico.engine.execution import Record
from portico.engine.ports import Journal
from tests.installation import Installation, Process
from tests.servers import free_port, reachable_folder, tcp_server

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
RUNS = 100 if FULL_SIZE else 12
MESSAGES = 2_000 if FULL_SIZE else 60
STEPS = 5
PAUSES = STEPS - 1
"""Between them, and steps as well."""
WRITERS = 3
PEPPER = "the same on every machine"


@dataclass(frozen=True)
class Machine(Installation):
    """With a home of its own; what the fleet shares it is told by its environment."""

    told: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**super().environment, "PORTICO_IDENTITY__PEPPER": PEPPER, **self.told}


@pytest.fixture
def fleet() -> Iterator[tuple[Machine, Machine]]:
    """As the page says: provisioned and set up on one, the second is only told where it is."""
    with tcp_server(18) as admin, reachable_folder() as folder:
        first = Machine(folder / "first", free_port(), told={"PORTICO_ADMIN_DSN": admin})
        first.home.mkdir(mode=0o711)
        printed = first.run("db", "provision", "--print-only")
        assert printed.code == 0, printed.err
        addresses = dict(line.split("=", 1) for line in printed.out.split())
        addresses = {name: value.strip("'") for name, value in addresses.items()}
        first = Machine(first.home, first.port, told=addresses)
        done = first.run("init", "--name", "ana")
        assert done.code == 0, done.err
        without_owner = {n: v for n, v in addresses.items() if "OWNER" not in n}
        second = Machine(folder / "second", free_port(), told=without_owner)
        second.home.mkdir(mode=0o711)
        yield first, second


@dataclass(slots=True)
class Crowd:
    """Writers that ask whoever answers, and repeat under the same key what nobody acknowledged."""

    doors: Sequence[str]
    key: str
    posted: dict[str, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    again: Counter[str] = field(default_factory=Counter)

    def asked(self, number: int, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + 120
        for door in itertools.islice(itertools.cycle(self.doors), number % 2, None):
            try:
                answer = httpx2.post(
                    f"{door}/api/v1{path}",
                    json=dict(body),
                    headers={
                        "Authorization": f"Bearer {self.key}",
                        "Idempotency-Key": f"{path.rpartition('/')[2]}-{number}",
                    },
                    timeout=30,
                )
            except httpx2.TransportError:
                self.again[door] += 1
            else:
                if answer.is_success:
                    return dict(answer.json())
                assert answer.status_code in {500, 502, 503}, answer.text
            assert time.monotonic() < deadline, self.again
            time.sleep(0.02)
        raise AssertionError

    def write(self, conversation: str, numbers: Sequence[int]) -> None:
        for number in numbers:
            sent = self.asked(number, f"/conversations/{conversation}/messages", _text(number))
            self.posted[str(sent["id"])] = _text(number)["body"]
            if number * RUNS // MESSAGES != (number + 1) * RUNS // MESSAGES:
                self.runs.append(self.asked(number, "/runs", _drill(0.3))["id"])


def _drill(pause: float) -> dict[str, Any]:
    return {"kind": "drill", "input": {"steps": STEPS, "pause": pause}}


def _processes(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """That did them, in order."""
    by = [each["output"]["process"] for each in steps if each["name"].startswith("step")]
    return list(dict.fromkeys(by))


def _text(number: int) -> dict[str, str]:
    return {"body": f"message {number}"}


@dataclass(frozen=True)
class Aftermath:
    crowd: Crowd
    ended: Sequence[Mapping[str, Any]]
    told: Sequence[Counter[str]]
    """Of each run, how often each kind of thing happened to it."""
    read: Sequence[tuple[str, str]]
    took: float

    def faults(self) -> list[str]:
        found = [
            f"a run ended as {each['status']}" for each in self.ended if each["status"] != "done"
        ]
        found += [
            f"{what} happened {each[what]} times instead of {often}"
            for each in self.told
            for what, often in {"run.done": 1, "step.done": STEPS + PAUSES}.items()
            if each[what] != often
        ]
        found += [
            f"a run gave {given} although its notes say {noted}"
            for each in self.ended
            if each["status"] == "done"
            and (given := each["result"]["processes"]) != (noted := _processes(each["steps"]))
        ]
        if len(self.read) != MESSAGES or dict(self.read) != self.crowd.posted:
            found.append("what is read is not what was posted")
        return found


def one_is_killed(
    fleet: tuple[Machine, Machine], plant: Callable[[], None] | None = None
) -> Aftermath:
    first, second = fleet
    with ExitStack() as serving:
        doomed = serving.enter_context(first.serving(plant))
        serving.enter_context(second.serving(plant))
        crowd = Crowd((first.url, second.url), first.key)
        with second.client(first.key) as client:
            project = client.post("/projects", json={"name": "plans"}).json()["id"]
            talk = {"project": project, "title": "all of us"}
            conversation = client.post("/conversations", json=talk).json()["id"]
            with _writing(crowd, conversation) as writing:
                while len(crowd.posted) < MESSAGES // 3:
                    assert not any(each.done() for each in writing), [
                        e.exception() for e in writing
                    ]
                    time.sleep(0.01)
                _begun_by(doomed, crowd, client)
                doomed.kill()
                died = time.monotonic()
            ended = [_ended(client, run) for run in crowd.runs]
            took = time.monotonic() - died
            told = [_told(client, run) for run in crowd.runs]
            return Aftermath(crowd, ended, told, _read(client, conversation), took)


def _begun_by(doomed: Process, crowd: Crowd, client: httpx2.Client) -> None:
    """Runs are started until that process has done the first step of one."""
    for number in itertools.count(MESSAGES):
        crowd.runs.append(run := crowd.asked(number * 2, "/runs", _drill(1.5))["id"])
        while not (steps := client.get(f"/runs/{run}").json()["steps"]):
            time.sleep(0.01)
        if _processes(steps)[0].endswith(f"-{doomed.pid}"):
            return


@pytest.mark.requirement("team:worker:killed")
def test_a_worker_is_killed_and_nothing_that_was_acknowledged_is_lost(
    fleet: tuple[Machine, Machine], capsys: pytest.CaptureFixture[str]
) -> None:
    after = one_is_killed(fleet)

    crowd, takeovers = after.crowd, sum(each["run.taken_over"] for each in after.told)
    with capsys.disabled():
        print(
            f"\nteam: {len(crowd.posted)} messages and {len(crowd.runs)} runs by {WRITERS} writers;"
            f" {sum(crowd.again.values())} repeated, {takeovers} runs taken over,"
            f" all over {after.took:.1f} s after the kill"
        )
    assert len(crowd.runs) > RUNS
    assert len(crowd.posted) == MESSAGES
    assert crowd.again[crowd.doors[0]] > 0
    assert takeovers > 0
    assert after.faults() == []


def forgets_steps() -> None:
    """Whoever takes a run up does not look at what was done of it."""
    begin = Record.__init__

    def begun(its: Record, taken: ClaimedActivation, journal: Journal) -> None:
        begin(its, replace(taken, steps=()), journal)

    Record.__init__ = begun  # type: ignore[assignment, method-assign] # a red run


@pytest.mark.planted
def test_without_what_was_noted_of_steps_the_same_check_finds_them_done_again(
    fleet: tuple[Machine, Machine],
) -> None:
    """A red run: what the notes of steps are for."""
    found = one_is_killed(fleet, forgets_steps).faults()

    assert any("its notes say" in fault for fault in found)


@contextmanager
def _writing(crowd: Crowd, conversation: str) -> Iterator[Sequence[Future[None]]]:
    with ThreadPoolExecutor(WRITERS) as threads:
        numbers = [range(first, MESSAGES, WRITERS) for first in range(WRITERS)]
        writing = [threads.submit(crowd.write, conversation, each) for each in numbers]
        yield writing
        for each in writing:
            each.result()


def _ended(client: httpx2.Client, run: str) -> dict[str, Any]:
    deadline = time.monotonic() + 120
    while (found := client.get(f"/runs/{run}").json())["finished_at"] is None:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return dict(found)


def _told(client: httpx2.Client, run: str) -> Counter[str]:
    with client.stream("GET", f"/runs/{run}/events") as stream:
        lines = [line.removeprefix("event: ") for line in stream.iter_lines()]
    return Counter(line for line in lines if re.fullmatch(r"[a-z]+\.[a-z_]+", line))


def _read(client: httpx2.Client, conversation: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    cursor: str | None = None
    while True:
        asked = {"limit": "100"} | ({"cursor": cursor} if cursor else {})
        page = client.get(f"/conversations/{conversation}/messages", params=asked).json()
        found += [(each["id"], each["body"]) for each in page["data"]]
        cursor = page["cursor"]
        if not page["more"]:
            return found
