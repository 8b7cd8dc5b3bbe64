"""A house in which plans are carried out by servers that may be killed: a front that only takes
them in, an outside that notes every call, and people who answer what they are asked."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import httpx2
import psycopg

from portico.adapters.postgres.embedded.server import EmbeddedStore, account_for
from portico.adapters.system.clock import system_entropy
from portico.engine.core.store import Source
from portico.kernel.ids import ApprovalId
from tests.installation import Installation, installation
from tests.real_servers.watching import eventually
from tests.servers import RUN_AS, free_port, wheel
from tests.storm.conductor import Conductor
from tests.storm.plan_tools import EFFECTS, ITEMS, calls
from tests.storm.plan_worker import PlanOrders, main

SETTINGS: Mapping[str, str] = {
    "PORTICO_LIMITS__CALLS_A_MINUTE": "0",
    "PORTICO_APPROVALS__MOST_WAITING": "100000",
    "PORTICO_LOG__LEVEL": "error",
}
OVER = frozenset({"done", "partial", "failed", "cancelled"})
_WAITING: LiteralString = "SELECT approval_id FROM portico.approval WHERE status = 'waiting'"
_UNCERTAIN_APPROVALS: LiteralString = """
    SELECT approval_id, arguments FROM portico.approval WHERE outcome = 'uncertain'
"""
_UNCERTAIN_STEPS: LiteralString = """
    SELECT topic, number, facts->>'step' FROM portico.event
     WHERE type = 'workflow.step_uncertain' ORDER BY at, number
