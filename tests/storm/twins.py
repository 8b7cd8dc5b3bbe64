"""One of two houses whose low reader lives the same life, and which differ in what is above."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from portico.kernel.errors import PorticoError
from tests.storm.deck import dealt, name_of
from tests.storm.leak_oracle import Transcript, refusal

Step = Callable[[Any], Awaitable[object]]
Hidden = Callable[[Any, Random], Awaitable[None]]


@dataclass(kw_only=True)
class Twin:
    low_life: Random
    """The same in both."""
    hidden_life: Random | None
    """None: nothing is hidden."""
    transcript: Transcript = field(default_factory=Transcript)
    steps: Counter[str] = field(default_factory=Counter)
    """What the low reader has done."""
    did: Counter[str] = field(default_factory=Counter)
    """How often something of each kind was done above."""

    async def listen(self) -> None:
        """Until it is cancelled."""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        heard = asyncio.create_task(self.listen())
        try:
            yield
        finally:
            heard.cancel()
            await asyncio.wait([heard])

    async def live(
        self, steps: int, low: Sequence[Step], hidden: Sequence[Hidden], at_most: int
    ) -> None:
        """What the low reader is told is written down; before each step less than `at_most` things
        are done above."""
        every = dealt(low, self.low_life)
        for number in range(steps):
            await self._hide(hidden, at_most)
            step = next(every)
            self.steps[name_of(step)] += 1
            try:
                told = await step(self)
            except PorticoError as error:
                told = refusal(error)
            self.transcript.note(f"{number} {name_of(step)}", told)

    def hides(self, hidden: Sequence[Hidden], random: Random) -> Hidden:
        return random.choice(hidden)

    async def _hide(self, hidden: Sequence[Hidden], at_most: int) -> None:
        if (random := self.hidden_life) is None:
            return
        for _ in range(random.randrange(at_most)):
            step = self.hides(hidden, random)
            try:
                await step(self, random)
            except PorticoError:
                continue  # a name that is taken above, say
            self.did[name_of(step)] += 1
