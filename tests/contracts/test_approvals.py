"""What every store of requests holds to, in memory and in PostgreSQL."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.core.approval import AnswerKind, Approval, Outcome, Status, Waiter, answered
from portico.guard.core.authentication import as_principal
from portico.guard.core.danger import Danger, Mark
from portico.guard.core.errors import ApprovalNotFound
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors
from tests.guard.approvals import HOUR, an_act, an_answer, an_approval, approved

LATER = BEGINNING + HOUR
RESTRICTED = Label(Level.RESTRICTED)


async def asked(doors: Doors, **changes: Any) -> tuple[Principal, Principal, Approval]:
    """An admin, somebody who asks, and what they ask for."""
    root = await doors.founded("here")
    mia = as_principal(await doors.joined(root, "mia"))
    approval = an_approval(mia, **changes)
    await doors.approvals.add(mia, approval, b"sealed")
    return root, mia, approval


async def test_what_was_asked_comes_back_as_it_was(doors: Doors) -> None:
    root = await doors.founded("here")
    mia = as_principal(await doors.joined(root, "mia"))
    whole = replace(
        an_approval(mia),
        asker=replace(an_approval(mia).asker, key="k1", at=an_approval(mia).context),
        label=Label(Level.TEAM, frozenset({"finance"})),
        tainted=True,
        arguments={"path": "/a", "deep": [{"x": None}]},
        marks=(Mark("/path", Danger.PATH),),
        before=({"tool": "files.read"},),
    )
    cleared = replace(mia, clearance=Label(Level.TEAM, frozenset({"finance"})))

    added = await doors.approvals.add(cleared, whole, b"sealed")

    assert added == whole
    assert await doors.approvals.get(cleared, whole.id) == whole
    assert await doors.approvals.sealed(cleared, whole.id) == b"sealed"


async def test_the_same_call_in_the_same_task_is_one_request(doors: Doors) -> None:
    _, mia, first = await asked(doors)

    again = await doors.approvals.add(mia, an_approval(mia, "two"), b"")
    other = await doors.approvals.add(mia, an_approval(mia, "x", act=an_act(mia, path="/b")), b"")
    elsewhere = an_approval(mia, "y", context=type(first.context)(first.id.value))

    assert again == first
    assert other.id != first.id
    assert (await doors.approvals.add(mia, elsewhere, b"")).id == elsewhere.id


async def test_two_at_once_are_one_request(doors: Doors) -> None:
    root = await doors.founded("here")
    mia = as_principal(await doors.joined(root, "mia"))
    each = [an_approval(mia, f"number {n}") for n in range(5)]

    added = await asyncio.gather(*(doors.approvals.add(mia, one, b"") for one in each))

    assert len({one.id for one in added}) == 1


async def test_when_its_time_is_over_the_same_call_is_another_request(doors: Doors) -> None:
    _, mia, first = await asked(doors)

    anew = an_approval(mia, "two", at=LATER)

    assert await doors.approvals.add(mia, anew, b"") == anew
    assert (await doors.approvals.get(mia, first.id)).status is Status.EXPIRED
    assert await doors.approvals.sealed(mia, first.id) == b""
    assert await doors.approvals.latest(mia, anew.context, anew.hash) == anew


async def test_the_newest_is_found_whatever_became_of_it_and_only_by_its_asker(
    doors: Doors,
) -> None:
    root, mia, approval = await asked(doors)
    no = answered(approval, an_answer(root, AnswerKind.REJECT, reason="no"), HOUR)
    await doors.approvals.answer(root, no, BEGINNING)

    assert await doors.approvals.latest(mia, approval.context, approval.hash) == no
    assert await doors.approvals.latest(mia, approval.context, "0" * 64) is None
    assert await doors.approvals.latest(root, approval.context, approval.hash) is None


async def test_of_two_answers_the_first_counts(doors: Doors) -> None:
    root, mia, approval = await asked(doors)
    yes = approved(approval, root)
    no = answered(approval, an_answer(root, AnswerKind.REJECT), HOUR)

    won = await asyncio.gather(
        doors.approvals.answer(root, yes, BEGINNING), doors.approvals.answer(root, no, BEGINNING)
    )

    assert sorted(won) == [False, True]
    assert await doors.approvals.get(mia, approval.id) == (yes if won[0] else no)


async def test_a_no_takes_the_arguments_away(doors: Doors) -> None:
    root, _, approval = await asked(doors)
    no = answered(approval, an_answer(root, AnswerKind.REJECT), HOUR)

    assert await doors.approvals.answer(root, no, BEGINNING)

    assert await doors.approvals.sealed(root, approval.id) == b""
    assert not await doors.approvals.claim(root, approval.id, BEGINNING)


async def test_what_is_over_is_not_answered(doors: Doors) -> None:
    root, _, approval = await asked(doors)

    assert not await doors.approvals.answer(root, approved(approval, root, at=LATER), LATER)
    assert (await doors.approvals.get(root, approval.id)).status is Status.WAITING


async def test_it_is_used_once(doors: Doors) -> None:
    root, mia, approval = await asked(doors)
    assert not await doors.approvals.claim(mia, approval.id, BEGINNING)
    await doors.approvals.answer(root, approved(approval, root), BEGINNING)

    claims = await asyncio.gather(
        *(doors.approvals.claim(mia, approval.id, BEGINNING) for _ in range(5))
    )

    assert sorted(claims) == [False, False, False, False, True]
    assert (await doors.approvals.get(mia, approval.id)).claimed_at == BEGINNING


async def test_it_is_not_used_after_its_time(doors: Doors) -> None:
    root, mia, approval = await asked(doors)
    await doors.approvals.answer(root, approved(approval, root), BEGINNING)

    assert not await doors.approvals.claim(mia, approval.id, LATER)
    assert await doors.approvals.expire(mia, approval.id, LATER)
    assert not await doors.approvals.expire(mia, approval.id, LATER)
    assert (await doors.approvals.get(mia, approval.id)).status is Status.EXPIRED


async def test_it_does_not_expire_before_its_time_nor_once_it_is_used(doors: Doors) -> None:
    root, mia, approval = await asked(doors)
    assert not await doors.approvals.expire(mia, approval.id, BEGINNING)
    await doors.approvals.answer(root, approved(approval, root), BEGINNING)
    await doors.approvals.claim(mia, approval.id, BEGINNING)

    assert not await doors.approvals.expire(mia, approval.id, LATER)


async def test_what_became_of_it_is_noted_once(doors: Doors) -> None:
    root, mia, approval = await asked(doors)
    done = replace(approval, outcome=Outcome.DONE, result="res_1", ended_at=BEGINNING)
    assert not await doors.approvals.end(mia, done)
    await doors.approvals.answer(root, approved(approval, root), BEGINNING)
    await doors.approvals.claim(mia, approval.id, BEGINNING)

    assert await doors.approvals.end(mia, done)
    assert not await doors.approvals.end(mia, replace(done, outcome=Outcome.UNCERTAIN))

    found = await doors.approvals.get(mia, approval.id)
    assert (found.outcome, found.result, found.ended_at) == (Outcome.DONE, "res_1", BEGINNING)
    assert await doors.approvals.sealed(mia, approval.id) == b""


async def used(doors: Doors, outcome: Outcome) -> tuple[Principal, Principal, Approval]:
    root, mia, approval = await asked(doors)
    await doors.approvals.answer(root, approved(approval, root), BEGINNING)
    await doors.approvals.claim(mia, approval.id, BEGINNING)
    await doors.approvals.end(mia, replace(approval, outcome=outcome, ended_at=BEGINNING))
    return root, mia, await doors.approvals.get(mia, approval.id)


async def test_whoever_knows_corrects_what_nobody_knew(doors: Doors) -> None:
    _, mia, approval = await used(doors, Outcome.UNCERTAIN)
    assert await doors.approvals.sealed(mia, approval.id) == b"sealed"

    assert await doors.approvals.end(mia, replace(approval, outcome=Outcome.DONE))
    assert (await doors.approvals.get(mia, approval.id)).outcome is Outcome.DONE


async def test_a_person_says_what_became_of_an_uncertain_one_and_that_stays(doors: Doors) -> None:
    root, mia, approval = await used(doors, Outcome.UNCERTAIN)
    skipped = replace(approval, outcome=Outcome.SKIPPED, resolved_by="root")

    assert await doors.approvals.resolve(root, skipped)
    assert not await doors.approvals.resolve(root, skipped)
    assert not await doors.approvals.end(mia, replace(approval, outcome=Outcome.DONE))

    found = await doors.approvals.get(mia, approval.id)
    assert (found.outcome, found.resolved_by) == (Outcome.SKIPPED, "root")
    assert await doors.approvals.sealed(mia, approval.id) == b""


async def test_what_is_tried_again_can_be_used_once_more(doors: Doors) -> None:
    root, mia, approval = await used(doors, Outcome.UNCERTAIN)
    again = replace(
        approval, outcome=None, claimed_at=None, ended_at=None, resolved_by="root", expires_at=LATER
    )

    assert await doors.approvals.resolve(root, again)

    assert await doors.approvals.sealed(mia, approval.id) == b"sealed"
    assert await doors.approvals.claim(mia, approval.id, BEGINNING)
    assert not await doors.approvals.claim(mia, approval.id, BEGINNING)


async def test_what_it_gave_is_given_out_once_and_then_the_same_call_asks_anew(
    doors: Doors,
) -> None:
    _, mia, approval = await used(doors, Outcome.DONE)

    assert await doors.approvals.collect(mia, approval.id, BEGINNING)
    assert not await doors.approvals.collect(mia, approval.id, BEGINNING)

    anew = an_approval(mia, "two", at=BEGINNING + timedelta(seconds=1))
    assert await doors.approvals.add(mia, anew, b"") == anew


async def test_they_are_listed_newest_first_by_whose_and_by_what_they_are(doors: Doors) -> None:
    root, mia, first = await asked(doors)
    acts = [an_act(mia, path=f"/{n}") for n in range(3)]
    more = [
        an_approval(mia, str(n), act=act, at=BEGINNING + timedelta(minutes=n + 1))
        for n, act in enumerate(acts)
    ]
    for each in more:
        await doors.approvals.add(mia, each, b"")
    own = an_approval(root, "own", at=BEGINNING + timedelta(minutes=9))
    await doors.approvals.add(root, own, b"")
    yes = approved(more[2], root, at=LATER)
    await doors.approvals.answer(root, yes, BEGINNING)
    now = LATER + timedelta(minutes=1)  # the first two are over

    async def page(**asked: object) -> list[Approval]:
        whole = {"of": None, "statuses": (), "before": None, "now": now, "limit": 9, **asked}
        return [*await doors.approvals.page(root, **whole)]  # type: ignore[arg-type] # one dict for all of its keywords

    assert await page() == [own, yes, more[1], more[0], first]
    assert await page(of=mia.id, limit=2) == [yes, more[1]]
    assert await page(before=more[1].id) == [more[0], first]
    assert await page(statuses=[Status.WAITING]) == [own, more[1]]
    assert await page(statuses=[Status.EXPIRED]) == [more[0], first]
    assert await page(statuses=[Status.APPROVED]) == [yes]


async def test_whoever_is_not_cleared_for_it_does_not_have_it(doors: Doors) -> None:
    root = await doors.founded("here")
    mia = replace(as_principal(await doors.joined(root, "mia")), clearance=RESTRICTED)
    secret = an_approval(mia, label=RESTRICTED)
    await doors.approvals.add(mia, secret, b"sealed")
    low = replace(root, clearance=PUBLIC)

    for ask in (doors.approvals.get, doors.approvals.sealed):
        with pytest.raises(ApprovalNotFound):
            await ask(low, secret.id)
    assert not await doors.approvals.answer(low, approved(secret, low), BEGINNING)
    assert not await doors.approvals.claim(low, secret.id, BEGINNING)
    assert (
        await doors.approvals.page(low, of=None, statuses=(), before=None, now=BEGINNING, limit=9)
        == []
    )
    with pytest.raises(REFUSED):
        await doors.approvals.add(
            replace(mia, clearance=PUBLIC),
            an_approval(mia, "x", label=RESTRICTED, act=an_act(mia, path="/x")),
            b"",
        )


async def test_another_space_has_none_of_it(doors: Doors) -> None:
    _, mia, approval = await asked(doors)
    there = await doors.founded("there")

    with pytest.raises(ApprovalNotFound):
        await doors.approvals.get(there, approval.id)
    assert not await doors.approvals.answer(there, approved(approval, there), BEGINNING)
    with pytest.raises(REFUSED):
        await doors.approvals.add(there, an_approval(mia, "two"), b"")


async def test_those_that_wait_are_counted_for_each_asker(doors: Doors) -> None:
    root, mia, first = await asked(doors)
    await doors.approvals.add(mia, an_approval(mia, "x", act=an_act(mia, path="/b")), b"")

    assert await doors.approvals.waiting(mia, BEGINNING) == 2
    assert await doors.approvals.waiting(root, BEGINNING) == 0
    assert await doors.approvals.waiting(mia, LATER) == 0
    await doors.approvals.answer(root, approved(first, root), BEGINNING)
    assert await doors.approvals.waiting(mia, BEGINNING) == 1


async def test_what_waits_is_counted_by_label_and_no_further_than_asked(doors: Doors) -> None:
    root, mia, first = await asked(doors)
    for n in range(3):
        await doors.approvals.add(mia, an_approval(mia, str(n), act=an_act(mia, path=f"/{n}")), b"")
    high = replace(mia, clearance=RESTRICTED)
    secret = an_approval(high, "s", label=RESTRICTED, act=an_act(high, path="/s"))
    await doors.approvals.add(high, secret, b"")
    own = an_approval(root, "own")
    await doors.approvals.add(root, own, b"")
    await doors.approvals.answer(root, approved(first, root), BEGINNING)

    async def counted(by: Principal, **asked: Any) -> dict[Label, int]:
        whole = {"of": None, "now": BEGINNING, "most": 9, **asked}
        return {**await doors.approvals.count_waiting(by, **whole)}

    assert await counted(replace(root, clearance=RESTRICTED)) == {first.label: 4, RESTRICTED: 1}
    assert await counted(replace(root, clearance=first.label)) == {first.label: 4}
    assert await counted(high, of=mia.id) == {first.label: 3, RESTRICTED: 1}
    assert sum((await counted(high, most=2)).values()) == 2
    assert await counted(high, now=LATER) == {}


async def test_what_waits_is_withdrawn_once_and_allows_nothing_then(doors: Doors) -> None:
    root, mia, first = await asked(doors)

    assert await doors.approvals.withdraw(mia, first.id, BEGINNING)
    assert not await doors.approvals.withdraw(mia, first.id, BEGINNING)

    yes = approved(first, root)
    assert not await doors.approvals.answer(root, yes, BEGINNING)
    assert (await doors.approvals.get(mia, first.id)).status is Status.WITHDRAWN
    assert await doors.approvals.sealed(mia, first.id) == b""
    anew = an_approval(mia, "two")
    assert (await doors.approvals.add(mia, anew, b"")).id == anew.id


async def test_what_is_answered_or_over_is_not_withdrawn(doors: Doors) -> None:
    root, mia, first = await asked(doors)
    late = an_approval(mia, "late", act=an_act(mia, path="/b"))
    await doors.approvals.add(mia, late, b"")
    await doors.approvals.answer(root, approved(first, root), BEGINNING)

    assert not await doors.approvals.withdraw(mia, first.id, BEGINNING)
    assert not await doors.approvals.withdraw(mia, late.id, LATER)


async def test_of_a_hash_those_are_found_that_may_be_or_were_done(doors: Doors) -> None:
    root, mia, first = await asked(doors)
    elsewhere = an_approval(mia, "y", context=type(first.context)(first.id.value))
    await doors.approvals.add(mia, elsewhere, b"")
    await doors.approvals.add(mia, an_approval(mia, "x", act=an_act(mia, path="/b")), b"")

    async def found() -> set[str]:
        return {str(each.id) for each in await doors.approvals.unfinished(mia, first.hash)}

    assert await found() == {str(first.id), str(elsewhere.id)}
    assert await doors.approvals.unfinished(root, first.hash) == []

    yes = approved(first, root)
    await doors.approvals.answer(root, yes, BEGINNING)
    await doors.approvals.claim(mia, first.id, BEGINNING)
    await doors.approvals.withdraw(mia, elsewhere.id, BEGINNING)
    assert await found() == {str(first.id)}

    await doors.approvals.end(mia, replace(yes, outcome=Outcome.DONE))
    assert await found() == {str(first.id)}
    await doors.approvals.collect(mia, first.id, BEGINNING)
    assert await found() == set()


@pytest.mark.parametrize("outcome", [Outcome.UNCERTAIN, Outcome.FAILED])
async def test_what_is_known_not_to_have_been_made_is_not_among_them(
    doors: Doors, outcome: Outcome
) -> None:
    root, mia, first = await asked(doors)
    yes = approved(first, root)
    await doors.approvals.answer(root, yes, BEGINNING)
    await doors.approvals.claim(mia, first.id, BEGINNING)
    await doors.approvals.end(mia, replace(yes, outcome=outcome))

    found = await doors.approvals.unfinished(mia, first.hash)

    assert [each.id for each in found] == ([first.id] if outcome is Outcome.UNCERTAIN else [])


async def test_what_was_approved_with_other_arguments_is_among_them(doors: Doors) -> None:
    root, mia, first = await asked(doors)
    new = an_approval(mia, "new", act=an_act(mia, path="/b"))
    await doors.approvals.add(mia, new, b"")
    old = replace(first, status=Status.REPLACED, answered=an_answer(root), replaced_by=new.id)
    await doors.approvals.answer(root, old, BEGINNING)

    assert [each.id for each in await doors.approvals.unfinished(mia, first.hash)] == [first.id]
    await doors.approvals.collect(mia, first.id, BEGINNING)
    assert await doors.approvals.unfinished(mia, first.hash) == []


WAITER = Waiter(RunId.mint(BEGINNING, SeededEntropy("waits")), "~approval:send:1", RESTRICTED)


async def test_what_a_run_waits_for_is_its_alone(doors: Doors) -> None:
    _, mia, first = await asked(doors)
    own = an_approval(mia, "two", waiter=WAITER)

    added = await doors.approvals.add(mia, own, b"sealed")

    assert added == own
    assert await doors.approvals.get(mia, own.id) == own
    assert await doors.approvals.asked_by(mia, WAITER) == own
    assert await doors.approvals.latest(mia, own.context, own.hash) == first
    assert await doors.approvals.unfinished(mia, own.hash) == [first]


async def test_a_run_that_asks_again_has_asked_once(doors: Doors) -> None:
    root = await doors.founded("here")
    mia = as_principal(await doors.joined(root, "mia"))
    first = an_approval(mia, waiter=WAITER)
    await doors.approvals.add(mia, first, b"")
    no = answered(first, an_answer(root, AnswerKind.REJECT), HOUR)
    await doors.approvals.answer(root, no, BEGINNING)

    again = await doors.approvals.add(mia, an_approval(mia, "two", waiter=WAITER), b"")
    other = replace(WAITER, topic="~approval:send:2")
    anew = an_approval(mia, "three", waiter=other)

    assert again == no
    assert await doors.approvals.add(mia, anew, b"") == anew
    assert await doors.approvals.asked_by(mia, replace(WAITER, topic="~x")) is None


async def test_what_is_approved_in_place_of_a_waiters_request_is_added_beside_it(
    doors: Doors,
) -> None:
    root = await doors.founded("here")
    mia = as_principal(await doors.joined(root, "mia"))
    first = an_approval(mia, waiter=WAITER)
    await doors.approvals.add(mia, first, b"")
    edited = replace(
        an_approval(mia, "two", act=an_act(mia, path="/b"), waiter=WAITER), replaces=first.id
    )

    assert await doors.approvals.add(mia, edited, b"") == edited
    assert await doors.approvals.asked_by(mia, WAITER) == first
    both = await doors.approvals.of_run(mia, WAITER.run)
    assert {each.id for each in both} == {first.id, edited.id}


async def test_all_that_a_run_has_asked_is_found_whatever_became_of_it(doors: Doors) -> None:
    root, mia, _ = await asked(doors)
    first = an_approval(mia, "two", waiter=WAITER)
    second = an_approval(mia, "three", waiter=replace(WAITER, topic="~approval:send:2"))
    for each in (first, second):
        await doors.approvals.add(mia, each, b"")
    await doors.approvals.withdraw(mia, first.id, BEGINNING)
    taken_back = replace(first, status=Status.WITHDRAWN)

    found = await doors.approvals.of_run(root, WAITER.run)

    assert sorted(found, key=str) == sorted([taken_back, second], key=str)
    other = RunId.mint(BEGINNING, SeededEntropy("another"))
    assert await doors.approvals.of_run(root, other) == []
