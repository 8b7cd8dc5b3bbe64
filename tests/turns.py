"""What happens by itself in an event loop, counted in its turns and not in time."""

import asyncio


async def settled(turns: int = 100) -> None:
    """Whoever can go on has done so: in memory nothing waits but for others."""
    for _ in range(turns):
        await asyncio.sleep(0)
