"""Requests: who may answer them, who is first, what stays of them, and how they are taken back."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from portico.guard.approvals import (
    AnswerApproval,
    AskApproval,
    CountApprovals,
    ListApprovals,
    Reply,
    ResolveApproval,
    ShowApproval,
    WithdrawApproval,
    sealed_for,
    shown_of,
)
from portico.guard.core.access_request import AccessRequest, NeedsApproval, TaintContext
from portico.guard.core.approvals import (
    AnswerKind,
    Approval,
    Outcome,
    Resolution,
    Status,
    Via,
    Waiter,
)
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import (
    ApprovalNotFound,
    ApprovalOver,
    AskedOtherwise,
    BlackedOut,
    InvalidAnswer,
    InvalidRule,
    NotPermitted,
    OwnRequest,
    PersonNeeded,
    RuleAsksOn,
    RuleTaken,
    TooManyPendingApprovals,
)
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.guard.core.principals import Role
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.kernel.redaction import Redaction
from portico.testing.approvals import (
    AnyArguments,
    MemoryApprovals,
    RecordedApprovalEvents,
    ScriptedApprovalRuns,
)
from portico.testing.guard import MemoryAudit, MemoryRules, MemoryTaskContexts, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock, together
from portico.testing.secrets import MemoryVault
from tests.guard.approvals import HOUR, an_act

ANA, BEN = (as_principal(an_identity(name, roles=[Role.OPERATOR])) for name in ("ana", "ben"))
MIA, NEIL = (as_principal(an_identity(name)) for name in ("mia", "neil"))
BOT = as_principal(an_identity("bot", kind=PrincipalKind.AGENT))
NEEDED = NeedsApproval("default:destroys", "It cannot be undone.")
TEAM = Label(Level.TEAM)
ONCE = Reply(kind=AnswerKind.ONCE, via=Via.CLI)
ALWAYS = replace(ONCE, kind=AnswerKind.ALWAYS)
CANARY = "k9-canary-0001"
SECRETS = Redaction([CANARY])
ADMIN = as_principal(an_identity("ben", roles=[Role.ADMIN]))


class Desk:
    def __init__(self) -> None:
        world = self.world = InMemoryStore()
        world.spaces[ANA.space] = a_space()
        for name in ("ana", "ben", "mia", "neil", "bot"):
            identity = an_identity(name)
            world.identities.insert((identity.space, identity.id), identity)
        self.clock, entropy, vault = TickingClock(), SeededEntropy(), MemoryVault()
        self.approvals, self.errands = MemoryApprovals(world), ScriptedApprovalRuns()
        self.news, self.rules, self.audit = RecordedApprovalEvents(), MemoryRules(), MemoryAudit()
        self.check, self.vault = AnyArguments(), vault
        resolving: dict[str, Any] = {
            "approvals": self.approvals,
            "approval_runs": self.errands,
            "news": self.news,
            "audit": self.audit,
            "unit_of_work": together,
            "clock": self.clock,
        }
        asking: dict[str, Any] = {
            **resolving,
            "vault": vault,
            "entropy": entropy,
            "hide": SECRETS.hide_json,
            "expires": HOUR,
        }
        self.ask = AskApproval(max_pending=3, **asking)
        self.answer = AnswerApproval(rules=self.rules, check=self.check, **asking)
        self.resolve = ResolveApproval(**resolving)
        self.withdraw = WithdrawApproval(**resolving)
        looking: dict[str, Any] = {"approvals": self.approvals, "clock": self.clock}
        self.contexts = MemoryTaskContexts(world)
        self.list = ListApprovals(contexts=self.contexts, **looking)
        self.count = CountApprovals(contexts=self.contexts, **looking)
        self.show = ShowApproval(contexts=self.contexts, **looking)

    async def asked(
        self, by: Principal = BOT, act: AccessRequest | None = None, label: Label = PUBLIC
    ) -> Approval:
        task = TaintContext(id=ContextId(by.id.value), label=label)
        return await self.ask(act or an_act(by), task, NEEDED, before=[{"tool": "files.read"}])

    async def uncertain(self) -> Approval:
        asked = await self.asked()
        await self.answer(ANA, asked.id, ONCE)
        await self.approvals.claim(BOT, asked.id, self.clock.now())
        await self.approvals.end(BOT, replace(asked, outcome=Outcome.UNCERTAIN))
        return await self.approvals.get(ANA, asked.id)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def asked(desk: Desk) -> Approval:
    return await desk.asked()


async def test_a_request_is_written_with_its_errand_its_audit_and_its_news(desk: Desk) -> None:
    asked = await desk.asked()

    assert desk.errands.started == [asked.id]
    assert desk.news.told == [("asked", asked.id)]
    assert desk.audit.actions == ["approval.asked"]
    assert asked.expires_at - asked.asked_at == HOUR
    assert asked.run == desk.errands.run_of(BOT, asked.id)
    sealed = await desk.approvals.sealed(BOT, asked.id)
    assert desk.vault.decrypt(sealed, sealed_for(asked.id)) == b'{"path":"/a"}'


async def test_a_request_is_written_with_its_errand_and_two_at_once_ask_once(desk: Desk) -> None:
    desk.errands.refuse = RuntimeError()

    with pytest.raises(RuntimeError):
        await desk.asked()

    assert await desk.list(ANA, limit=9) == []

    desk.errands.refuse = None
    first, second = await asyncio.gather(desk.asked(), desk.asked())

    assert first.id == second.id
    assert desk.errands.started == [first.id]


async def test_a_task_above_public_is_told_apart(desk: Desk) -> None:
    plain, secret = await desk.asked(), await desk.asked(act=an_act(BOT, path="/b"), label=TEAM)

    assert (plain.tainted, plain.label) == (False, PUBLIC)
    assert (secret.tainted, secret.label) == (True, TEAM)


async def test_a_yes_wakes_the_errand_and_is_told_and_noted(desk: Desk, asked: Approval) -> None:
    yes = await desk.answer(ANA, asked.id, ONCE)

    assert yes.status is Status.APPROVED
    assert yes == await desk.approvals.get(ANA, asked.id)
    assert desk.errands.woken == [asked.id]
    assert desk.news.told[-1] == ("answered", asked.id)
    assert desk.audit.actions == ["approval.asked", "approval.answered"]
    assert await desk.rules.all(ANA) == []


async def test_of_two_the_first_counts_and_the_other_is_told_who_it_was(desk: Desk) -> None:
    asked = await desk.asked()
    await desk.answer(ANA, asked.id, ONCE)

    with pytest.raises(ApprovalOver, match="approved by ana already"):
        await desk.answer(BEN, asked.id, replace(ONCE, kind=AnswerKind.REJECT))

    assert desk.errands.woken == [asked.id]


async def test_whoever_comes_second_in_the_same_moment_is_told_too(desk: Desk) -> None:
    asked = await desk.asked()
    inner = desk.approvals.answer

    async def late(caller: Principal, answered: Approval, now: datetime) -> bool:
        """Somebody else was faster by a hair."""
        await inner(BEN, replace(answered, status=Status.REJECTED), now)
        return await inner(caller, answered, now)

    desk.approvals.answer = late  # type: ignore[method-assign] # somebody is faster
    with pytest.raises(ApprovalOver, match="is rejected by"):
        await desk.answer(ANA, asked.id, replace(ONCE, kind=AnswerKind.ALWAYS))

    assert desk.errands.woken == []


async def test_nobody_answers_their_own_nor_does_an_agent_nor_anybody_without_the_scope() -> None:
    desk = Desk()
    own, bots = await desk.asked(ANA), await desk.asked()

    with pytest.raises(OwnRequest):
        await desk.answer(ANA, own.id, ONCE)
    with pytest.raises(PersonNeeded):
        await desk.answer(replace(BEN, kind=PrincipalKind.AGENT), bots.id, ONCE)
    with pytest.raises(NotPermitted):
        await desk.answer(MIA, bots.id, ONCE)
    assert desk.errands.woken == []


async def test_whoever_is_not_cleared_for_it_finds_nothing_to_answer(desk: Desk) -> None:
    secret = await desk.asked(label=TEAM)
    low = replace(ANA, clearance=PUBLIC)

    with pytest.raises(ApprovalNotFound):
        await desk.answer(low, secret.id, ONCE)
    with pytest.raises(ApprovalNotFound):
        await desk.show(low, secret.id)
    assert await desk.list(low, limit=9) == []


@pytest.mark.parametrize("said", ["once", "yes", True, None])
async def test_only_a_member_of_the_enumeration_approves(said: object, desk: Desk) -> None:
    asked = await desk.asked()

    with pytest.raises(InvalidAnswer):
        await desk.answer(ANA, asked.id, replace(ONCE, kind=said))  # type: ignore[arg-type] # which is the point

    assert (await desk.approvals.get(ANA, asked.id)).status is Status.WAITING


async def test_for_this_run_and_always_leave_a_rule_that_can_be_seen(desk: Desk) -> None:
    one, two = await desk.asked(), await desk.asked(act=an_act(BOT, path="/b"))

    run = await desk.answer(ANA, one.id, replace(ONCE, kind=AnswerKind.RUN))
    always = await desk.answer(ADMIN, two.id, replace(ALWAYS, pattern="files.*"))

    rules = {rule.name: rule for rule in await desk.rules.all(ANA)}
    assert run.answered is not None
    assert always.answered is not None
    assert rules[str(run.answered.rule)].context == one.context
    assert rules[str(always.answered.rule)].tools == ("files.*",)
    assert rules[str(always.answered.rule)].approval == two.id


async def test_a_rule_that_cannot_be_made_leaves_the_request_waiting(
    desk: Desk, asked: Approval
) -> None:
    place = (asked.space, asked.id)
    await desk.answer(ANA, asked.id, ALWAYS)
    desk.world.approvals[place] = replace(desk.world.approvals[place], approval=asked)

    with pytest.raises(RuleTaken):
        await desk.answer(ANA, asked.id, ALWAYS)

    assert (await desk.approvals.get(ANA, asked.id)).status is Status.WAITING


async def test_an_edit_is_a_new_request_in_the_place_of_the_old_one(
    desk: Desk, asked: Approval
) -> None:
    edited = await desk.answer(ANA, asked.id, replace(ONCE, arguments={"path": "/b"}))

    old = await desk.approvals.get(ANA, asked.id)
    assert (old.status, old.replaced_by) == (Status.REPLACED, edited.id)
    assert (edited.status, edited.replaces) == (Status.APPROVED, asked.id)
    assert (edited.run, edited.requester) == (asked.run, asked.requester)
    assert edited.hash == an_act(BOT, path="/b").hash
    assert desk.check.checked == [("files.delete", {"path": "/b"})]
    sealed = await desk.approvals.sealed(ANA, edited.id)
    assert desk.vault.decrypt(sealed, sealed_for(edited.id)) == b'{"path":"/b"}'
    assert desk.errands.woken == [asked.id]


async def test_an_edit_is_of_a_request_that_waits(desk: Desk, asked: Approval) -> None:
    other = await desk.asked(act=an_act(BOT, path="/b"))
    edit = replace(ONCE, arguments={"path": "/b"})

    with pytest.raises(ApprovalOver, match=str(other.id)):
        await desk.answer(ANA, asked.id, edit)
    with pytest.raises(InvalidAnswer):
        await desk.answer(ANA, asked.id, replace(edit, kind=AnswerKind.REJECT))
    desk.errands.cancelled.add(asked.id)
    with pytest.raises(ApprovalOver, match="cancelled"):
        await desk.answer(ANA, asked.id, ONCE)

    assert (await desk.approvals.get(ANA, asked.id)).status is Status.WAITING


async def test_members_see_their_own_and_whoever_answers_sees_all(desk: Desk) -> None:
    mias, bots = await desk.asked(MIA), await desk.asked()

    assert await desk.list(MIA, limit=9) == [mias]
    assert await desk.list(NEIL, limit=9) == []
    assert await desk.list(ANA, limit=9) == [bots, mias]
    assert await desk.list(ANA, statuses=[Status.REJECTED], limit=9) == []
    assert await desk.list(ANA, before=bots.id, limit=9) == [mias]
    assert [await desk.count(who, most=9) for who in (MIA, NEIL, ANA)] == [1, 0, 2]
    assert await desk.count(ANA, most=1) == 1
    assert await desk.show(MIA, mias.id) == mias
    assert await desk.show(replace(MIA, scopes=frozenset()), mias.id) == mias
    with pytest.raises(ApprovalNotFound):
        await desk.show(MIA, bots.id)
    with pytest.raises(NotPermitted):
        await desk.list(replace(MIA, scopes=frozenset()), limit=9)
    with pytest.raises(NotPermitted):
        await desk.count(replace(MIA, scopes=frozenset()), most=9)


async def test_what_has_expired_is_listed_as_that(desk: Desk, asked: Approval) -> None:
    desk.clock.turn(HOUR + timedelta(minutes=1))

    assert await desk.list(ANA, statuses=[Status.WAITING], limit=9) == []
    [over] = await desk.list(ANA, statuses=[Status.EXPIRED], limit=9)
    assert (over.id, over.status) == (asked.id, Status.EXPIRED)
    assert (await desk.show(ANA, asked.id)).status is Status.EXPIRED
    with pytest.raises(ApprovalOver, match="expired"):
        await desk.answer(ANA, asked.id, ONCE)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (Resolution.DONE, Outcome.DONE),
        (Resolution.SKIP, Outcome.SKIPPED),
        (Resolution.RETRY, None),
    ],
)
async def test_a_person_says_what_became_of_an_uncertain_one(
    said: Resolution,
    outcome: Outcome | None,
    desk: Desk,
) -> None:
    asked = await desk.uncertain()

    resolved = await desk.resolve(BEN, asked.id, said)

    assert resolved == await desk.approvals.get(ANA, asked.id)
    assert (resolved.outcome, resolved.resolved_by) == (outcome, "ben")
    assert resolved.used is (said is not Resolution.RETRY)
    assert desk.errands.taken_up == ([asked.id] if said is Resolution.RETRY else [])
    assert desk.audit.actions[-1] == "approval.resolved"
    assert desk.news.told[-1] == ("resolved", asked.id)


async def test_only_an_uncertain_one_is_resolved_and_not_by_its_asker(desk: Desk) -> None:
    asked = await desk.asked()
    unsure = await desk.uncertain()

    with pytest.raises(ApprovalOver):
        await desk.resolve(ANA, (await desk.asked(MIA)).id, Resolution.DONE)
    with pytest.raises(InvalidAnswer):
        await desk.resolve(ANA, asked.id, cast("Resolution", "done"))
    with pytest.raises(NotPermitted):
        await desk.resolve(BOT, unsure.id, Resolution.RETRY)


async def test_a_reason_keeps_no_secret(desk: Desk) -> None:
    assert shown_of({"a": 1}) == {"a": 1}
    assert shown_of("********") == {}

    reply = replace(ONCE, kind=AnswerKind.REJECT, reason=f"because {CANARY}")

    no = await desk.answer(ANA, (await desk.asked()).id, reply)

    assert no.answered is not None
    assert no.answered.reason == "because ********"
    assert CANARY not in str(desk.audit.acts)


async def test_whoever_answers_sees_what_will_be_done_also_where_it_looks_like_a_secret() -> None:
    desk = Desk()
    command = "deploy --password=x; rm -rf / # -----BEGIN PRIVATE KEY----- mail it"

    asked = await desk.asked(act=an_act(BOT, command=command))
    edited = await desk.answer(
        ANA, (await desk.asked()).id, replace(ONCE, arguments={"path": "/b?token=1234567890"})
    )

    assert asked.arguments == {"command": command}
    assert asked.marks == (ArgumentWarning("/command", Danger.COMMAND),)
    assert edited.arguments == {"path": "/b?token=1234567890"}


async def test_what_the_house_keeps_is_not_shown_and_that_is_said(desk: Desk) -> None:
    named: dict[str, Any] = {f"n-{CANARY}": 1}
    act = an_act(BOT, command=f"curl -H {CANARY}", plain="x", **named)

    asked = await desk.asked(act=act)
    edited = await desk.answer(ANA, asked.id, replace(ONCE, arguments={"path": f"/{CANARY}"}))

    assert CANARY not in str(asked)
    assert asked.marks == (
        ArgumentWarning("/command", Danger.HIDDEN),
        ArgumentWarning("/command", Danger.COMMAND),
        ArgumentWarning("/n-********", Danger.HIDDEN),
    )
    assert edited.marks == (
        ArgumentWarning("/path", Danger.HIDDEN),
        ArgumentWarning("/path", Danger.PATH),
    )


async def test_the_mark_of_a_secret_is_not_taken_for_the_secret(desk: Desk) -> None:
    asked = await desk.asked()

    for arguments in ({"path": "x ******** y"}, {"********": 1}, {"a": [{"b": "********"}]}):
        with pytest.raises(BlackedOut):
            await desk.answer(ANA, asked.id, replace(ONCE, arguments=arguments))

    assert (await desk.approvals.get(ANA, asked.id)).status is Status.WAITING


async def test_more_than_was_asked_for_is_allowed_by_whoever_makes_policy(desk: Desk) -> None:
    asked = await desk.asked()

    with pytest.raises(NotPermitted, match="policy:write"):
        await desk.answer(ANA, asked.id, replace(ALWAYS, pattern="files.*"))
    with pytest.raises(InvalidRule, match="does not stand for"):
        await desk.answer(ADMIN, asked.id, replace(ALWAYS, pattern="mail.*"))
    with pytest.raises(InvalidRule, match="must be a tool with wildcards"):
        await desk.answer(ADMIN, asked.id, replace(ALWAYS, pattern="files.delete" + "*" * 200))
    assert await desk.rules.all(ANA) == []

    await desk.answer(ANA, asked.id, replace(ALWAYS, pattern="files.delete"))
    assert [rule.tools for rule in await desk.rules.all(ANA)] == [("files.delete",)]


async def test_a_rule_that_an_answer_makes_is_in_the_audit_like_any_other(desk: Desk) -> None:
    await desk.answer(ANA, (await desk.asked(label=TEAM)).id, ALWAYS)

    assert desk.audit.actions == ["approval.asked", "policy.rule_added", "approval.answered"]
    facts: Any = desk.audit.acts[1]["facts"]
    assert (facts["tools"], facts["upto"]) == (["files.delete"], "team")


async def test_what_a_waiter_asked_before_answers_for_nothing_else() -> None:
    desk, waiter = Desk(), Waiter(RunId(UUID(int=1)), "~approval:send:1", PUBLIC)
    task = TaintContext(id=ContextId(BOT.id.value), label=PUBLIC)
    first = await desk.ask(an_act(BOT, path="/a"), task, NEEDED, waiter=waiter)
    await desk.answer(ANA, first.id, ONCE)

    with pytest.raises(AskedOtherwise, match=str(first.id)):
        await desk.ask(an_act(BOT, path="/b"), task, NEEDED, waiter=waiter)
    again = await desk.ask(an_act(BOT, path="/a"), task, NEEDED, waiter=waiter)

    assert again.id == first.id


async def test_no_more_wait_at_a_time_than_people_can_answer(desk: Desk) -> None:
    acts = [an_act(BOT, path=f"/{number}") for number in range(4)]
    first = await desk.asked(act=acts[0])
    for act in acts[1:3]:
        await desk.asked(act=act)

    with pytest.raises(TooManyPendingApprovals):
        await desk.asked(act=acts[3])
    assert (await desk.asked(act=acts[0])).id == first.id
    assert (await desk.asked(MIA)).status is Status.WAITING
    assert len(desk.errands.started) == 4
    await desk.answer(ANA, first.id, replace(ONCE, kind=AnswerKind.REJECT))

    assert (await desk.asked(act=acts[3])).status is Status.WAITING


async def test_whoever_looks_at_requests_has_read_them(desk: Desk) -> None:
    reader = replace(ANA, key="k1")
    assert await desk.list(reader, limit=9) == []
    assert not (await desk.contexts.get(reader)).untrusted
    secret = await desk.asked(label=TEAM)

    await desk.list(reader, limit=9)
    await desk.show(replace(ANA, key="k2"), secret.id)
    await desk.count(replace(ANA, key="k3"), most=9)

    for key in ("k1", "k2", "k3"):
        task = await desk.contexts.get(replace(ANA, key=key))
        assert (task.label, task.untrusted) == (TEAM, True)


class AnsweredMeanwhile(MemoryApprovals):
    """Somebody says yes between the look and the change."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.world)
        self._desk = desk

    async def withdraw(
        self, caller: Principal, approval: ApprovalId, now: object
    ) -> bool:  # it is too late
        await self._desk.answer(ANA, approval, ONCE)
        return False


