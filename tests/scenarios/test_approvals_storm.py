"""Requests are asked, answered, raced, edited, let expire and repeated while the processes that
make the calls are killed: none is used twice, for another call, or lost."""

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from portico.gateway.core.calls import Called
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Outcome, Resolution, Status, Via
from portico.guard.core.errors import (
    ApprovalOver,
    ApprovalPending,
    ApprovalRejected,
    ApprovalUncertain,
    NotPermitted,
    PersonNeeded,
)
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal
from portico.testing.approvals import AnyArguments
from tests.servers import reachable_folder
from tests.storm.approval_model import Model
from tests.storm.approving import POINTS, ApprovalHouse, approval_house, main
from tests.storm.conductor import Conductor, Said, conducting
from tests.storm.house import storm_house
from tests.storm.oracle import effects

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
EXAMPLES, STEPS = (50, 210) if FULL_SIZE else (8, 20)
KILLS = 100 if FULL_SIZE else 4
WORKERS = 2
PATIENCE = 60.0
PATHS = st.sampled_from(["a", "b", "c", "d"])
WHO = st.integers(0, 1)
NUMBER = st.integers(0, 99)
OFTEN = 10 if FULL_SIZE else 30
"""Times in a hundred."""
PACE = 90 if FULL_SIZE else 25
"""Visits to a point until somebody dies, besides those whom a story kills."""
_SAID_DONE = "[ana says that this was done; what it answered is not known.]"
HAPPENED = ("ask", "repeat", "answer", "approve", "race", "edit", "expired:", "nudge", "given:")
"""What a run must have come to, so that it says something."""
Rows = dict[str, tuple[str, str | None, bool]]
"""Of each request its status, its outcome, and whether a person has spoken about it."""
Given = TypeVar("Given")

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(3600 if FULL_SIZE else 300),
]


class Executioner:
    """Kills at the next visit to each point that it was told of; if it is to be `steady`, also
    now and then by itself, at each kind of point in turn."""

    def __init__(self) -> None:
        self.wanted: list[str] = []
        self.at: Counter[str] = Counter()
        self.steady = False
        self._visits = 0
        self._turns = cycle(POINTS)

    def __call__(self, said: Said) -> bool:
        self._visits += 1
        if self.steady and self._visits % PACE == 0:
            self.wanted.append(next(self._turns))
        if said["point"] not in self.wanted:
            return False
        self.wanted.remove(said["point"])
        self.at[said["point"]] += 1
        return True


@dataclass(slots=True)
class Storm:
    """A house in a thread of its own, for a machine that does one thing after the other."""

    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    executioner: Executioner = field(default_factory=Executioner)
    house: ApprovalHouse = field(init=False)
    conductor: Conductor = field(init=False)
    ledger: Path = field(init=False)
    done: Counter[str] = field(default_factory=Counter)
    examples: int = 0

    @property
    def taken(self) -> int:
        """Steps."""
        return sum(times for what, times in self.done.items() if ":" not in what)

    @property
    def kills(self) -> int:
        return sum(self.executioner.at.values()) + self.done["restart"]

    def run(self, work: Coroutine[Any, Any, Given]) -> Given:
        future: Future[Given] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return future.result(120)

    def tried(self, work: Coroutine[Any, Any, Given]) -> Given | PorticoError:
        try:
            return self.run(work)
        except PorticoError as error:
            return error

    async def open(self, folder: Path, around: AsyncExitStack) -> None:
        house = await around.enter_async_context(storm_house(folder))
        self.conductor, self.ledger = await around.enter_async_context(
            conducting(house.addresses, folder, main)
        )
        self.conductor.orders = replace(self.conductor.orders, space=str(house.ana.space))
        self.conductor.verdict = self.executioner
        self.conductor.start_all(WORKERS)
        self.house = await around.enter_async_context(approval_house(house))
        await self.conductor.ready(WORKERS)

    async def replace_workers(self, **orders: Any) -> None:
        self.conductor.replace_workers(WORKERS, **orders)
        await self.conductor.ready(WORKERS)

    async def kill_one(self) -> None:
        self.conductor.kill(next(iter(self.conductor.workers)))
        self.conductor.start()

    def rows(self, handles: Collection[str]) -> Rows:
        which = [ApprovalId.parse(handle).value for handle in handles]
        found = self.house.owner.execute(
            "SELECT approval_id, CASE WHEN status IN ('waiting', 'approved')"
            " AND claimed_at IS NULL AND expires_at <= now() THEN 'expired' ELSE status END,"
            " outcome, resolved_by IS NOT NULL FROM portico.approval WHERE approval_id = ANY(%s)",
            [which],
        ).fetchall()
        return {str(ApprovalId(row[0])): (row[1], row[2], row[3]) for row in found}

    def settled(self, *handles: str) -> Rows:
        """Once none of them is approved and under way any more."""
        deadline = time.monotonic() + PATIENCE
        while True:
            rows = self.rows(handles)
            left = [
                each
                for each, (status, outcome, _) in rows.items()
                if status == "approved" and outcome is None
            ]
            if not left:
                return rows
            assert time.monotonic() < deadline, f"lost: {left}"
            time.sleep(0.05)

    def approve(self, handle: str, **more: Any) -> Any:
        return self.tried(self.answer(self.house.people[0], handle, AnswerKind.ONCE, **more))

    async def answer(self, by: Principal, handle: str, kind: AnswerKind, **more: Any) -> Any:
        reply = Reply(kind=kind, via=Via.CLI, **more)
        answering = self.house.doors.use_cases(AnyArguments()).answer_approval
        return await answering(by, ApprovalId.parse(handle), reply)


