"""What is done for real in `just bench web`, once each, to be copied thousands of times: plans
that went well, failed, were called off and wait for somebody, programs, drills, agents, debates and
calls that need a yes. All of it by REST, as anybody does it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx2

from benchmarks.web_far import CHOICES, VOICES, WORKER
from benchmarks.web_tools import ASKED, reads, server_names
from benchmarks.workflow_shapes import scattered
from portico.bench.clients import asked, let_in
from portico.kernel.ids import RunId

AGENT: Final = "clerk"
PROVIDER: Final = "bench"
STEPS: Final = 13
"""Of a plan as people make them."""
_LABELS: Final = ("public", "team", "team", "confidential")
_PATIENCE: Final = 600.0
_PROGRAM: Final = """
found = await {tool}(query="what is open")
names = [each["name"] for each in found["items"]]
names
"""

Json = Mapping[str, Any]
Like = Literal["run", "waiting", "debate"]
"""What is counted by itself: requests that wait for a person, and debates."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A run that is there once."""

    run: RunId
    share: int = 0
    """Of all runs, against the shares of the others, where no number of its like is asked for."""
    like: Like = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    copied: Sequence[Seed]
    long: RunId
    """With as many steps as were asked for; there is no other like it."""
    usual: RunId
    open: RunId
    """A drill that waits for an answer."""
    chat: RunId
    debate: str