async def test_only_whoever_asked_takes_it_back(desk: Desk, asked: Approval) -> None:
    with pytest.raises(ApprovalNotFound):
        await desk.withdraw(ANA, asked.id)

    closed = await desk.withdraw(BOT, asked.id)

    assert closed.status is Status.WITHDRAWN
    assert (await desk.show(BOT, asked.id)).status is Status.WITHDRAWN
    assert desk.errands.woken == [asked.id]
    assert desk.news.told[-1] == ("withdrawn", asked.id)
    assert desk.audit.actions[-1] == "approval.withdrawn"
    assert await desk.approvals.sealed(BOT, asked.id) == b""
    assert (await desk.asked()).id != asked.id


async def test_what_is_answered_is_not_taken_back(desk: Desk, asked: Approval) -> None:
    with pytest.raises(ApprovalOver, match="approved by ana"):
        await replace(desk.withdraw, approvals=AnsweredMeanwhile(desk))(BOT, asked.id)
    with pytest.raises(ApprovalOver, match="approved by ana"):
        await desk.withdraw(BOT, asked.id)


async def test_an_act_that_is_allowed_closes_what_waits_for_the_same(desk: Desk) -> None:
    asked, other = await desk.asked(), await desk.asked(act=an_act(BOT, path="/b"))

    assert await desk.withdraw.settled(an_act(BOT)) is None

    assert (await desk.show(BOT, asked.id)).status is Status.WITHDRAWN
    assert (await desk.show(BOT, other.id)).status is Status.WAITING


