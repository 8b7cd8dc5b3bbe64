"""The same graphs on less: the official client alone, and DBOS steps that call it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from benchmarks.workflow_shapes import Shape
from benchmarks.workflow_tools import PROGRAM
from portico.adapters.dbos.system import configuration

_POOL: Final = 8

Carry = Callable[[Shape], Awaitable[object]]
"""Carries a graph out, and is over when its last step is."""
Done = Callable[[str], Awaitable[object]]


async def walked(shape: Shape, one: Done) -> None:
    """Each step as soon as what it needs is there."""
    over = {name: asyncio.Event() for name in shape.needs}

    async def step(name: str) -> None:
        for needed in shape.needs[name]:
            await over[needed].wait()
        await one(name)
        over[name].set()

    async with asyncio.TaskGroup() as group:
        for name in shape.needs:
            group.create_task(step(name))


@asynccontextmanager
async def bare_client(*arguments: str) -> AsyncIterator[Carry]:
    async with _client(arguments) as client:

        async def carry(shape: Shape) -> None:
            await walked(shape, lambda name: _called(client, shape, name))

        yield carry


@asynccontextmanager
async def bare_dbos(engine: str, *arguments: str) -> AsyncIterator[Carry]:
    """Its steps begin as they can, which is the quickest there is: after a crash DBOS could not
    tell them apart if they came in another order."""
    from dbos import DBOS

    shapes: dict[str, Shape] = {}
    async with _client(arguments) as client:

        async def graph(which: str) -> None:
            shape = shapes[which]

            async def one(name: str) -> None:
                async def call() -> str:
                    return await _called(client, shape, name)

                await DBOS.run_step_async({"name": name}, call)

            await walked(shape, one)

        DBOS(config=configuration(engine, f"bare-{time.time_ns()}", _POOL))
        workflow = DBOS.workflow(name="graph")(graph)
        DBOS.listen_queues(
            []
        )  # ours are in the same database: it would take runs and not know them
        DBOS.launch()

        async def carry(shape: Shape) -> None:
            shapes[str(shape)] = shape
            handle = await DBOS.start_workflow_async(workflow, str(shape))
            await handle.get_result(polling_interval_sec=0.02)

        try:
            yield carry
        finally:
            DBOS.destroy()


@asynccontextmanager
async def _client(arguments: Sequence[str]) -> AsyncIterator[Any]:
    from mcp import Client, StdioServerParameters

    async with Client(
        StdioServerParameters(command=PROGRAM[0], args=[*PROGRAM[1:], *arguments])
    ) as it:
        yield it


async def _called(client: Any, shape: Shape, name: str) -> str:  # noqa: ANN401 # the official client, loaded late
    given = {"step": name, "seconds": shape.nominal, "given": list(shape.needs[name])}
    result = await client.call_tool("look", given)
    text: str = result.content[0].text
    return text
