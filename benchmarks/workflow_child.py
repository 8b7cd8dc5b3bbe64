"""The processes under measurement in `just bench workflow`: each opens one way, and carries out
what it is told, a line at a time, until there are no more.

    python -m benchmarks.workflow_child ours|client|dbos
"""

import asyncio
import json
import logging
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final

from benchmarks.workflow_bare import bare_client, bare_dbos
from benchmarks.workflow_shapes import Shape
from portico.app.app_context import AppContext

SEED: Final = 7
SERVERS: Final[Mapping[str, tuple[str, ...]]] = {
    "seeded": (str(SEED),),
    "lean": (str(SEED), "lean"),
}
"""The tool servers by their names, and what each is started with."""

Way = Callable[[Shape, str], Awaitable[object]]
Ways = Mapping[str, Way]


@asynccontextmanager
async def ours() -> AsyncIterator[Ways]:
    from benchmarks.workflow_five import five_steps
    from benchmarks.workflow_house import plan_of, workflow_house
    from portico.workflows.core.plan_report import Mode

    async with workflow_house() as house:
        yield {
            "inline": lambda shape, server: house.plan(plan_of(shape, server), Mode.INLINE),
            "durable": lambda shape, server: house.plan(plan_of(shape, server), Mode.DURABLE),
            "calls": house.calls,
            "five": lambda shape, _: house.plan(five_steps(shape.name), Mode.DURABLE),
            "five inline": lambda shape, _: house.plan(five_steps(shape.name), Mode.INLINE),
        }


@asynccontextmanager
async def client() -> AsyncIterator[Ways]:
    async with AsyncExitStack() as open_ones:
        carries = {
            name: await open_ones.enter_async_context(bare_client(*arguments))
            for name, arguments in SERVERS.items()
        }
        yield {"client": lambda shape, server: carries[server](shape)}


@asynccontextmanager
async def dbos() -> AsyncIterator[Ways]:
    engine = str(AppContext().store.addresses.engine)
    async with bare_dbos(engine, *SERVERS["seeded"]) as carry:
        yield {"dbos": lambda shape, _: carry(shape)}


async def attend(opening: Callable[[], AbstractAsyncContextManager[Ways]]) -> None:
    async with opening() as ways:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            shape = Shape(asked["name"], asked["needs"], asked["nominal"], SEED)
            print(json.dumps(await _timed(ways[asked["way"]], shape, asked["server"])), flush=True)


async def _timed(way: Way, shape: Shape, server: str) -> dict[str, Any]:
    cpu, began = _cpu(), time.perf_counter()
    await way(shape, server)
    return {"seconds": time.perf_counter() - began, "cpu": _cpu() - cpu}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    asyncio.run(attend({"ours": ours, "client": client, "dbos": dbos}[sys.argv[1]]))