"""


@dataclass(frozen=True)
class Front(Installation):
    """It takes runs in and carries none out."""

    works: bool = False

    @property
    def environment(self) -> Mapping[str, str]:
        own = {"PORTICO_ENGINE__WORK": "true" if self.works else "false", **SETTINGS}
        return {**Installation.environment.fget(self), **own}  # type: ignore[attr-defined] # it has

    @property
    def agent_key(self) -> str:
        return (self.home / "config" / "agent.key").read_text().strip()


@dataclass(slots=True)
class PlanHouse:
    front: Front
    pid: int
    """Of the front."""
    conductor: Conductor
    ledger: Path
    person: httpx2.AsyncClient
    agent: httpx2.AsyncClient
    owner: psycopg.AsyncConnection[Any]
    said: Counter[str] = field(default_factory=Counter)
    """What people were asked, and how they answered."""
    resolved: set[tuple[str, int]] = field(default_factory=set)
    plans: dict[str, str] = field(default_factory=dict)
    """The name of each by its run."""
    runs_at: str = "/workflows"
    """Where people say what became of a step of which nobody knows."""

    async def start(self, plan: Mapping[str, Any], name: str, **more: object) -> str:
        body = {"plan": plan, "inputs": {"plan": name}, **more}
        answer = await self.agent.post(
            "/workflows", json=body, headers={"Idempotency-Key": name.replace(" ", "-")}
        )
        assert answer.status_code in {200, 202}, answer.text
        run: str = answer.json()["run"]
        self.plans[run] = name
        return run

    async def report(self, run: str) -> dict[str, Any]:
        answer = await self.agent.get(f"/workflows/{run}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def over(self, run: str, patience: float = 60) -> dict[str, Any]:
        """What became of it, once it is over; meanwhile people answer."""
        deadline = time.monotonic() + patience
        while (found := await self.report(run))["status"] not in OVER:
            assert time.monotonic() < deadline, (found, self.logs())
            await self.answer()
            await asyncio.sleep(0.05)
        return found

    async def all_over(self, patience: float) -> float:
        """Seconds until no run of any kind is left that is not over."""
        began = time.monotonic()
        while left := await self._left():
            assert time.monotonic() - began < patience, (left, self.logs())
            await self.answer()
            await asyncio.sleep(0.1)
        return time.monotonic() - began

    async def _left(self) -> int:
        query = "SELECT count(*) FROM portico.run WHERE status IN ('queued', 'running', 'waiting')"
        found = await (await self.owner.execute(query)).fetchone()
        assert found is not None
        return int(found[0])

    async def answer(self) -> None:
        """As somebody does who looks outside before they say anything."""
        for (approval,) in await self._rows(_WAITING):
            sent = await self._post(f"/approvals/{ApprovalId(approval)}/answer", answer="once")
            self.said["approved"] += sent.status_code == 200
        for approval, arguments in await self._rows(_UNCERTAIN_APPROVALS):
            outcome = self._seen(arguments["plan"], arguments["step"])
            sent = await self._post(f"/approvals/{ApprovalId(approval)}/resolve", outcome=outcome)
            self.said[f"approval {outcome}"] += sent.status_code == 200
        for run, number, step in await self._rows(_UNCERTAIN_STEPS):
            if (run, number) not in self.resolved:
                outcome = self._seen(self.plans[run], _called(step))
                sent = await self._post(f"{self.runs_at}/{run}/resolve", step=step, outcome=outcome)
                self.said[f"step {outcome}" if sent.is_success else "not yet"] += 1
                if sent.is_success:
                    self.resolved.add((run, number))

    def _seen(self, plan: str, step: str) -> str:
        """What is found outside: it was done, or it has to be tried again."""
        made = any(each["plan"] == plan and each["step"] == step for each in calls(self.ledger))
        return "done" if made else "retry"

    async def _post(self, path: str, **body: object) -> httpx2.Response:
        return await self.person.post(path, json=body)

    async def _rows(self, query: LiteralString, *values: object) -> list[Any]:
        return await (await self.owner.execute(query, values)).fetchall()

    async def events(self, run: str) -> list[tuple[int, str]]:
        query: LiteralString = "SELECT number, type FROM portico.event WHERE topic = %s ORDER BY 1"
        return await self._rows(query, run)

    def logs(self) -> str:
        log: Path = self.conductor.orders.log
        return log.read_text()[-3000:] if log.exists() else ""


def _called(step: str) -> str:
    """How the outside knows it: `plant[1]` is `plant birch` there."""
    if (item := re.fullmatch(r"(.+)\[(\d+)\]", step)) is None:
        return step
    return f"{item[1]} {ITEMS[int(item[2])]}"


@asynccontextmanager
async def plan_house(
    *,
    works: bool = False,
    prepare: Callable[[Path], None] = lambda _: None,
    work: Callable[[Any], None] = main,
) -> AsyncIterator[PlanHouse]:
    """`works`: its front carries plans out itself, and there are no others. `prepare` is given its
    home before anything is started; `work` is what its workers do."""
    async with AsyncExitStack() as around:
        made = around.enter_context(installation())
        prepare(made.home)
        front = Front(made.home, made.port, works=works)
        folder = made.home.parent
        ledger = folder / "ledger"
        outside = around.enter_context(_outside(ledger))
        server = around.enter_context(front.serving())
        orders = PlanOrders(
            environment=front.environment,
            conductor=folder / "conductor",
            log=folder / "workers.log",
            settings={"PORTICO_ENGINE__WORK": "true"},
        )
        conductor = PlanConductor(orders, work)
        listening = await asyncio.start_unix_server(conductor.attend, orders.conductor)
        around.push_async_callback(_ended, conductor, listening)
        person, agent = [
            await around.enter_async_context(
                httpx2.AsyncClient(
                    base_url=f"{front.url}/api/v1",
                    headers={"Authorization": f"Bearer {key}"},
                    timeout=30,
                )
            )
            for key in (front.key, front.agent_key)
        ]
        owner = await psycopg.AsyncConnection.connect(owner_address(front), autocommit=True)
        around.push_async_callback(owner.close)
        await _let_in(person, outside)
        yield PlanHouse(front, server.pid, conductor, ledger, person, agent, owner)


def owner_address(house: Installation) -> str:
    data = house.home / "data"
    store = EmbeddedStore(
        data / "postgres",
        wheel(18),
        account_for(RUN_AS),
        source=Source.EMBEDDED,
        passwords_file=data / "secrets" / "postgres.json",
        entropy=system_entropy,
    )
    return store.owner_address


class PlanConductor(Conductor):
    """Each of its workers has a port of its own."""

    lines: int = 0
    """That are open to workers."""

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines += 1
        try:
            await super().attend(reader, writer)
        finally:
            self.lines -= 1

    def start(self, **changes: Any) -> int:
        port = {"PORTICO_SERVER__PORT": str(free_port())}
        return super().start(settings={**self.orders.settings, **port}, **changes)


async def _ended(conductor: PlanConductor, listening: asyncio.Server) -> None:
    conductor.restarts = False
    conductor.kill_all()
    listening.close()
    while conductor.lines:  # noqa: ASYNC110 # those who are dead say no more
        await asyncio.sleep(0.01)


@contextmanager
def _outside(ledger: Path) -> Iterator[str]:
    ledger.touch()
    port = free_port()
    command = [sys.executable, "-m", "tests.storm.plan_tools", str(port), str(ledger)]
    with subprocess.Popen(command) as process:
        try:
            eventually(lambda: _listens(port), 30)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def _let_in(person: httpx2.AsyncClient, url: str) -> None:
    """Whatever it does may be done, but what cannot be undone: that is asked for."""

    async def asked(method: str, path: str, body: object = None) -> Any:
        answer = await person.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    launch = {"type": "http", "url": url, "headers": {}}
    added = await asked("POST", "/servers", {"name": "outside", "launch": launch})
    pin = {"launch_pin": added["launch_pin"]}
    await asked("POST", "/servers/outside/approve-launch", pin)
    await asked("POST", "/servers/outside/restart")
    pin = (await asked("GET", "/servers/outside/review"))["pin"]
    await asked("POST", "/servers/outside/accept", {"pin": pin, "effects": EFFECTS})
    rule = {"name": "changes", "decision": "allow", "tools": ["outside.change"], "tainted": True}
    await asked("POST", "/policy/rules", rule)
