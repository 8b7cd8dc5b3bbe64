"""The process under measurement in `just bench agents`: it carries runs out, and nothing else.

It does what it is told, a line at a time, until there are no more: whole runs, the questions of a
run to the model without one, or its calls through the gateway without one.

    python -m benchmarks.agents_child NAME
"""

import asyncio
import json
import logging
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from benchmarks.agents_figures import Ended
from benchmarks.agents_house import AgentHouse, agent_house
from benchmarks.agents_scripts import Script
from benchmarks.agents_work import ALL

_SCRIPTS: Final = {script.name: script for script in ALL}

One = Callable[[Script, str], Awaitable[Any]]


async def attend() -> None:
    async with agent_house() as house:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await _done(house, json.loads(line))), flush=True)


async def _done(house: AgentHouse, asked: Mapping[str, Any]) -> dict[str, Any]:
    ways: Mapping[str, One] = {
        "runs": house.run,
        "asks": house.asks,
        "calls": house.calls,
        "idle": house.idle,
    }
    script, runs = _SCRIPTS[asked["script"]], list(asked["runs"])
    cpu, began = _cpu(), time.monotonic()
    came = await _all(ways[asked["way"]], script, runs, int(asked["at_once"]))
    return {
        "seconds": time.monotonic() - began,
        "cpu": _cpu() - cpu,
        "ended": [asdict(each) for each in came if isinstance(each, Ended)],
    }


async def _all(one: One, script: Script, runs: Sequence[str], at_once: int) -> list[Any]:
    turns = asyncio.Semaphore(at_once)

    async def taken(run: str) -> Any:  # noqa: ANN401 # what came of it, if anything is told
        async with turns:
            return await one(script, run)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(taken(run)) for run in runs]
    return [task.result() for task in tasks]


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    asyncio.run(attend())