@pytest.fixture(scope="module")
def storm() -> Iterator[Storm]:
    storm, around = Storm(), AsyncExitStack()
    thread = threading.Thread(target=storm.loop.run_forever, daemon=True)
    thread.start()
    with reachable_folder() as folder:
        try:
            storm.run(storm.open(folder, around))
            yield storm
        finally:
            storm.run(around.aclose())
            storm.loop.call_soon_threadsafe(storm.loop.stop)
            thread.join()
            storm.loop.close()


def on(*states: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """With one of the requests in these states. Which steps there are depends on nothing that
    happens: if there is none, a new request is made instead."""

    def around(step: Callable[..., None]) -> Callable[..., None]:
        name: str = step.__name__  # ty: ignore[missing-attribute] # checked by mypy

        def taken(self: "Approvals", number: int, **drawn: object) -> None:
            fitting = self.model.within(*states)
            if not fitting:
                self.anew()
                return
            self.did(name)
            step(self, fitting[number % len(fitting)], **drawn)

        taken.__name__ = name
        return taken

    return around


class Approvals(RuleBasedStateMachine):
    def __init__(self, storm: Storm) -> None:
        super().__init__()
        self.storm = storm
        self.model = Model()
        storm.examples += 1

    def did(self, what: str) -> None:
        self.storm.done[what] += 1

    def call(self, who: int, path: str) -> None:
        bot, model = self.storm.house.bots[who], self.model
        known = model.answering(bot.name, path)
        got = self.storm.tried(self.storm.house.call(bot, path))
        if isinstance(got, ApprovalPending):
            model.ask(got.approval, bot.name, path)
            return
        assert known is not None, got
        state = model.final(known).state
        match got:
            case Called():
                assert state == "approved"
                assert got.answer.content[0]["text"] in {model.final(known).path, _SAID_DONE}
                model.requests[known].given = model.final(known).given = True
                self.did("given:")
            case ApprovalRejected():
                assert state == "rejected"
            case ApprovalUncertain():
                assert state == "approved"
                assert self.storm.kills, "nobody was killed"
                self.did("uncertain:")
            case ApprovalOver():
                assert state in {"expired", "skipped"}
                model.requests[known].given = True
            case _:
                raise AssertionError(got)

    def call_again(self, handle: str) -> None:
        request = self.model.requests[handle]
        who = [bot.name for bot in self.storm.house.bots].index(request.who)
        self.call(who, request.path)

    def anew(self) -> None:
        self.did("ask")
        self.call(self.storm.done["ask"] % 2, f"number {self.storm.done['ask']}")

    @rule(who=WHO, path=PATHS)
    def ask(self, who: int, path: str) -> None:
        self.did("ask")
        self.call(who, f"{self.storm.examples} {path}")

    @rule(number=NUMBER)
    @on("waiting", "approved", "rejected", "replaced", "expired")
    def repeat(self, handle: str) -> None:
        self.call_again(handle)

    @rule(number=NUMBER)
    @on("approved")
    def wait_and_repeat(self, handle: str) -> None:
        self.storm.settled(handle)
        self.call_again(handle)

    @rule(number=NUMBER, by=WHO, kind=st.sampled_from(list(AnswerKind)))
    @on("waiting", "approved", "rejected")
    def answer(self, handle: str, by: int, kind: AnswerKind) -> None:
        got = self.storm.tried(self.storm.answer(self.storm.house.people[by], handle, kind))
        counted = not isinstance(got, PorticoError)
        assert counted or isinstance(got, ApprovalOver), got
        self.model.answer(handle, yes=kind is not AnswerKind.REJECT, counted=counted)

    @rule(number=NUMBER)
    @on("waiting")
    def approve(self, handle: str) -> None:
        got = self.storm.approve(handle)
        self.model.answer(handle, yes=True, counted=not isinstance(got, PorticoError))

    @rule(number=NUMBER, who=WHO)
    @on("waiting")
    def answer_as_agent(self, handle: str, who: int) -> None:
        bot = self.storm.house.bots[who]
        got = self.storm.tried(self.storm.answer(bot, handle, AnswerKind.ONCE))
        assert isinstance(got, NotPermitted | PersonNeeded)

    @rule(number=NUMBER, kinds=st.permutations(list(AnswerKind)))
    @on("waiting")
    def race(self, handle: str, kinds: list[AnswerKind]) -> None:
        async def both() -> list[Any]:
            answers = zip(self.storm.house.people, kinds, strict=False)
            racing = [self.storm.answer(who, handle, kind) for who, kind in answers]
            return await asyncio.gather(*racing, return_exceptions=True)

        got = self.storm.run(both())
        won = [place for place, each in enumerate(got) if not isinstance(each, Exception)]
        lost = [each for each in got if isinstance(each, Exception)]
        assert len(won) == 1, got
        assert isinstance(lost[0], ApprovalOver)
        yes = kinds[won[0]] is not AnswerKind.REJECT
        self.model.answer(handle, yes=yes, counted=True)

    @rule(number=NUMBER)
    @on("waiting")
    def edit(self, handle: str) -> None:
        new = f"edited {self.storm.done['edit']}"
        got = self.storm.approve(handle, arguments={"path": new})
        assert not isinstance(got, PorticoError), got
        self.model.edit(handle, str(got.id), new)

    @rule(number=NUMBER)
    @on("waiting", "approved")
    def expire(self, handle: str) -> None:
        if self.storm.house.over(handle):
            self.did("expired:")
            self.model.requests[handle].state = "expired"
            self.model.requests[handle].uses = 0

    @rule(number=NUMBER)
    @on("waiting")
    def nudge(self, handle: str) -> None:
        """It is woken, and there is nothing to be read."""
        found = self.storm.run(self.storm.house.found(handle))
        self.storm.run(self.storm.house.doors.approval_runs.wake(self.storm.house.people[0], found))

    @rule(number=NUMBER, said=st.sampled_from(list(Resolution)))
    @on("approved")
    def resolve(self, handle: str, said: Resolution) -> None:
        resolving = self.storm.house.doors.use_cases(AnyArguments()).resolve_approval
        person, which = self.storm.house.people[0], ApprovalId.parse(handle)
        got = self.storm.tried(resolving(person, which, said))
        if isinstance(got, PorticoError):
            assert isinstance(got, ApprovalOver)
            return
        self.did(f"resolved: {said}")
        request = self.model.requests[handle]
        if said is Resolution.RETRY:
            request.uses += 1
        elif said is Resolution.SKIP:
            request.state = "skipped"

    @rule(point=st.sampled_from(POINTS), number=NUMBER)
    def kill(self, point: str, number: int) -> None:
        """Somebody, the next time that they come to this point; sometimes at once, wherever."""
        if number >= OFTEN or len(self.storm.executioner.wanted) >= WORKERS:
            self.anew()
        elif number == 0:
            self.did("restart")
            self.storm.run(self.storm.kill_one())
        else:
            self.did("kill")
            self.storm.executioner.wanted.append(point)

    def teardown(self) -> None:
        mine = set(self.model.requests)
        rows = self.storm.settled(*mine)
        ended = {handle: _ended(*rows[handle]) for handle in mine}
        made = effects(self.storm.ledger)
        self.model.check([each for each in made if each["approval"] in mine], ended)
        if FULL_SIZE:
            print(self.storm.taken, "steps", self.storm.kills, "kills", file=sys.__stderr__)


def _ended(status: str, outcome: str | None, resolved: bool) -> str:
    if status != Status.APPROVED or outcome is None:
        return status
    if resolved and outcome == Outcome.DONE:
        return "retried"  # or a person said that it was done: either way they looked
    return outcome


@pytest.mark.requirement("guard:approval:single-use")
def test_no_approval_is_used_twice_for_another_call_or_lost(
    storm: Storm, capsys: pytest.CaptureFixture[str]
) -> None:
    began, before = time.monotonic(), storm.executioner.at.copy()

    storm.executioner.steady = True
    run_state_machine_as_test(
        lambda: Approvals(storm),  # type: ignore[arg-type] # ty: ignore[invalid-argument-type] # any maker will do
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=not FULL_SIZE,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )

    storm.executioner.steady = False
    kills = storm.executioner.at - before
    made = effects(storm.ledger)
    known = storm.rows({each["approval"] for each in made})
    with capsys.disabled():
        print(
            f"\napprovals: {storm.taken} steps in {storm.examples} stories, {dict(storm.done)}, "
            f"kills {dict(kills)}, {len(made)} calls made, {time.monotonic() - began:.0f} s"
        )
    assert storm.taken >= (10_000 if FULL_SIZE else EXAMPLES * STEPS * 0.9)
    assert sum(kills.values()) + storm.done["restart"] >= KILLS
    for what in HAPPENED:
        assert storm.done[what] > 0, what
    assert len(kills) == len(POINTS) or not FULL_SIZE
    assert made
    assert all(each["approval"] in known for each in made), "made without an approval"


def _one_story(storm: Storm, point: str, path: str) -> tuple[Model, dict[str, str]]:
    """Asked, approved, and whoever makes the call dies at this point."""
    model, bot = Model(), storm.house.bots[0]
    pending = storm.tried(storm.house.call(bot, path))
    assert isinstance(pending, ApprovalPending)
    model.ask(pending.approval, bot.name, path)
    storm.executioner.wanted[:] = [point]
    assert not isinstance(storm.approve(pending.approval), PorticoError)
    model.answer(pending.approval, yes=True, counted=True)
    rows = storm.settled(pending.approval)
    until = time.monotonic() + 20
    while storm.executioner.wanted and time.monotonic() < until:  # noted before it says so
        time.sleep(0.01)
    return model, {handle: _ended(*rows[handle]) for handle in model.requests}


@pytest.mark.requirement("guard:approval:uncertain")
def test_whoever_dies_with_a_call_under_way_leaves_it_uncertain_and_nobody_makes_it_again(
    storm: Storm,
) -> None:
    before = storm.executioner.at.copy()

    stories = {point: _one_story(storm, point, f"dies {point}") for point in POINTS}

    for point, (model, ended) in stories.items():
        made = [each for each in effects(storm.ledger) if each["approval"] in model.requests]
        model.check(made, ended)
        uncertain = point in {"after claim", "after call"}
        assert [*ended.values()] == ["uncertain" if uncertain else "done"], point
        assert len(made) == (0 if point == "after claim" else 1)
    assert storm.executioner.at - before == Counter(POINTS)


@pytest.mark.planted
def test_without_the_condition_the_model_sees_that_a_call_was_made_twice(storm: Storm) -> None:
    """A red run: what the conditional claim is for."""
    storm.run(storm.replace_workers(single_use=False))
    try:
        model, ended = _one_story(storm, "after call", "twice")
    finally:
        storm.run(storm.replace_workers(single_use=True))

    made = [each for each in effects(storm.ledger) if each["approval"] in model.requests]
    with pytest.raises(AssertionError, match="was used 2 times"):
        model.check(made, ended)
