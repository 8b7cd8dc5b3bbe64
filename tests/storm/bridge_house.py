"""Servers on one database, agents in processes of their own, and a storm over all of them."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.installation import Installation
from tests.servers import free_port
from tests.storm.bridge_client import Orders, facts
from tests.storm.bridge_oracle import Journals, Stored, Truth
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
