"""Two houses whose low reader lives the same life, and which differ in what is above them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from portico.kernel.errors import PorticoError
from tests.storm import bridge_hidden_life as hidden
from tests.storm import bridge_low_life as low
from tests.storm.bridge_told import refusal
from tests.storm.bridge_transcript import Transcript
from tests.storm.bridge_twin import Twin
from tests.storm.deck import dealt
from tests.storm.named import name_of
from tests.storm.walled_house import WalledHouse

LOW_STEPS: Sequence[Callable[[Twin], Awaitable[object]]] = (
    *[low.woken] * 3,
    *[low.marks_read] * 3,
    *[low.page_on] * 2,
    *[low.inbox] * 2,
    *[low.lists] * 2,
    low.back,
    low.tail,
    low.found,
    low.meant,
    low.remembers,
    low.recalls,
    low.takes_lease,
    low.works,
    low.names_project,
    low.attaches,
    low.sends_once,
    low.thread,
    low.acknowledges,
    low.presence,
    low.takes_out,
    low.participants,
    low.whoami,
    low.wrong,
)
HIDDEN_STEPS: Sequence[Callable[[Twin, Random], Awaitable[None]]] = (
    *[hidden.hidden_message] * 3,
    hidden.hidden_project,
    hidden.hidden_talk,
    hidden.hidden_things,
    hidden.hidden_change,
    hidden.closed_talk,
)


@dataclass(frozen=True)
class Life:
    """What the low reader was told, and how much was done that they do not know of."""

    transcript: Transcript
    hidden: Counter[str]
    steps: Counter[str]
    more_for_others: bool = False
    """Whether whoever may see all of it is told something else."""


async def lived(house: WalledHouse, steps: int, low_life: Random, above: Random | None) -> Life:
    """`low_life` is the same in both; without `above` nothing is hidden."""
    twin = Twin(house, low_life, above)
    await twin.move_in()
    every = dealt(LOW_STEPS, low_life)
    done: Counter[str] = Counter()
    heard = asyncio.create_task(twin.listen())
    try:
        for number in range(steps):
            await _hide(twin)
            step = next(every)
            done[name_of(step)] += 1
            twin.transcript.note(f"{number} {name_of(step)}", await _told(step, twin))
        await twin.say(twin.talks[0])
        twin.transcript.note("news", twin.news)
    finally:
        heard.cancel()
        await asyncio.wait([heard])
    return Life(twin.transcript, twin.did, done)


async def _told(step: Callable[[Twin], Awaitable[object]], twin: Twin) -> object:
    try:
        return await step(twin)
    except PorticoError as error:
        return refusal(error)


async def _hide(twin: Twin) -> None:
    if (random := twin.hidden_life) is None:
        return
    for _ in range(random.randrange(4)):
        step = random.choice(HIDDEN_STEPS)
        with suppress(PorticoError):  # a name that is taken above, say
            await step(twin, random)
            twin.did[name_of(step)] += 1
