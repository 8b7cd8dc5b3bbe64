"""Whatever voices do: no cap is ever passed, no debate goes on past its deadline, each one ends."""

import os
from collections import Counter
from datetime import timedelta

import pytest

from portico.debate.core.debate import Debate, WholeDebate
from portico.debate.core.note import NoteKind
from portico.kernel.budget import Cost
from tests.debate.fuzzed import Chance
from tests.debate.room import ANA
from tests.debate.virtual_time import in_no_time

PROOF = bool(os.environ.get("PORTICO_PROOF"))
MANY = 10_000 if PROOF else 150
_A_MOMENT = timedelta(seconds=2)
"""In which an end is written down, and a process that was just put away is taken up again."""


def within(cost: Cost, debate: Debate) -> bool:
    cap = debate.cap
    return (cap.tokens is None or cost.tokens <= cap.tokens) and (
        cap.money is None or cost.money <= cap.money
    )


def overrun(*wholes: WholeDebate) -> bool:
    """Only by a voice that cannot be held to a maximum, where that was allowed, and it is shown."""
    wild = []
    for whole in wholes:
        free = {voice.name for voice in whole.debate.voices if not voice.bounded}
        assert not free or whole.debate.unbounded
        assert all(note.voice in free for note in whole.notes if note.overrun)
        wild += [note for note in whole.notes if note.voice in free]
    return any(note.overrun or note.cost.money for note in wild)


async def one(seed: int) -> str:
    chance = Chance(seed)
    ended = await chance.held()
    if ended is None:
        return "refused"
    debate, taken_up = ended
    whole = await chance.room.whole(debate.id)
    notes = whole.notes
    assert debate.status.over, seed
    assert debate.ended_at is not None, seed
    assert debate.ended_at <= max(debate.deadline, taken_up) + _A_MOMENT, seed
    assert [note.kind for note in notes].count(NoteKind.DECISION) == 1, seed
    parts = [await chance.room.whole(p.id) for p in await chance.room.look.parts(ANA, debate.id)]
    for each in (whole, *parts):
        its = each.debate
        worst = chance.worst.get(its.id, Cost())
        assert within(worst, its) or overrun(whole, *parts), (seed, its.id, worst, its.cap)
        assert its.status.over, (seed, its.id)
    assert await chance.room.purse.committed(ANA, debate.id) == debate.spent, seed
    return str(debate.status)


@pytest.mark.timeout(3_600 if PROOF else 60)
def test_no_debate_passes_its_cap_or_its_deadline_whatever_voices_do() -> None:
    came_to = Counter(in_no_time(one(seed)) for seed in range(MANY))

    assert came_to.total() == MANY
    assert came_to["decided"] > MANY / 20
    assert came_to["no_decision"] > MANY / 20
    assert came_to["refused"] > 0
