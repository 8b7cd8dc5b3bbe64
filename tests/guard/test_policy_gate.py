"""The gate and its decisions: what passes, what asks, what is refused, and what is written down."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.access_request import (
    AccessRequest,
    Action,
    ActionTarget,
    Allowed,
    NeedsApproval,
    TaintContext,
)
from portico.guard.core.approvals import ApprovalGrant
from portico.guard.core.audit import AuditEntry, act_text
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import LimitReached, NotPermitted, Refused
from portico.guard.core.policy import NO_TASK
from portico.guard.core.rules import Rule, Ruling
from portico.guard.policy import Decide
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, ContextId
from portico.kernel.json import JsonObject, NotCanonical
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import TEAM, MemoryContexts, MemoryRules, a_gate, a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy, TickingClock

ANA = replace(a_person("ana"), key="k1", reach=TEAM)
AIM = ActionTarget(
    tool="git.use", server="git", effect=Effect.EXTERNAL_READ, pin="p", clearance=TEAM
)
READ = AccessRequest(caller=ANA, target=AIM, arguments={"query": "the secret"})
DROP = replace(READ, target=replace(AIM, effect=Effect.IRREVERSIBLE))
DENY = Rule(name="no", ruling=Ruling.DENY, tools=("git.*",))
DENIED = Refused("git.use", "no", "because", who="ana")
APPROVAL = ApprovalId.mint(BEGINNING, SeededEntropy("approval"))


class Book:
    """An audit that tells what was written at once from what was left for later."""

    def __init__(self) -> None:
        self.at_once: list[AuditEntry] = []
        self.behind: list[AuditEntry] = []

    async def note(self, caller: Principal, *entries: AuditEntry) -> None:
        self.at_once += entries

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None:
        self.at_once.append(entry)

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None:
        self.behind.append(entry)


@pytest.fixture
def book() -> Book:
    return Book()


class Spent:
    """Nothing is left of the caller's own limit, or of one that is everybody's."""

    def __init__(self, *, own: bool) -> None:
        self.own = own
        self.shared_taken = 0

    async def take_own(self, act: AccessRequest) -> None:
        if self.own:
            raise LimitReached("calls by ana", 1, timedelta(seconds=1))

    async def take_shared(self, act: AccessRequest) -> None:
        self.shared_taken += 1
        raise LimitReached("calls of the server git", 1, timedelta(seconds=1))

    async def take_ahead(self, act: AccessRequest, share: float) -> None:
        raise LimitReached("calls of the server git", 1, timedelta(seconds=1))


def a_ticket(act: AccessRequest) -> ApprovalGrant:
    return ApprovalGrant(approval=APPROVAL, hash=act.hash, by="bea")


async def test_a_read_passes_and_is_written_down_behind(book: Book) -> None:
    decision = await a_gate(journal=book)(READ)

    assert isinstance(decision, Allowed)
    assert book.at_once == []
    assert [(entry.action, entry.subject, entry.rule) for entry in book.behind] == [
        ("call.allowed", "git.use", "default:reads")
    ]


async def test_a_change_is_written_down_before_it_is_made(book: Book) -> None:
    change = replace(READ, target=replace(AIM, effect=Effect.LOCAL_WRITE))

    await a_gate(journal=book)(change)

    assert [entry.action for entry in book.at_once] == ["call.allowed"]
    assert book.behind == []


async def test_what_is_denied_is_refused_with_the_rule_and_the_reason(book: Book) -> None:
    gate = a_gate(rules=MemoryRules([DENY]), journal=book)

    with pytest.raises(Refused) as caught:
        await gate(READ)

    assert (caught.value.rule, caught.value.tool) == ("no", "git.use")
    assert caught.value.fix == "See why: portico policy explain key:k1 git.use"
    assert [(entry.action, entry.rule) for entry in book.at_once] == [("call.denied", "no")]


async def test_what_needs_approval_is_said_and_written_down(book: Book) -> None:
    decision = await a_gate(journal=book)(DROP)

    assert isinstance(decision, NeedsApproval)
    assert [entry.action for entry in book.at_once] == ["call.asked"]


async def test_a_ticket_is_the_approval_of_exactly_its_act(book: Book) -> None:
    decision = await a_gate(journal=book)(DROP, ticket=a_ticket(DROP))

    assert decision == Allowed(f"approval:{APPROVAL}", "bea has approved it")
    assert [entry.action for entry in book.at_once] == ["call.allowed"]


@pytest.mark.parametrize(
    "other",
    [
        replace(DROP, arguments={"query": "another"}),
        replace(DROP, caller=a_person("ben")),
        replace(DROP, target=replace(DROP.target, pin="p2")),
        replace(DROP, target=replace(DROP.target, tool="git.use2")),
        replace(DROP, action=Action.GET_PROMPT),
    ],
    ids=["arguments", "principal", "pin", "tool", "action"],
)
async def test_a_ticket_is_good_for_nothing_else(other: AccessRequest) -> None:
    decision = await a_gate()(DROP, ticket=a_ticket(other))

    assert isinstance(decision, NeedsApproval)


async def test_a_ticket_lifts_no_denial() -> None:
    with pytest.raises(Refused):
        await a_gate(rules=MemoryRules([DENY]))(DROP, ticket=a_ticket(DROP))


async def test_no_value_of_an_argument_is_written_down(book: Book) -> None:
    arguments = {f"name {number}{'x' * 100}": "the secret" for number in range(30)}

    await a_gate(journal=book)(replace(DROP, arguments=arguments))

    entry = book.at_once[0]
    assert "the secret" not in repr(entry)
    assert entry.details["hash"] == replace(DROP, arguments=arguments).hash
    names = entry.details["arguments"]
    assert isinstance(names, list)
    assert len(names) == 20
    assert all(len(name) == 64 for name in names if isinstance(name, str))


@pytest.mark.parametrize("own", [True, False])
async def test_past_a_limit_nothing_is_allowed_and_the_first_in_a_minute_is_written_down(
    own: bool,
    book: Book,
) -> None:
    gate = a_gate(limits=Spent(own=own), journal=book)

    for act in (READ, READ, replace(READ, caller=a_person("ben"))):
        with pytest.raises(LimitReached):
            await gate(act)

    assert book.at_once == []
    assert [(entry.action, entry.subject) for entry in book.behind] == [
        ("call.limited", "git.use")
    ] * 2
    assert book.behind[0].reason == (
        f"There may be 1 calls {'by ana' if own else 'of the server git'} in a minute, "
        "and there were."
    )


async def test_who_is_refused_or_has_to_ask_uses_up_nothing_that_is_everybodys() -> None:
    limits = Spent(own=False)

    with pytest.raises(Refused):
        await a_gate(limits=limits, rules=MemoryRules([DENY]))(READ)
    assert isinstance(await a_gate(limits=limits)(DROP), NeedsApproval)
    assert limits.shared_taken == 0

    with pytest.raises(LimitReached):
        await a_gate(limits=limits)(DROP, ticket=a_ticket(DROP))
    assert limits.shared_taken == 1


@pytest.mark.parametrize("arguments", [{"\ud800": 1}, {"name": "\udfff"}])
async def test_arguments_that_are_no_json_are_refused_and_written_down(
    arguments: JsonObject,
    book: Book,
) -> None:
    with pytest.raises(NotCanonical):
        await a_gate(journal=book)(replace(READ, arguments=arguments))

    [entry] = book.at_once
    assert (entry.action, entry.rule) == ("call.denied", "default:arguments")
    assert entry.details["arguments"] == [name.replace("\ud800", "\\ud800") for name in arguments]
    assert act_text(ANA, entry)


async def test_who_is_refused_in_front_of_it_is_written_down_once_a_minute(book: Book) -> None:
    gate = a_gate(journal=book)

    def refuse(tool: str, error: PorticoError) -> None:
        with pytest.raises(type(error)), gate.in_front(ANA, Action.CALL, tool):
            raise error

    for tool in ("git.use", "git.use", "git.drop"):
        refuse(tool, DENIED)
        refuse(tool, NotPermitted("ana", "tools:call"))
    refuse("git.none", LimitReached("anything", 1, timedelta(seconds=1)))

    assert [(entry.action, entry.subject, entry.rule) for entry in book.behind] == [
        ("call.denied", "git.use", "default:refused"),
        ("call.denied", "git.use", "default:not_permitted"),
        ("call.denied", "git.drop", "default:refused"),
    ]
    assert book.at_once == []


async def test_what_names_a_tool_in_the_audit_can_be_written(book: Book) -> None:
    with pytest.raises(Refused), a_gate(journal=book).in_front(ANA, Action.CALL, "a\ud800" * 200):
        raise DENIED

    [entry] = book.behind
    assert entry.subject.startswith("a\\ud800a")
    assert act_text(ANA, entry)


async def test_a_task_takes_in_what_it_is_given() -> None:
    contexts = MemoryContexts()
    gate = a_gate(contexts=contexts)

    await gate.taint_context(ANA, replace(AIM, trusted=True))
    assert contexts.tasks == {}

    await gate.taint_context(ANA, replace(AIM, label=TEAM, trusted=True))
    assert contexts.tasks[context_of(ANA)].label == TEAM
    assert not contexts.tasks[context_of(ANA)].untrusted

    await gate.taint_context(ANA, AIM)
    assert contexts.tasks[context_of(ANA)].untrusted
    assert contexts.tasks[context_of(ANA)].label == TEAM


async def test_what_was_taken_in_counts_in_the_next_decision() -> None:
    allow = Rule(name="yes", ruling=Ruling.ALLOW, tools=("*",))
    gate = a_gate(rules=MemoryRules([allow]))

    assert isinstance(await gate(DROP), Allowed)
    await gate.taint_context(ANA, AIM)
    assert isinstance(await gate(DROP), NeedsApproval)


ALLOWED = Allowed("default:reads", "it only reads")


def test_what_is_made_ahead_of_time_is_in_the_audit_as_such(book: Book) -> None:
    a_gate(journal=book).made_ahead(READ, ALLOWED)

    [entry] = book.behind
    assert (entry.action, entry.rule) == ("call.allowed", "default:reads")
    assert (entry.details["ahead"], entry.details["hash"]) == (True, READ.hash)


async def test_it_can_be_asked_what_would_be_decided_in_another_task() -> None:
    away = replace(READ, target=replace(AIM, effect=Effect.EXTERNAL_READ))
    task = TaintContext(id=NO_TASK, label=Label(Level.CONFIDENTIAL))
    decide = a_gate().decide

    now = await decide(away)
    then = await decide.in_task(away, task)

    assert isinstance(now, Allowed)
    assert isinstance(then, NeedsApproval)


SECRET = Label(Level.RESTRICTED)


OTHER_TASK = ContextId.mint(BEGINNING, SeededEntropy("other"))


def a_decide(contexts: MemoryContexts, *rules: Rule) -> Decide:
    return Decide(rules=MemoryRules(rules), contexts=contexts, clock=TickingClock())


async def test_what_the_worst_task_may_is_decided_without_a_look() -> None:
    contexts = MemoryContexts()

    decision = await a_decide(contexts)(READ)

    assert isinstance(decision, Allowed)
    assert contexts.looked == 0


async def test_what_depends_on_the_task_is_decided_by_it() -> None:
    contexts = MemoryContexts()
    allow = Rule(name="yes", ruling=Ruling.ALLOW, tools=("*",))
    decide = a_decide(contexts, allow)

    before = await decide(DROP)
    await contexts.raise_taint(ANA, TEAM, untrusted=True)
    after = await decide(DROP)

    assert isinstance(before, Allowed)
    assert after == NeedsApproval(
        "default:taint", "the task has read what strangers wrote, and it cannot be undone"
    )
    assert contexts.looked == 2


async def test_a_task_that_has_read_more_than_the_caller_may_now_is_looked_at() -> None:
    contexts = MemoryContexts()
    lowered = replace(ANA, reach=SECRET)
    await contexts.raise_taint(lowered, SECRET, untrusted=True)

    decision = await a_decide(contexts)(replace(READ, caller=lowered))

    assert decision.rule == "default:flow"


async def test_a_task_that_is_named_and_one_of_no_key_are_always_looked_at() -> None:
    contexts = MemoryContexts()
    decide = a_decide(contexts)

    await decide(replace(READ, caller=replace(ANA, context=OTHER_TASK)))
    await decide(replace(READ, caller=replace(ANA, key=None, reach=None)))

    assert contexts.looked == 2


async def test_a_rule_for_one_task_allows_in_that_task_alone() -> None:
    allow = Rule(name="run", ruling=Ruling.ALLOW, tools=("*",), context=context_of(ANA))
    decide = a_decide(MemoryContexts(), allow)

    assert isinstance(await decide(DROP), Allowed)
    elsewhere = replace(DROP, caller=replace(ANA, context=OTHER_TASK))
    assert isinstance(await decide(elsewhere), NeedsApproval)


async def test_a_rule_for_one_task_denies_in_that_task() -> None:
    deny = Rule(name="no", ruling=Ruling.DENY, tools=("*",), context=context_of(ANA))
    decide = a_decide(MemoryContexts(), deny)

    assert (await decide(READ)).rule == "no"
    assert isinstance(await decide(replace(READ, caller=replace(ANA, key="k2"))), Allowed)
