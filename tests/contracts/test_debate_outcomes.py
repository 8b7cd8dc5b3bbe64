"""What every record of outcomes keeps to: the newest counts; nobody learns from what is hidden."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.errors import WriteDown
from portico.debate.core.debates import Ballot, Debate, DebateStatus, KnownOutcome
from portico.debate.core.errors import DebateNotFound
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING
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
    await doors.debates.add(starter, debate)
    await doors.debates.note(starter, debate.id, said(), label)
    await doors.debates.note(starter, debate.id, said(BERT, "22", confidence=None), label)
    return await doors.debates.end(
        starter, debate.id, DebateStatus.DECIDED, decided(), at=BEGINNING
    )


async def test_outcomes_of_a_debate_are_given_newest_first(doors: Doors, admin: Principal) -> None:
    debate = await held(doors, admin)
    first = an_outcome(admin, debate)
    second = replace(an_outcome(admin, debate, right=None), note="it was wrong")

    for outcome in (first, second):
        await doors.outcomes.mark(admin, outcome)

    assert await doors.outcomes.of(admin, debate.id) == [second, first]


async def test_what_is_known_is_who_said_what_and_what_was_right(doors: Doors) -> None:
    admin = await cleared_root(doors)
    debate = await held(doors, admin)
    await doors.outcomes.mark(admin, an_outcome(admin, debate, right="22"))
    await doors.outcomes.mark(admin, an_outcome(admin, debate))

    known = await doors.outcomes.known(admin, [ANNA.target], limit=10, before=LATER)

    assert known == [
        KnownOutcome(
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


async def test_the_newest_are_known_oldest_first(doors: Doors, admin: Principal) -> None:
    for number in (3, 1, 2):
        debate = await held(doors, admin, str(number))
        at = BEGINNING + timedelta(days=number)
        await doors.outcomes.mark(admin, replace(an_outcome(admin, debate), at=at))

    known = await doors.outcomes.known(admin, BOTH, limit=2, before=LATER)

    assert [each.at for each in known] == [BEGINNING + timedelta(days=day) for day in (2, 3)]


async def test_only_debates_in_which_one_of_the_voices_took_part_are_known(doors: Doors) -> None:
    admin = await cleared_root(doors)
    debate = await held(doors, admin)
    await doors.outcomes.mark(admin, an_outcome(admin, debate))
    await held(doors, admin, "without an outcome")

    assert (
        len(await doors.outcomes.known(admin, [BERT.target, "nobody"], limit=10, before=LATER)) == 1
    )
    assert await doors.outcomes.known(admin, ["nobody"], limit=10, before=LATER) == []


async def test_nobody_learns_from_what_they_may_not_read(doors: Doors, admin: Principal) -> None:
    other = await joined(doors, admin, "other", SECRET)
    for name, label, private in (("a", FINANCE, False), ("b", TEAM, True), ("c", TEAM, False)):
        debate = await held(doors, admin, name, label=label, private=private)
        at = BEGINNING + timedelta(days=ord(name))
        await doors.outcomes.mark(admin, replace(an_outcome(admin, debate), at=at))

    async def known(reader: Principal, clearance: Label) -> list[int]:
        looking = replace(reader, clearance=clearance)
        every = await doors.outcomes.known(looking, BOTH, limit=10, before=LATER)
        return [(each.at - BEGINNING).days for each in every]

    assert await known(admin, SECRET) == [*map(ord, "abc")]
    assert await known(admin, TEAM) == [*map(ord, "bc")]
    assert await known(other, SECRET) == [*map(ord, "ac")]
    assert await known(other, TEAM) == [*map(ord, "c")]


async def test_nobody_marks_what_they_may_not_read_or_below_what_they_have_read(
    doors: Doors, admin: Principal
) -> None:
    other = await joined(doors, admin, "other", SECRET)
    debate = await held(doors, admin)

    with pytest.raises(DebateNotFound):
        await doors.outcomes.mark(other, an_outcome(other, debate))
    await doors.contexts.raise_taint(admin, FINANCE, untrusted=False)
    with pytest.raises(WriteDown):
        await doors.outcomes.mark(admin, an_outcome(admin, debate))

    for who in (admin, other):
        assert await doors.outcomes.of(who, debate.id) == []


async def test_what_is_known_is_what_was_known_at_that_time(doors: Doors, admin: Principal) -> None:
    """However many are marked afterwards, and whatever is marked anew."""
    for number in (1, 2, 3):
        debate = await held(doors, admin, str(number))
        at = BEGINNING + timedelta(days=number)
        await doors.outcomes.mark(admin, replace(an_outcome(admin, debate), at=at))
        again = replace(an_outcome(admin, debate, right="22"), at=at + timedelta(days=10))
        await doors.outcomes.mark(admin, again)

    async def known(days: int) -> list[tuple[int, str | None]]:
        before = BEGINNING + timedelta(days=days)
        every = await doors.outcomes.known(admin, BOTH, limit=2, before=before)
        return [((each.at - BEGINNING).days, each.right) for each in every]

    assert await known(0) == []
    assert await known(2) == [(1, "80"), (2, "80")]
    assert await known(11) == [(3, "80"), (11, "22")]
    assert await known(99) == [(12, "22"), (13, "22")]
