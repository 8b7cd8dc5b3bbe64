"""Two servers whose low reader lives the same life over REST, and which differ in what is above."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from tests.installation import Installation
from tests.storm import bridge_hidden_life_over_rest as hidden
from tests.storm import bridge_low_life_over_rest as low
from tests.storm.bridge_rest_twin import RestTwin, rest_twin
from tests.storm.bridge_twins import Life
from tests.storm.deck import dealt
from tests.storm.named import name_of

LOW_STEPS: Sequence[Callable[[RestTwin], Awaitable[object]]] = (
    *[low.woken] * 3,
    *[low.marks_read] * 3,
    *[low.page_on] * 2,
    *[low.inbox] * 2,
    *[low.lists] * 2,
    low.page_over_some,
    low.back,
    low.tail,
    low.found,
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
HIDDEN_STEPS: Sequence[Callable[[RestTwin, Random], Awaitable[None]]] = (
    *[hidden.hidden_message] * 3,
    hidden.hidden_project,
    hidden.hidden_talk,
    hidden.hidden_things,
    hidden.hidden_change,
    hidden.closed_talk,
)


async def lived_over_rest(
    house: Installation, steps: int, low_life: Random, above: Random | None
) -> Life:
    """`low_life` is the same at both; without `above` nothing is hidden."""
    done: Counter[str] = Counter()
    async with rest_twin(house, low_life, above) as twin:
        await twin.move_in()
        every = dealt(LOW_STEPS, low_life)
        heard = asyncio.create_task(twin.listen())
        try:
            for number in range(steps):
                await _hide(twin)
                step = next(every)
                done[name_of(step)] += 1
                twin.transcript.note(f"{number} {name_of(step)}", await step(twin))
            await twin.say(twin.talks[0])
            twin.transcript.note("news", twin.news)
        finally:
            heard.cancel()
            await asyncio.wait([heard])
        unread = await low.inbox(twin)
        await twin.let_in()
        more = await low.inbox(twin) != unread
    return Life(twin.transcript, twin.did, done, more_for_others=more)


async def _hide(twin: RestTwin) -> None:
    if (random := twin.hidden_life) is None:
        return
    for _ in range(random.randrange(3)):
        step = random.choice(HIDDEN_STEPS)
        await step(twin, random)
        twin.did[name_of(step)] += 1
