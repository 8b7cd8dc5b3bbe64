"""What stays in memory of very many calls that are all different."""

import gc
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import process_time
from typing import Final

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC
from portico.learning.core.observation import LabelModel
from portico.learning.core.observed_calls import ObservedCall, seen_call
from portico.learning.core.prefetch_predictor import ContextHistory

_SERVERS: Final = 200
_TOOLS: Final = 40
"""Of each server: all transitions between so many tools would never fit anywhere."""
_SESSION: Final = 8
_FORETOLD: Final = 4
"""Of each session once, so that records fill up too."""
_BEGAN: Final = datetime(2026, 1, 5, tzinfo=UTC)


def flood(observations: int) -> JsonObject:
    """In a process of its own: what it takes at the beginning, and how much more at the end."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(flooded, observations).result()


def flooded(observations: int) -> JsonObject:
    layer, began = LabelModel(PUBLIC), process_time()
    gc.collect()
    before = _resident()
    sizes = {}
    for number, session in enumerate(_sessions(observations)):
        course = ContextHistory()
        for place, call in enumerate(session):
            if place == _FORETOLD:
                course.ahead([layer], _any)
            course.saw(call, layer)
        course.end(layer)
        if number % max(1, observations // _SESSION // 4) == 0:
            sizes[str(number * _SESSION)] = round(_resident() - before, 1)
    gc.collect()
    return {
        "observations": observations,
        "grown_mb": round(_resident() - before, 1),
        "counters": layer.size,
        "on_the_way_mb": sizes,
        "cpu_ms_an_observation": round((process_time() - began) / observations * 1000, 3),
    }


def _any(_place: ToolPlace) -> bool:
    return True


def _sessions(observations: int) -> Iterator[list[ObservedCall]]:
    chance = Random(1)  # noqa: S311 # load
    servers = [ServerId.of_digest(str(number).encode()) for number in range(_SERVERS)]
    now = _BEGAN
    for _ in range(observations // _SESSION):
        now += timedelta(hours=1)
        yield [_call(chance, servers, now) for _ in range(_SESSION)]


def _call(chance: Random, servers: list[ServerId], now: datetime) -> ObservedCall:
    tool = ToolPlace(chance.choice(servers), f"tool_{chance.randrange(_TOOLS)}")
    word = f"{chance.getrandbits(48):012x}"
    arguments: JsonObject = {f"name_{chance.randrange(50)}": word, "limit": chance.randrange(100)}
    found: JsonObject = {
        f"field_{chance.randrange(500)}": word,
        "next": f"{chance.getrandbits(48):012x}",
    }
    answer = ToolResult([{"type": "text", "text": str(found)}], found)
    return seen_call(tool, arguments, answer, ended=now, reads=chance.random() < 0.8)  # most are


def _resident() -> float:
    """Megabytes, now; where the system does not tell, the most so far."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return _most()
    return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6


def _most() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
