"""Tells of a run that goes on, in the words of runs, so many times a second: by the log itself, in
a process of its own, as whoever carries runs out.

    python -m benchmarks.web_writer RUN SECONDS RATE
"""

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.app_context import AppContext
from portico.app.use_cases import use_cases
from portico.engine.core.event_log import NewEntry
from portico.engine.runs import ALL_RUNS
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_EVERY: Final = 5
"""One of so many is told in the topic of all runs."""


async def written(run: str, seconds: int, rate: int) -> dict[str, Any]:
    ground = AppContext()
    address = ground.store.addresses.app
    bus, told = PostgresBus(address, system_entropy), defaultdict[str, list[int]](list)
    key = await asyncio.to_thread(ground.loaded.paths.key_file.read_text)
    async with open_pool(address, 4) as pool, asyncio.TaskGroup() as background:
        transactions = Transactions(pool)
        caller = (await use_cases(ground, transactions).authenticate(key.strip())).principal
        log = PostgresEventLog(transactions, bus, SystemClock(), system_entropy)
        speaking = background.create_task(bus.run())
        began, late = time.monotonic(), list[float]()
        for number in range(seconds * rate):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            late.append(time.monotonic() - due)
            topic = ALL_RUNS if number % _EVERY == 0 else run
            await log.append(caller, _entry(caller, topic, run, number))
            told[topic].append(number)
        took = time.monotonic() - began
        await asyncio.sleep(0.5)  # lets the last of it be said
        speaking.cancel()
    return {"written": told, "seconds": took, "late_max": max(late, default=0.0)}


def _entry(caller: Principal, topic: str, run: str, number: int) -> Sequence[NewEntry]:
    """As a step that was done tells of itself; when it was written stands in it."""
    facts: JsonObject = {
        "run": run,
        "kind": "drill",
        "step": f"step-{number}",
        "seconds": 0.021,
        "n": number,
        "sent": time.monotonic(),
    }
    label = caller.clearance.__class__.parse("team")
    kind = "run.woken" if topic == ALL_RUNS else "step.done"
    return [NewEntry(topic=topic, type=kind, details=facts, label=label)]


if __name__ == "__main__":
    _, wanted, lasts, often = sys.argv
    print(json.dumps(asyncio.run(written(wanted, int(lasts), int(often)))), flush=True)
