"""What every store of requests holds to, in memory and in PostgreSQL."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.approvals import Approvals
from portico.guard.core.approvals import AnswerKind, Approval, Outcome, Status, Waiter, answered
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors
from tests.guard.approvals import HOUR, an_act, an_answer, an_approval, approved

LATER = BEGINNING + HOUR
RESTRICTED = Label(Level.RESTRICTED)
WAITER = Waiter(RunId.mint(BEGINNING, SeededEntropy("waits")), "~approval:send:1", RESTRICTED)


@dataclass(frozen=True)
class Room:
    """Mia asks; the admin answers. `first` is what she has asked for at the beginning."""

    approvals: Approvals
    root: Principal
    mia: Principal
    first: Approval

    async def ask(self, seed: str, *, path: str = "/a", **changes: Any) -> Approval:
        asked = an_approval(self.mia, seed, act=an_act(self.mia, path=path), **changes)
        return await self.approvals.add(self.mia, asked, b"sealed")

    async def say(self, approval: Approval, answer: Approval) -> bool:
        assert answer.id == approval.id
        return await self.approvals.answer(self.root, answer, BEGINNING)

    async def yes(self, approval: Approval) -> Approval:
        answer = approved(approval, self.root)
        assert await self.say(approval, answer)
        return answer

    async def used(self, approval: Approval, outcome: Outcome | None = None) -> Approval:
        """Approved, claimed and, if there is an outcome, over."""
        yes = await self.yes(approval)
        assert await self.approvals.claim(self.mia, yes.id, BEGINNING)
        if outcome is not None:
            over = replace(yes, outcome=outcome, ended_at=BEGINNING)
            assert await self.approvals.end(self.mia, over)
        return await self.approvals.get(self.mia, yes.id)

    async def now(self, approval: Approval) -> Approval:
        return await self.approvals.get(self.mia, approval.id)

    async def sealed(self, approval: Approval) -> bytes:
        return await self.approvals.sealed(self.mia, approval.id)


@pytest.fixture
async def room(doors: Doors, root: Principal) -> Room:
    mia = as_principal(await doors.joined(root, "mia"))
    first = await doors.approvals.add(mia, an_approval(mia), b"sealed")
    return Room(doors.approvals, root, mia, first)


def no(room: Room, approval: Approval, reason: str = "") -> Approval:
    return answered(approval, an_answer(room.root, AnswerKind.REJECT, reason=reason), HOUR)


async def test_what_was_asked_comes_back_as_it_was(room: Room) -> None:
    label = Label(Level.TEAM, frozenset({"finance"}))
    cleared, approvals = replace(room.mia, clearance=label), room.approvals
    other = an_approval(room.mia, "whole", act=an_act(room.mia, path="/whole"))
    whole = replace(
        other,
        requester=replace(other.requester, key="k1", at=other.context),
        label=label,
        tainted=True,
        arguments={"path": "/a", "deep": [{"x": None}]},
        marks=(ArgumentWarning("/path", Danger.PATH),),
        before=({"tool": "files.read"},),
    )

    assert await approvals.add(cleared, whole, b"sealed") == whole
    assert await approvals.get(cleared, whole.id) == whole
    assert await approvals.sealed(cleared, whole.id) == b"sealed"


async def test_the_same_call_in_the_same_task_is_one_request_also_of_several_at_once(
    room: Room,
) -> None:
    assert await room.ask("two") == room.first
    other = await room.ask("x", path="/b")
    elsewhere = await room.ask("y", context=type(room.first.context)(room.first.id.value))
    at_once = await asyncio.gather(*(room.ask(f"number {n}", path="/c") for n in range(5)))

    assert len({room.first.id, other.id, elsewhere.id, *(each.id for each in at_once)}) == 4


async def test_when_its_time_is_over_the_same_call_is_another_request(room: Room) -> None:
    anew = await room.ask("two", at=LATER)

    assert anew.id != room.first.id
    assert (await room.now(room.first)).status is Status.EXPIRED
    assert await room.sealed(room.first) == b""
    assert await room.approvals.latest(room.mia, anew.context, anew.hash) == anew


async def test_of_two_answers_the_first_counts(room: Room) -> None:
    answers = approved(room.first, room.root), no(room, room.first)

    won = await asyncio.gather(*(room.say(room.first, each) for each in answers))

    assert sorted(won) == [False, True]
    assert await room.now(room.first) == answers[won.index(True)]


async def test_a_no_takes_the_arguments_away_and_is_found_by_its_asker(room: Room) -> None:
    first, latest = room.first, room.approvals.latest
    rejected = no(room, first, "no")

    assert await room.say(first, rejected)

    assert await room.sealed(first) == b""
    assert not await room.approvals.claim(room.root, first.id, BEGINNING)
    assert await latest(room.mia, first.context, first.hash) == rejected
    assert await latest(room.mia, first.context, "0" * 64) is None
    assert await latest(room.root, first.context, first.hash) is None


async def test_it_is_used_once_and_what_became_of_it_is_noted_once(room: Room) -> None:
    approvals, mia, first = room.approvals, room.mia, room.first
    done = replace(first, outcome=Outcome.DONE, result="res_1", ended_at=BEGINNING)
    assert not await approvals.claim(mia, first.id, BEGINNING)
    assert not await approvals.end(mia, done)
    await room.yes(first)

    claims = await asyncio.gather(*(approvals.claim(mia, first.id, BEGINNING) for _ in range(5)))
    assert sorted(claims) == [False, False, False, False, True]
    assert (await room.now(first)).claimed_at == BEGINNING

    assert await approvals.end(mia, done)
    assert not await approvals.end(mia, replace(done, outcome=Outcome.UNCERTAIN))
    found = await room.now(first)
    assert (found.outcome, found.result, found.ended_at) == (Outcome.DONE, "res_1", BEGINNING)
    assert await room.sealed(first) == b""


async def test_it_is_neither_answered_nor_used_after_its_time(room: Room) -> None:
    approvals, mia = room.approvals, room.mia
    late, used = await room.ask("late", path="/b"), await room.ask("used", path="/c")
    await room.yes(room.first)
    await room.used(used)

    assert not await approvals.answer(room.root, approved(late, room.root, at=LATER), LATER)
    assert (await room.now(late)).status is Status.WAITING
    assert not await approvals.claim(mia, room.first.id, LATER)
    assert not await approvals.expire(mia, room.first.id, BEGINNING)
    assert await approvals.expire(mia, room.first.id, LATER)
    assert not await approvals.expire(mia, room.first.id, LATER)
    assert (await room.now(room.first)).status is Status.EXPIRED
    assert not await approvals.expire(mia, used.id, LATER)


async def test_of_an_uncertain_one_whoever_knows_or_a_person_says_what_became(room: Room) -> None:
    approvals, mia, root = room.approvals, room.mia, room.root
    known, told, again = [
        await room.used(await room.ask(path, path=path), Outcome.UNCERTAIN)
        for path in ("/known", "/told", "/again")
    ]
    assert await room.sealed(known) == b"sealed"
    assert await approvals.end(mia, replace(known, outcome=Outcome.DONE))
    assert (await room.now(known)).outcome is Outcome.DONE

    skipped = replace(told, outcome=Outcome.SKIPPED, resolved_by="root")
    assert await approvals.resolve(root, skipped)
    assert not await approvals.resolve(root, skipped)
    assert not await approvals.end(mia, replace(told, outcome=Outcome.DONE))
    found = await room.now(told)
    assert (found.outcome, found.resolved_by) == (Outcome.SKIPPED, "root")
    assert await room.sealed(told) == b""

    once_more = replace(
        again, outcome=None, claimed_at=None, ended_at=None, resolved_by="root", expires_at=LATER
    )
    assert await approvals.resolve(root, once_more)
    assert await room.sealed(again) == b"sealed"
    assert await approvals.claim(mia, again.id, BEGINNING)
    assert not await approvals.claim(mia, again.id, BEGINNING)


async def test_what_it_gave_is_given_out_once_and_then_the_same_call_asks_anew(room: Room) -> None:
    done = await room.used(room.first, Outcome.DONE)

    assert await room.approvals.collect(room.mia, done.id, BEGINNING)
    assert not await room.approvals.collect(room.mia, done.id, BEGINNING)

    anew = await room.ask("two", at=BEGINNING + timedelta(seconds=1))
    assert anew.id != done.id


async def test_they_are_listed_newest_first_by_whose_and_by_what_they_are(room: Room) -> None:
    root, approvals = room.root, room.approvals
    more = [
        await room.ask(str(n), path=f"/{n}", at=BEGINNING + timedelta(minutes=n + 1))
        for n in range(3)
    ]
    own = an_approval(root, "own", at=BEGINNING + timedelta(minutes=9))
    await approvals.add(root, own, b"")
    yes = approved(more[2], root, at=LATER)
    await room.say(more[2], yes)
    now = LATER + timedelta(minutes=1)  # the first two are over

    async def page(**asked: object) -> list[Approval]:
        whole = {"of": None, "statuses": (), "before": None, "now": now, "limit": 9, **asked}
        return [*await approvals.page(root, **whole)]  # type: ignore[arg-type] # one dict for all of its keywords

    assert await page() == [own, yes, more[1], more[0], room.first]
    assert await page(of=room.mia.id, limit=2) == [yes, more[1]]
    assert await page(before=more[1].id) == [more[0], room.first]
    assert await page(statuses=[Status.WAITING]) == [own, more[1]]
    assert await page(statuses=[Status.EXPIRED]) == [more[0], room.first]
    assert await page(statuses=[Status.APPROVED]) == [yes]


async def test_whoever_is_not_cleared_for_it_or_elsewhere_does_not_have_it(
    doors: Doors, room: Room
) -> None:
    approvals, there = room.approvals, await doors.founded("there")
    high, low = (replace(room.mia, clearance=label) for label in (RESTRICTED, PUBLIC))
    below = replace(room.root, clearance=PUBLIC)
    act = an_act(room.mia, path="/x")
    secret = an_approval(high, "secret", label=RESTRICTED, act=act)
    await approvals.add(high, secret, b"sealed")

    for stranger in (below, there):
        for ask in (approvals.get, approvals.sealed):
            with pytest.raises(ApprovalNotFound):
                await ask(stranger, secret.id)
        assert not await approvals.answer(stranger, approved(secret, stranger), BEGINNING)
        assert not await approvals.claim(stranger, secret.id, BEGINNING)
        page = await approvals.page(
            stranger, of=None, statuses=(), before=None, now=BEGINNING, limit=9
        )
        assert secret not in page
    with pytest.raises(REFUSED):
        await approvals.add(low, an_approval(low, "x", label=RESTRICTED, act=act), b"")
    with pytest.raises(REFUSED):
        await approvals.add(there, an_approval(room.mia, "two"), b"")


async def test_what_waits_is_counted_by_asker_and_by_label_and_no_further_than_asked(
    room: Room,
) -> None:
    approvals, root, mia, first = room.approvals, room.root, room.mia, room.first
    for n in range(3):
        await room.ask(str(n), path=f"/{n}")
    assert await approvals.waiting(mia, BEGINNING) == 4
    assert await approvals.waiting(root, BEGINNING) == await approvals.waiting(mia, LATER) == 0
    await room.yes(first)
    assert await approvals.waiting(mia, BEGINNING) == 3
    high = replace(mia, clearance=RESTRICTED)
    secret = an_approval(high, "s", label=RESTRICTED, act=an_act(high, path="/s"))
    await approvals.add(high, secret, b"")
    assert await approvals.waiting(high, BEGINNING) == 4
    assert await approvals.waiting(mia, BEGINNING) == 3  # what is above her counts for nothing
    await approvals.add(root, an_approval(root, "own"), b"")

    async def counted(by: Principal, **asked: Any) -> dict[Label, int]:
        whole = {"of": None, "now": BEGINNING, "most": 9, **asked}
        return {**await approvals.count_waiting(by, **whole)}

    assert await counted(replace(root, clearance=RESTRICTED)) == {first.label: 4, RESTRICTED: 1}
    assert await counted(replace(root, clearance=first.label)) == {first.label: 4}
    assert await counted(high, of=mia.id) == {first.label: 3, RESTRICTED: 1}
    assert sum((await counted(high, most=2)).values()) == 2
    assert await counted(high, now=LATER) == {}


async def test_what_waits_is_withdrawn_once_and_allows_nothing_then(room: Room) -> None:
    withdraw, mia, first = room.approvals.withdraw, room.mia, room.first
    said, late = await room.ask("said", path="/b"), await room.ask("late", path="/c")
    await room.yes(said)

    assert await withdraw(mia, first.id, BEGINNING)
    assert not await withdraw(mia, first.id, BEGINNING)
    assert not await withdraw(mia, said.id, BEGINNING)
    assert not await withdraw(mia, late.id, LATER)

    assert not await room.say(first, approved(first, room.root))
    assert (await room.now(first)).status is Status.WITHDRAWN
    assert await room.sealed(first) == b""
    assert (await room.ask("two")).id != first.id


async def test_of_a_hash_those_are_found_that_may_be_or_were_done(room: Room) -> None:
    approvals, mia, first = room.approvals, room.mia, room.first
    elsewhere = await room.ask("y", context=type(first.context)(first.id.value))
    await room.ask("x", path="/b")

    async def found(of: Approval = first) -> set[Any]:
        return {each.id for each in await approvals.unfinished(mia, of.hash)}

    assert await found() == {first.id, elsewhere.id}
    assert await approvals.unfinished(room.root, first.hash) == []
    used = await room.used(first)
    await approvals.withdraw(mia, elsewhere.id, BEGINNING)
    assert await found() == {first.id}
    await approvals.end(mia, replace(used, outcome=Outcome.DONE))
    assert await found() == {first.id}
    await approvals.collect(mia, first.id, BEGINNING)
    assert await found() == set()

    unknown, failed = [
        await room.used(await room.ask(path, path=path), outcome)
        for path, outcome in (("/u", Outcome.UNCERTAIN), ("/f", Outcome.FAILED))
    ]
    assert (await found(unknown), await found(failed)) == ({unknown.id}, set())

    old, new = await room.ask("old", path="/old"), await room.ask("new", path="/new")
    status = Status.REPLACED  # what was approved with other arguments is among them
    await room.say(
        old, replace(old, status=status, answered=an_answer(room.root), replaced_by=new.id)
    )
    assert await found(old) == {old.id}
    await approvals.collect(mia, old.id, BEGINNING)
    assert await found(old) == set()


async def test_what_a_run_waits_for_is_its_alone_and_asked_once(room: Room) -> None:
    approvals, mia, first = room.approvals, room.mia, room.first
    other = replace(WAITER, topic="~approval:send:2")
    own = await room.ask("own", waiter=WAITER)

    assert own.id != first.id
    assert await room.now(own) == await approvals.asked_by(mia, WAITER) == own
    assert await approvals.latest(mia, own.context, own.hash) == first
    assert await approvals.unfinished(mia, own.hash) == [first]

    rejected = no(room, own)
    await room.say(own, rejected)
    assert await room.ask("again", waiter=WAITER) == rejected
    anew = await room.ask("anew", waiter=other)
    assert anew.id not in {own.id, first.id}
    assert await approvals.asked_by(mia, replace(WAITER, topic="~x")) is None


async def test_all_that_a_run_has_asked_is_found_whatever_became_of_it(room: Room) -> None:
    """What is approved in place of a waiter's request is added beside it."""
    approvals, mia, root = room.approvals, room.mia, room.root
    first = await room.ask("1st", waiter=WAITER)
    second = await room.ask("two", waiter=replace(WAITER, topic="~approval:send:2"))
    instead = an_approval(mia, "three", act=an_act(mia, path="/b"), waiter=WAITER)
    instead = replace(instead, replaces=first.id)

    assert await approvals.add(mia, instead, b"") == instead
    assert await approvals.asked_by(mia, WAITER) == first
    await approvals.withdraw(mia, first.id, BEGINNING)

    taken_back = replace(first, status=Status.WITHDRAWN)
    found = await approvals.of_run(root, WAITER.run)
    assert sorted(found, key=str) == sorted([taken_back, second, instead], key=str)
    other = RunId.mint(BEGINNING, SeededEntropy("another"))
    assert await approvals.of_run(root, other) == []
