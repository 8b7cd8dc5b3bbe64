"""Who can have a piece of work."""

from dataclasses import replace
from uuid import UUID

import pytest

from portico.bridge.core.errors import WorkOver, WorkTaken
from portico.bridge.core.project import ProjectId
from portico.bridge.core.task import (
    Work,
    WorkEnded,
    WorkId,
    WorkState,
    claimed,
    handed_over,
    over,
)
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.testing.kernel import BEGINNING, SeededEntropy

ANA, BOB = PrincipalId(UUID(int=1)), PrincipalId(UUID(int=2))
WORK = Work(
    id=WorkId.mint(BEGINNING, SeededEntropy("work")),
    project=ProjectId.mint(BEGINNING, SeededEntropy("project")),
    title="Tidy up",
    label=PUBLIC,
    made_by=ANA,
    made_at=BEGINNING,
    changed_at=BEGINNING,
)


def test_what_somebody_has_who_is_gone_can_be_had_again() -> None:
    hers = claimed(WORK, ANA, BEGINNING)

    his = claimed(replace(hers, claimed_by=None), BOB, BEGINNING)

    assert (his.state, his.claimed_by, his.token) == (WorkState.CLAIMED, BOB, hers.token + 1)
    with pytest.raises(WorkTaken):
        claimed(hers, BOB, BEGINNING)


def test_who_has_it_already_is_told_so() -> None:
    with pytest.raises(WorkTaken, match="You have claimed") as refused:
        claimed(claimed(WORK, ANA, BEGINNING), ANA, BEGINNING)

    assert refused.value.title == "You have it already"


def test_it_is_handed_to_somebody_or_left_to_whoever_comes() -> None:
    hers = claimed(WORK, ANA, BEGINNING)

    his = handed_over(hers, ANA, hers.token, BOB, BEGINNING)
    free = handed_over(hers, ANA, hers.token, None, BEGINNING)

    assert (his.state, his.claimed_by, his.token) == (WorkState.CLAIMED, BOB, hers.token + 1)
    assert (free.state, free.claimed_by, free.token) == (WorkState.OPEN, None, hers.token)


def test_it_ends_once_and_the_same_end_again_changes_nothing() -> None:
    hers = claimed(WORK, ANA, BEGINNING)
    done = WorkEnded(work=WORK.id, token=hers.token, state=WorkState.DONE, outcome="Tidy.")

    ended = over(hers, done, ANA, BEGINNING, untrusted=True)

    assert (ended.state, ended.outcome, ended.untrusted) == (WorkState.DONE, "Tidy.", True)
    assert over(ended, done, ANA, BEGINNING, untrusted=False) is ended
    with pytest.raises(WorkOver):
        over(ended, replace(done, outcome="Not so."), ANA, BEGINNING, untrusted=False)
    with pytest.raises(WorkTaken):
        over(hers, done, BOB, BEGINNING, untrusted=False)
