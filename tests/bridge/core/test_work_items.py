"""Who can have a piece of work, how many leases one can have, and names with stars."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.errors import TooManyLeases, WorkOver, WorkTaken
from portico.bridge.core.leases import (
    MOST_OF_ONE,
    Lease,
    LeaseId,
    LeaseSpec,
    Waiting,
    check_number,
    holds,
    overlap,
)
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import (
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
    claimed,
    handed_over,
    over,
)
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.bridge.core.names import stands_for

ANA, BOB = PrincipalId(UUID(int=1)), PrincipalId(UUID(int=2))
WORK = WorkItem(
    id=WorkItemId.mint(BEGINNING, SeededEntropy("work")),
    project=ProjectId.mint(BEGINNING, SeededEntropy("project")),
    title="Tidy up",
    label=PUBLIC,
    made_by=ANA,
    made_at=BEGINNING,
    changed_at=BEGINNING,
)


def test_what_somebody_has_is_told_and_can_be_had_again_when_they_are_gone() -> None:
    hers = claimed(WORK, ANA, BEGINNING)

    his = claimed(replace(hers, claimed_by=None), BOB, BEGINNING)

    assert (his.state, his.claimed_by, his.token) == (WorkItemStatus.CLAIMED, BOB, hers.token + 1)
    with pytest.raises(WorkTaken):
        claimed(hers, BOB, BEGINNING)

    with pytest.raises(WorkTaken, match="You have claimed") as refused:
        claimed(claimed(WORK, ANA, BEGINNING), ANA, BEGINNING)

    assert refused.value.title == "You have it already"


def test_it_is_handed_to_somebody_or_left_to_whoever_comes() -> None:
    hers = claimed(WORK, ANA, BEGINNING)

    his = handed_over(hers, ANA, hers.token, BOB, BEGINNING)
    free = handed_over(hers, ANA, hers.token, None, BEGINNING)

    assert (his.state, his.claimed_by, his.token) == (WorkItemStatus.CLAIMED, BOB, hers.token + 1)
    assert (free.state, free.claimed_by, free.token) == (WorkItemStatus.OPEN, None, hers.token)


def test_it_ends_once_and_the_same_end_again_changes_nothing() -> None:
    hers = claimed(WORK, ANA, BEGINNING)
    done = WorkEnded(work=WORK.id, token=hers.token, state=WorkItemStatus.DONE, outcome="Tidy.")

    ended = over(hers, done, ANA, BEGINNING, untrusted=True)

    assert (ended.state, ended.outcome, ended.untrusted) == (WorkItemStatus.DONE, "Tidy.", True)
    assert over(ended, done, ANA, BEGINNING, untrusted=False) is ended
    with pytest.raises(WorkOver):
        over(ended, replace(done, outcome="Not so."), ANA, BEGINNING, untrusted=False)
    with pytest.raises(WorkTaken):
        over(hers, done, BOB, BEGINNING, untrusted=False)


PROJECT = ProjectId.mint(BEGINNING, SeededEntropy("project"))
LATER = BEGINNING + timedelta(minutes=1)
LEASE = Lease(
    id=LeaseId.mint(BEGINNING, SeededEntropy("lease")),
    project=PROJECT,
    resource="a",
    holder=ANA,
    holder_name="ana",
    token=1,
    taken_at=BEGINNING,
    expires_at=LATER,
)


def test_what_one_has_and_what_one_waits_for_is_counted_together() -> None:
    wish = LeaseSpec(project=PROJECT, resource="last")
    held = [replace(LEASE, resource=f"r{number}") for number in range(MOST_OF_ONE - 1)]
    waiting = Waiting(principal=ANA, name="ana", resource="other", since=BEGINNING, until=LATER)

    check_number(wish, ANA, held=held, queue=[replace(waiting, resource="last")])
    check_number(wish, BOB, held=held, queue=[waiting])
    with pytest.raises(TooManyLeases, match=str(MOST_OF_ONE)):
        check_number(wish, ANA, held=held, queue=[waiting])


PATTERNS = st.text("ab/*", max_size=6)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "src/b.py", False),
        ("src/**", "src/deep/a.py", True),
        ("src/*", "src/deep/a.py", False),
        ("src/*", "src/", True),
        ("*.py", "a*", True),
        ("**/test_*", "tests/core/*.py", True),
        ("src", "src/**", False),
        ("branch:main", "branch:*", True),
        ("a*/b", "*a/c", False),
        ("***", "x/y", True),
        ("", "**", True),
        ("", "a", False),
    ],
)
def test_two_patterns_have_a_name_in_common_or_none(one: str, other: str, common: bool) -> None:
    assert overlap(one, other) is common
    assert overlap(other, one) is common


@given(PATTERNS, PATTERNS)
def test_they_overlap_just_if_there_is_a_name_that_both_stand_for(one: str, other: str) -> None:
    # A shortest common name has at most as many letters as both patterns have together, and stars
    # need none: five letters are enough for what is not longer than that without its stars.
    letters = len(one.replace("*", "")) + len(other.replace("*", ""))

    common = stands_for(one) & stands_for(other)

    if common or letters <= 5:
        assert overlap(one, other) is bool(common)
    assert overlap(one, other) is overlap(other, one)


@given(PATTERNS, PATTERNS)
def test_what_a_pattern_holds_is_all_in_it(pattern: str, resource: str) -> None:
    if holds(pattern, resource):
        assert stands_for(resource) <= stands_for(pattern)


@given(PATTERNS, st.text("ab/", max_size=5))
def test_a_name_without_stars_is_held_by_all_that_stand_for_it(pattern: str, name: str) -> None:
    assert holds(pattern, name) is (name in stands_for(pattern))
    assert holds(pattern, name) is overlap(pattern, name)


@given(PATTERNS)
def test_a_pattern_holds_itself_and_everything_holds_it(pattern: str) -> None:
    assert holds(pattern, pattern)
    assert holds("**", pattern)


def test_many_stars_of_a_stranger_take_no_time() -> None:
    mean, meaner = "*a" * 150, "*b" * 149 + "*"

    assert overlap(mean, meaner + "a")
    assert not overlap(mean, meaner + "b")
