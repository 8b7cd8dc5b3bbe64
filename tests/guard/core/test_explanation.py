"""Why it was decided so, and what would change it."""

from dataclasses import replace

from hypothesis import given

from portico.guard.core.act import Act, Aim, Allowed, Denied, NeedsApproval, TaskContext
from portico.guard.core.explanation import Explanation, explain
from portico.guard.core.policy import decide
from portico.guard.core.roles import Role
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING
from tests.guard.core.policies import TASK, acts, rule_lists, tasks

NOW = BEGINNING
TEAM = Label(Level.TEAM)
CLEAN = TaskContext(id=TASK)
AIM = Aim(tool="git.use", server="git", effect=Effect.IRREVERSIBLE, pin="p", clearance=TEAM)
ACT = Act(caller=a_person("ana"), aim=AIM)
DENY = Rule(name="no", ruling=Ruling.DENY, tools=("git.*",))
ALLOW = Rule(name="yes", ruling=Ruling.ALLOW, tools=("git.*",))


def told(found: Explanation) -> dict[str, type]:
    return {each.when: type(each.decision) for each in found.otherwise}


def test_what_needs_approval_names_the_rule_that_would_allow_it() -> None:
    found = explain(ACT, CLEAN, [], NOW)

    assert isinstance(found.decision, NeedsApproval)
    assert told(found) == {
        "with a rule that allows it: portico policy allow git.use --who ana": Allowed,
        "with a rule that allows it: portico policy allow git.use --who ana --tainted": Allowed,
    }


def test_what_is_denied_names_the_rule_that_does_it() -> None:
    found = explain(ACT, CLEAN, [DENY, ALLOW], NOW)

    assert found.decision == Denied("no", "a rule of this space denies it")
    assert found.matched == [DENY, ALLOW]
    assert told(found) == {"without the rule no": Allowed}


def test_what_is_allowed_now_is_told_to_end_once_strangers_were_read() -> None:
    found = explain(ACT, CLEAN, [ALLOW], NOW)

    assert isinstance(found.decision, Allowed)
    assert told(found) == {
        "once the task has read what strangers wrote": NeedsApproval,
        "without the rule yes": NeedsApproval,
    }


def test_a_task_that_has_read_too_much_is_told_apart_from_a_clean_one() -> None:
    found = explain(ACT, TaskContext(id=TASK, untrusted=True), [ALLOW], NOW)

    assert told(found)["in a task that has read nothing yet"] is Allowed


def test_the_rule_that_would_allow_it_goes_as_far_as_the_task_has_read_and_no_further() -> None:
    found = explain(ACT, TaskContext(id=TASK, label=TEAM, untrusted=True), [], NOW)

    command = "portico policy allow git.use --who ana --tainted --upto team"
    assert told(found) == {f"with a rule that allows it: {command}": Allowed}


def test_what_is_missing_is_named() -> None:
    waiting = replace(ACT, aim=replace(AIM, live=False))
    reader = replace(ACT, caller=a_person("vera", roles=[Role.VIEWER]))
    listed = replace(ACT, caller=replace(ACT.caller, tools=(("mail.*",),)))

    assert told(explain(waiting, CLEAN, [], NOW)) == {
        "once it is approved: portico servers approve git": NeedsApproval
    }
    assert told(explain(reader, CLEAN, [], NOW)) == {
        "with a key that has tools:write": NeedsApproval
    }
    assert told(explain(listed, CLEAN, [], NOW)) == {
        "if it were on the list of tools of the key and its principal": NeedsApproval
    }


@given(acts, tasks, rule_lists)
def test_it_tells_the_decision_that_would_be_made_and_only_what_changes_it(
    act: Act, task: TaskContext, some: list[Rule]
) -> None:
    found = explain(act, task, some, NOW)

    assert found.decision == decide(act, task, some, NOW)
    assert all(type(each.decision) is not type(found.decision) for each in found.otherwise)
