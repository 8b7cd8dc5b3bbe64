"""Several questions at once: the first that is refused refuses all."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from portico.kernel.errors import PorticoError

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


async def together(
    first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B], third: Coroutine[Any, Any, C]
) -> tuple[A, B, C]:
    """Raises what one of them does, and then ends the others."""
    refusal: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(first)
            two = group.create_task(second)
            three = group.create_task(third)
    except* PorticoError as refused:
        refusal = refused.exceptions[0]
    if refusal is not None:
        raise refusal
    return one.result(), two.result(), three.result()
