"""Deciding costs a look at the task only where the task could matter."""

from dataclasses import replace

from portico.guard.core.act import Act, Aim, Allowed, NeedsApproval
from portico.guard.core.context import context_of
from portico.guard.core.rules import Rule, Ruling
from portico.guard.decide import Decide
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.testing.guard import TEAM, a_person
from portico.testing.guard_policy import MemoryContexts, MemoryRules
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock

SECRET = Label(Level.RESTRICTED)
ANA = replace(a_person("ana"), key="k1", reach=TEAM)
AIM = Aim(tool="git.use", server="git", effect=Effect.EXTERNAL_READ, pin="p", clearance=TEAM)
READ = Act(caller=ANA, aim=AIM)
DROP = replace(READ, aim=replace(AIM, effect=Effect.IRREVERSIBLE))
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
    await contexts.rise(ANA, TEAM, untrusted=True)
    after = await decide(DROP)

    assert isinstance(before, Allowed)
    assert after == NeedsApproval(
        "default:taint", "the task has read what strangers wrote, and it cannot be undone"
    )
    assert contexts.looked == 2


async def test_a_task_that_has_read_more_than_the_caller_may_now_is_looked_at() -> None:
    contexts = MemoryContexts()
    lowered = replace(ANA, reach=SECRET)
    await contexts.rise(lowered, SECRET, untrusted=True)

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
