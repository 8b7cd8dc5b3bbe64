"""What every record of outcomes keeps to: the newest counts; nobody learns from what is hidden."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.errors import WriteDown
from portico.debate.core.debate import Debate, DebateStatus
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.outcome import Ballot, Known
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, cleared_root, joined
from tests.contracts.debate_table import ANNA, BERT, a_debate, an_outcome, decided, said
from tests.contracts.doors import Doors

BOTH = [ANNA.target, BERT.target]
LATER = BEGINNING + timedelta(days=999)


async def held(
    doors: Doors,
    starter: Principal,
    name: str = "first",
    *,
    label: Label = TEAM,
    private: bool = True,
) -> Debate:
    """In which both voices have answered, and which is decided."""
    debate = a_debate(starter, name, label=label, private=private)
    await doors.debates.begin(starter, debate)
    await doors.debates.note(starter, debate.id, said(), label)
    await doors.debates.note(starter, debate.id, said(BERT, "22", confidence=None), label)
    return await doors.debates.end(
        starter, debate.id, DebateStatus.DECIDED, decided(), at=BEGINNING
    )


async def test_outcomes_of_a_debate_are_given_newest_first(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await held(doors, root)
    first = an_outcome(root, debate)
    second = replace(an_outcome(root, debate, right=None), note="it was wrong")

    for outcome in (first, second):
        await doors.outcomes.mark(root, outcome)

    assert await doors.outcomes.of(root, debate.id) == [second, first]


async def test_what_is_known_is_who_said_what_and_what_was_right(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await held(doors, root)
    await doors.outcomes.mark(root, an_outcome(root, debate, right="22"))
    await doors.outcomes.mark(root, an_outcome(root, debate))

    known = await doors.outcomes.known(root, [ANNA.target], limit=10, before=LATER)

    assert known == [
        Known(
            topic="network",
            ballots=(
                Ballot(voice=ANNA.target, key="80", confidence=0.5),
                Ballot(voice=BERT.target, key="22", confidence=None),
            ),
            right="80",
            choices=2,
            at=BEGINNING + timedelta(hours=1),
        )
    ]


async def test_the_newest_are_known_oldest_first(doors: Doors) -> None:
    root = await cleared_root(doors)
    for number in (3, 1, 2):
        debate = await held(doors, root, str(number))
        at = BEGINNING + timedelta(days=number)
        await doors.outcomes.mark(root, replace(an_outcome(root, debate), at=at))

    known = await doors.outcomes.known(root, BOTH, limit=2, before=LATER)

    assert [each.at for each in known] == [BEGINNING + timedelta(days=day) for day in (2, 3)]


async def test_only_debates_in_which_one_of_the_voices_took_part_are_known(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await held(doors, root)
    await doors.outcomes.mark(root, an_outcome(root, debate))
    await held(doors, root, "without an outcome")

    assert (
        len(await doors.outcomes.known(root, [BERT.target, "nobody"], limit=10, before=LATER)) == 1
    )
    assert await doors.outcomes.known(root, ["nobody"], limit=10, before=LATER) == []


async def test_nobody_learns_from_what_they_may_not_read(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)
    for name, label, private in (("a", FINANCE, False), ("b", TEAM, True), ("c", TEAM, False)):
        debate = await held(doors, root, name, label=label, private=private)
        at = BEGINNING + timedelta(days=ord(name))
        await doors.outcomes.mark(root, replace(an_outcome(root, debate), at=at))

    async def known(reader: Principal, clearance: Label) -> list[int]:
        looking = replace(reader, clearance=clearance)
        every = await doors.outcomes.known(looking, BOTH, limit=10, before=LATER)
        return [(each.at - BEGINNING).days for each in every]

    assert await known(root, SECRET) == [*map(ord, "abc")]
    assert await known(root, TEAM) == [*map(ord, "bc")]
    assert await known(other, SECRET) == [*map(ord, "ac")]
    assert await known(other, TEAM) == [*map(ord, "c")]


async def test_nobody_marks_what_they_may_not_read(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)
    debate = await held(doors, root)

    with pytest.raises(DebateNotFound):
        await doors.outcomes.mark(other, an_outcome(other, debate))

    assert await doors.outcomes.of(other, debate.id) == []


async def test_nobody_marks_below_what_their_task_has_read(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await held(doors, root)
    await doors.contexts.rise(root, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await doors.outcomes.mark(root, an_outcome(root, debate))


async def test_what_is_known_is_what_was_known_at_that_time(doors: Doors) -> None:
    """However many are marked afterwards, and whatever is marked anew."""
    root = await cleared_root(doors)
    for number in (1, 2, 3):
        debate = await held(doors, root, str(number))
        at = BEGINNING + timedelta(days=number)
        await doors.outcomes.mark(root, replace(an_outcome(root, debate), at=at))
        again = replace(an_outcome(root, debate, right="22"), at=at + timedelta(days=10))
        await doors.outcomes.mark(root, again)

    async def known(days: int) -> list[tuple[int, str | None]]:
        before = BEGINNING + timedelta(days=days)
        every = await doors.outcomes.known(root, BOTH, limit=2, before=before)
        return [((each.at - BEGINNING).days, each.right) for each in every]

    assert await known(0) == []
    assert await known(2) == [(1, "80"), (2, "80")]
    assert await known(11) == [(3, "80"), (11, "22")]
    assert await known(99) == [(12, "22"), (13, "22")]
