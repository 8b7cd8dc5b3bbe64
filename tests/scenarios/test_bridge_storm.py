"""Agents are killed in the middle of a word, answers are lost, servers and the database die: what
was acknowledged on the bridge is there once, in one order for all, and what was read stays read."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.installation import Installation, installation
from tests.servers import free_port
from tests.storm.bridge_client import Orders, facts
from tests.storm.bridge_oracle import Journals, Stored, Truth, faults
from tests.storm.bridge_proxy import Harm, Proxy


@dataclass(frozen=True, kw_only=True)
class Scale:
    agents: int
    messages: int
    conversations: int
    in_each: int
    """Conversations that an agent takes part in."""
    kills: int = 0
    drops: int = 0
    server_kills: int = 0
    database_kills: int = 0
    losses: int = 0
    """Messages that are acknowledged and never stored: planted, to be found."""

    @property
    def all(self) -> int:
        return self.agents * self.messages

    def harms(self, chance: random.Random) -> Mapping[int, Harm]:
        """Each at another message, over nine tenths of them."""
        killing = [(Harm.KILL_ASKING, Harm.KILL_ANSWERED)[n % 2] for n in range(self.kills)]
        wanted = killing + [Harm.DROP] * self.drops + [Harm.LOSE] * self.losses
        places = chance.sample(range(self.all // 20, self.all * 19 // 20), len(wanted))
        return dict(zip(places, wanted, strict=True))

    def moments(self, many: int) -> Sequence[int]:
        """When so many messages have come by."""
        return [self.all * (number + 1) // (many + 2) for number in range(many)]


@dataclass
class Servers:
    """As many as there are ports; one that is killed is started again at once."""

    house: Installation
    ports: Sequence[int]
    processes: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, port: int) -> None:
        with (self.house.home / f"serve-{port}.log").open("ab") as log:
            self.processes[port] = subprocess.Popen(
                [self.house.program, "serve"],
                env={**self.house.environment, "PORTICO_SERVER__PORT": str(port)},
                cwd=self.house.home,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def wait_ready(self, port: int, patience: float = 120) -> None:
        there = Installation(self.house.home, port)
        deadline = time.monotonic() + patience
        while not there.ready():
            assert self.processes[port].poll() is None, self.log(port)
            assert time.monotonic() < deadline, self.log(port)
            time.sleep(0.05)

    def kill(self, port: int) -> None:
        process = self.processes[port]
        process.kill()
        process.wait()
        self.start(port)
        self.wait_ready(port)

    def kill_database(self) -> None:
        """Until another is there, which the servers see to."""
        before = self.house.postmaster()
        os.kill(before, signal.SIGKILL)
        deadline = time.monotonic() + 120
        while self._postmaster() in (None, before):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _postmaster(self) -> int | None:
        try:
            return self.house.postmaster()
        except (OSError, ValueError, IndexError):
            return None

    def log(self, port: int) -> str:
        return (self.house.home / f"serve-{port}.log").read_text()[-3000:]


@contextmanager
def serving(house: Installation, many: int) -> Iterator[Servers]:
    servers = Servers(house, [house.port, *(free_port() for _ in range(many - 1))])
    try:
        for port in servers.ports:
            servers.start(port)
            servers.wait_ready(port)
        yield servers
    finally:
        for process in servers.processes.values():
            process.terminate()
        for process in servers.processes.values():
            process.wait(60)


@dataclass
class Stage:
    """Agents, and the conversations that each takes part in."""

    scale: Scale
    servers: Servers
    folder: Path
    conversations: Sequence[str]
    agents: Mapping[str, tuple[str, Sequence[str]]]
    """Their keys and conversations."""
    alive: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    killed: int = 0
    server_kills: int = 0
    database_kills: int = 0

    async def storm(self, seed: int) -> Proxy:
        chance = random.Random(seed)
        proxy = Proxy(self.servers.ports, self.kill, self.scale.harms(chance))
        async with _listening(proxy) as port, asyncio.TaskGroup() as everything:
            breaking = everything.create_task(self._break(proxy))
            async with asyncio.TaskGroup() as living:
                for name in self.agents:
                    living.create_task(self._live("storm", name, port))
            await breaking
            for name in self.agents:
                await self._live("finish", name, port)
        return proxy

    def kill(self, name: str) -> None:
        self.alive[name].kill()
        self.killed += 1

    async def _live(self, what: str, name: str, port: int) -> None:
        """Again and again, until it has done what it was to do."""
        key, conversations = self.agents[name]
        orders = Orders(
            name=name,
            key=key,
            port=port,
            conversations=conversations,
            messages=self.scale.messages,
            journal=str(self.folder / name),
        )
        while True:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.storm.bridge_client",
                what,
                orders.text(),
                stderr=asyncio.subprocess.PIPE,
            )
            self.alive[name] = process
            try:
                _, said = await process.communicate()
            finally:  # also when the storm is given up
                await _ended(process)
            if process.returncode == 0:
                return
            assert process.returncode == -signal.SIGKILL, said.decode()

    async def _break(self, proxy: Proxy) -> None:
        """Servers in turn, and the database, as messages come by."""
        due = [(at, "server") for at in self.scale.moments(self.scale.server_kills)]
        due += [(at, "database") for at in self.scale.moments(self.scale.database_kills)]
        for at, what in sorted(due):
            while proxy.passed < at:
                proxy.moved.clear()
                await proxy.moved.wait()
            if what == "database":
                await asyncio.to_thread(self.servers.kill_database)
                self.database_kills += 1
            else:
                ports = self.servers.ports
                await asyncio.to_thread(self.servers.kill, ports[self.server_kills % len(ports)])
                self.server_kills += 1

    def journals(self) -> Journals:
        return {name: facts(self.folder / name) for name in self.agents}

    def truth(self) -> Truth:
        """As somebody reads it who has had no part in it."""
        with self.servers.house.client() as client:
            return {where: _all_of(client, where) for where in self.conversations}


def _all_of(client: httpx2.Client, conversation: str) -> list[Stored]:
    found: list[Stored] = []
    asked: dict[str, Any] = {"limit": 100}
    while True:
        page = client.get(f"/conversations/{conversation}/messages", params=asked).json()
        for each in page["data"]:
            sender, number = each["body"].split()
            found.append(Stored(each["id"], sender, int(number)))
        if not page["more"]:
            return found
        asked["cursor"] = page["cursor"]


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


@asynccontextmanager
async def _listening(proxy: Proxy) -> AsyncIterator[int]:
    server = await asyncio.start_server(proxy.attend, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await proxy.close()


def set_up(servers: Servers, scale: Scale, folder: Path) -> Stage:
    folder.mkdir(exist_ok=True)
    chance = random.Random(1)
    with servers.house.client() as client:

        def made(path: str, body: object) -> Any:
            answer = client.post(path, json=body)
            assert answer.status_code == 201, answer.text
            return answer.json()

        project = made("/projects", {"name": folder.name, "label": "team"})["id"]
        ids, keys = {}, {}
        for number in range(scale.agents):
            name = f"{folder.name}-{number}"
            wish = {"kind": "agent", "name": name, "clearance": "team"}
            ids[name] = made("/principals", wish)["id"]
            key = {"name": f"{name}'s", "principal": ids[name], "clearance": "team"}
            keys[name] = made("/keys", key)["key"]
        places = range(scale.conversations)
        inside = {name: sorted(chance.sample(places, scale.in_each)) for name in ids}
        conversations = [
            made(
                "/conversations",
                {
                    "project": project,
                    "title": f"Talk {place}",
                    "participants": [ids[name] for name in ids if place in inside[name]],
                },
            )["id"]
            for place in places
        ]
    agents = {name: (keys[name], [conversations[n] for n in inside[name]]) for name in ids}
    return Stage(scale, servers, folder, conversations, agents)


FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
SCALE = (
    Scale(
        agents=50,
        messages=2_000,
        conversations=16,
        in_each=3,
        kills=500,
        drops=200,
        server_kills=20,
        database_kills=5,
    )
    if FULL_SIZE
    else Scale(
        agents=6,
        messages=60,
        conversations=4,
        in_each=2,
        kills=10,
        drops=5,
        server_kills=1,
        database_kills=1,
    )
)

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with installation() as house, serving(house, 2) as made:
        yield made


@pytest.mark.timeout(7200 if FULL_SIZE else 600)
@pytest.mark.requirement("bridge:storm:nothing-lost")
async def test_every_acknowledged_message_is_there_once_and_in_order_after_a_storm(
    servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = set_up(servers, SCALE, servers.house.home / "storm")
    began = time.monotonic()

    proxy = await stage.storm(seed=10)

    took = time.monotonic() - began
    journals, truth = stage.journals(), stage.truth()
    said = [fact for journal in journals.values() for fact in journal if fact["what"] == "said"]
    read = [fact for journal in journals.values() for fact in journal if fact["what"] == "read"]
    harms = Counter(harm for harm, _ in proxy.done)
    with capsys.disabled():
        print(
            f"\nbridge storm: {SCALE.agents} agents x {SCALE.messages} messages in "
            f"{SCALE.conversations} conversations, {stage.killed} agents killed, "
            f"{harms[Harm.DROP]} answers dropped, {stage.server_kills} servers and "
            f"{stage.database_kills} databases killed in {took:.0f} s; "
            f"{proxy.passed - len(said)} messages sent again, "
            f"{sum(len(fact['told']) for fact in read)} deliveries on {len(read)} pages"
        )
    assert faults(journals, truth) == []
    assert len(said) == sum(map(len, truth.values())) == SCALE.all
    assert stage.killed == SCALE.kills
    assert harms[Harm.DROP] == SCALE.drops
    assert (stage.server_kills, stage.database_kills) == (SCALE.server_kills, SCALE.database_kills)
    assert all(journal[-1]["what"] == "finished" for journal in journals.values())


@pytest.mark.planted
async def test_a_server_that_loses_one_message_is_caught(servers: Servers) -> None:
    """A red run: what the journals are for."""
    scale = Scale(agents=2, messages=15, conversations=1, in_each=1, losses=1)
    stage = set_up(servers, scale, servers.house.home / "lossy")

    proxy = await stage.storm(seed=3)

    [(_, lost)] = proxy.done
    name, _, number = lost.partition(".")
    assert faults(stage.journals(), stage.truth()) == [
        f"{name}: {number} was acknowledged and is not there"
    ]


def read(*messages: str, cursor: str, reset: bool = False) -> dict[str, Any]:
    told = [["talk", message, ""] for message in messages]
    return {"what": "read", "told": told, "cursor": cursor, "reset": reset, "end": True}


def said(number: int, message: str) -> list[dict[str, Any]]:
    at = {"n": number, "where": "talk"}
    return [{"what": "saying", **at}, {"what": "said", "id": message, **at}]


FINISHED = {"what": "finished"}
TRUTH = {"talk": [Stored("m0", "bo", 0), Stored("m1", "al", 0), Stored("m2", "bo", 1)]}
BO = [*said(0, "m0"), *said(1, "m2")]


def marked(cursor: str) -> dict[str, Any]:
    return {"what": "marked", "cursor": cursor}


def test_journals_that_agree_with_what_is_there_have_no_faults() -> None:
    unread = {"what": "unread", "unread": {"talk": 1}}
    al = [*said(0, "m1"), read("m0", "m1", cursor="1"), marked("1"), unread]

    found = faults({"bo": BO, "al": [*al, read("m2", cursor="2"), FINISHED]}, TRUTH)

    assert found == []


@pytest.mark.parametrize(
    ("al", "truth", "fault"),
    [
        pytest.param([], TRUTH["talk"] + [Stored("m3", "bo", 1)], "bo 1 is there 2", id="twice"),
        pytest.param([], [TRUTH["talk"][2], TRUTH["talk"][0]], "bo 0 comes after 1", id="order"),
        pytest.param([], TRUTH["talk"] + [Stored("m3", "bo", 2)], "nobody has said", id="made up"),
        pytest.param(said(1, "m9"), TRUTH["talk"], "1 was acknowledged and is not", id="lost"),
        pytest.param(said(0, "m9"), TRUTH["talk"], "0 was acknowledged as m9", id="another"),
        pytest.param([read("m1", cursor="1")], TRUTH["talk"], "read talk otherwise", id="gap"),
        pytest.param(
            [read("m0", "m0", cursor="1")], TRUTH["talk"], "read talk otherwise", id="read twice"
        ),
        pytest.param(
            [read("m0", cursor="1"), FINISHED], TRUTH["talk"], "missed 2", id="not to the end"
        ),
        pytest.param(
            [read("m0", cursor="1", reset=True)], TRUTH["talk"], "to begin anew", id="reset"
        ),
        pytest.param(
            [
                read("m0", "m1", cursor="1"),
                marked("1"),
                {"what": "unread", "unread": {"talk": 2}},
                read("m2", cursor="2"),
            ],
            TRUTH["talk"],
            "2 were unread in talk, where there were 1 at most",
            id="marked and unread again",
        ),
    ],
)
def test_every_kind_of_fault_is_found(
    al: list[dict[str, Any]], truth: list[Stored], fault: str
) -> None:
    found = faults({"bo": BO, "al": al}, {"talk": truth})

    assert any(fault in each for each in found)