@dataclass(frozen=True, slots=True)
class Town:
    """Whoever may do all, and an agent whose calls have to be allowed."""

    owner: httpx2.Client
    agent: httpx2.Client
    servers: Sequence[str]

    def furnish(self, far: str, progress: Callable[[str], None]) -> None:
        for number, name in enumerate(self.servers):
            progress(f"letting servers in: {number + 1} of {len(self.servers)}")
            let_in(self.owner, name, {"type": "http", "url": f"{far}/mcp/{name}"})
        rule = {"name": "ask-to-share", "decision": "ask", "tools": [f"*.{ASKED}_*"]}
        asked(self.owner, "POST", "/policy/rules", rule)
        first = self.servers[0]
        spec = {
            "name": AGENT,
            "description": "Looks after what is open.",
            "instructions": f"You look after {first}. Say what you find, in few words.",
            "model": f"{PROVIDER}:{WORKER}",
            "tools": reads(first),
        }
        asked(self.owner, "POST", "/agents", spec)

    def seeded(self, long: int, progress: Callable[[str], None]) -> Seeds:
        progress("running plans")
        plans = [
            self._ran(self._plan(STEPS, seed), label=label) for seed, label in enumerate(_LABELS)
        ]
        copied = [Seed(run, 12) for run in plans]
        copied += [Seed(self._ran(self._failing()), 5), Seed(self._called_off(), 3)]
        copied += [Seed(self._ran_program(), 8)]
        progress("running drills")
        drills = self._drills()
        copied += [Seed(run, share) for run, share in drills]
        progress("running an agent, and a debate")
        chats = [self._chat("What is open?"), self._chat("And what is new this week?")]
        copied += [Seed(run, 9) for run in chats]
        debates = [self._debate(label) for label in ("public", "team")]
        copied += [Seed(run, like="debate") for run, _ in debates]
        progress("asking for approval")
        copied += self._asking()
        progress(f"running a plan of {long:,} steps")
        return Seeds(
            copied=copied,
            long=self._ran(self._plan(long, 5)),
            usual=plans[1],
            open=drills[-1][0],
            chat=chats[0],
            debate=debates[0][1],
        )

    def _plan(self, steps: int, seed: int) -> Json:
        tools = [tool for name in self.servers for tool in reads(name)]
        return {
            "steps": [
                {
                    "id": name,
                    "tool": tools[(place * 7 + seed) % len(tools)],
                    "arguments": {
                        "query": {"$from": f"{needs[0]}.json.items[0].id"} if needs else "open ones"
                    },
                    **({"after": needs[1:]} if needs[1:] else {}),
                }
                for place, (name, needs) in enumerate(scattered(steps, seed).items())
            ]
        }

    def _failing(self) -> Json:
        plan = dict(self._plan(STEPS, 9))
        last = {**plan["steps"][-1], "arguments": {"query": {"$from": "s0.json.nothing[4]"}}}
        return {"steps": [*plan["steps"][:-1], last]}

    def _sharing(self, place: int) -> Json:
        """Two that read, and one that somebody has to allow."""
        server = self.servers[place % len(self.servers)]
        plan = self._plan(3, place)
        share = {
            "id": "share",
            "tool": f"{server}.{ASKED}_{server.replace('-', '_')}",
            "arguments": {"query": {"$from": "s0.json.items[1].id"}, "reason": "It was asked for."},
            "after": ["s2"],
        }
        return {"steps": [*plan["steps"], share]}

    def _start(self, client: httpx2.Client, plan: Json, label: str | None = None) -> RunId:
        begun = asked(client, "POST", "/workflows", {"plan": plan, "label": label})
        return RunId.parse(begun["run"])

    def _ran(self, plan: Json, label: str | None = None) -> RunId:
        run = self._start(self.owner, plan, label)
        self._until(f"/runs/{run}", lambda it: it["status"] in {"done", "failed"})
        return run

    def _ran_program(self) -> RunId:
        code = _PROGRAM.format(tool=reads(self.servers[0])[0].replace(".", "__"))
        begun = asked(self.owner, "POST", "/programs", {"code": code, "mode": "durable"})
        self._until(f"/runs/{begun['run']}", lambda it: it["status"] in {"done", "failed"})
        return RunId.parse(begun["run"])

    def _drills(self) -> Sequence[tuple[RunId, int]]:
        wishes = [
            ({"steps": 5}, 8),
            ({"steps": 4, "fail_at": 3}, 2),
            ({"steps": 2, "ask": True}, 1),
        ]
        runs = [
            (asked(self.owner, "POST", "/runs", {"kind": "drill", "input": given})["id"], share)
            for given, share in wishes
        ]
        for run, _ in runs:
            self._until(f"/runs/{run}", lambda it: it["status"] in {"done", "failed", "waiting"})
        return [(RunId.parse(run), share) for run, share in runs]

    def _called_off(self) -> RunId:
        run = self._start(self.owner, self._sharing(1))
        self._until(f"/runs/{run}", lambda it: it["status"] == "waiting")
        asked(self.owner, "POST", f"/workflows/{run}/cancel")
        self._until(f"/runs/{run}", lambda it: it["status"] == "cancelled")
        return run

    def _chat(self, message: str) -> RunId:
        run = asked(self.owner, "POST", f"/agents/{AGENT}/runs", {"message": message})["run"]
        self._until(f"/traces/{run}", lambda it: it["run"]["status"] == "completed")
        return RunId.parse(run)

    def _debate(self, label: str) -> tuple[RunId, str]:
        wish = {
            "question": "Which store fits what we do, and lasts?",
            "choices": CHOICES,
            "voices": [f"{PROVIDER}:{name}" for name in VOICES],
            "label": label,
            "thoroughness": 1.0,
            "preset": "debate",
        }
        debate = asked(self.owner, "POST", "/debates", wish)["id"]
        path = f"/debates/{debate}"
        ended = self._until(path, lambda it: it["debate"]["status"] != "running")["debate"]
        asked(self.owner, "POST", f"{path}/outcome", {"right": True})
        return RunId.parse(ended["run"]), debate

    def _asking(self) -> Sequence[Seed]:
        """Waiting, allowed and refused, in plans of an agent."""
        made = []
        for place, (answer, share) in enumerate([("once", 2), ("reject", 1), (None, 0), (None, 0)]):
            run = self._start(self.agent, self._sharing(place))
            self._until(f"/runs/{run}", lambda it: it["status"] == "waiting")
            if answer is not None:
                self._answer(run, answer)
            made.append(Seed(run, share, "waiting" if answer is None else "run"))
        return made

    def _answer(self, run: RunId, answer: str) -> None:
        [waiting] = asked(self.owner, "GET", "/approvals?status=waiting")["data"]
        asked(self.owner, "POST", f"/approvals/{waiting['id']}/answer", {"answer": answer})
        self._until(f"/runs/{run}", lambda it: it["status"] in {"done", "failed"})

    def _until(self, path: str, true: Callable[[Any], bool]) -> Any:  # noqa: ANN401 # JSON
        deadline = time.monotonic() + _PATIENCE
        while not true(found := asked(self.owner, "GET", path)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} is still {found.get('status')}")
            time.sleep(0.05)
        return found


def town(owner: httpx2.Client, agent: httpx2.Client, servers: int) -> Town:
    return Town(owner, agent, server_names(servers))