async def test_a_yes_that_comes_meanwhile_is_the_one_that_counts(desk: Desk) -> None:
    asked = await desk.asked()

    found = await replace(desk.withdraw, approvals=AnsweredMeanwhile(desk)).settled(an_act(BOT))

    assert found is not None
    assert (found.id, found.status) == (asked.id, Status.APPROVED)


async def made(desk: Desk) -> Approval:
    asked = await desk.asked()
    await desk.answer(ANA, asked.id, ONCE)
    await desk.approvals.claim(BOT, asked.id, desk.clock.now())
    ended = replace(asked, outcome=Outcome.DONE, ended_at=desk.clock.now())
    await desk.approvals.end(BOT, ended)
    return asked


async def test_what_was_made_is_collected_for_a_day(desk: Desk) -> None:
    asked = await made(desk)

    found = await desk.withdraw.settled(an_act(BOT))
    desk.clock.turn(25 * HOUR)

    assert found is not None
    assert found.id == asked.id
    assert await desk.withdraw.settled(an_act(BOT)) is None


async def test_what_a_rule_asks_is_not_answered_for_longer(desk: Desk, asked: Approval) -> None:
    await desk.rules.add(ANA, Rule(name="ask-bot", ruling=Ruling.ASK, tools=("files.*",)))

    with pytest.raises(RuleAsksOn, match="ask-bot"):
        await desk.answer(ANA, asked.id, ALWAYS)

    assert (await desk.answer(ANA, asked.id, ONCE)).status is Status.APPROVED
