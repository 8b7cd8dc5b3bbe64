"""The decision: a table of what is decided, what holds whatever the rules are, and why it is so."""

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.guard.core.access_request import (
    AccessRequest,
    ActionTarget,
    Allowed,
    Denied,
    NeedsApproval,
    TaintContext,
)
from portico.guard.core.policy import (
    NO_TASK,
    ArgumentWarning,
    Danger,
    Explanation,
    decide,
    explain,
    marked,
    worst_task,
)
from portico.guard.core.principals import Role, Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling, in_any_task
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, Level, join, meet
from portico.kernel.principal import Principal
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING
from tests.guard.core.policies import TASK, acts, labels, rule_lists, rules, strictness, tasks

NOW = BEGINNING
TEAM = Label(Level.TEAM)
SECRET = Label(Level.RESTRICTED, frozenset({"finance"}))

MEMBER = a_person("ana")
VIEWER = a_person("vera", roles=[Role.VIEWER])
NOBODY = a_person("nick", roles=[])

CLEAN = TaintContext(id=TASK)
TOLD = TaintContext(id=TASK, untrusted=True)
PRIVATE = TaintContext(id=TASK, label=TEAM)
BOTH = TaintContext(id=TASK, label=TEAM, untrusted=True)
ABOVE = TaintContext(id=TASK, label=SECRET)

DENY = Rule(name="no", ruling=Ruling.DENY, tools=("git.*",))
ASK = Rule(name="please", ruling=Ruling.ASK, tools=("git.*",))
ASK_READS = replace(ASK, reads=True)
ALLOW = Rule(name="yes", ruling=Ruling.ALLOW, tools=("git.*",))
ALLOW_ALL = replace(ALLOW, tainted=True, max_label=SECRET)
ALLOW_TOLD = replace(ALLOW, tainted=True)
ALLOW_TEAM = replace(ALLOW, tainted=True, max_label=TEAM)


def an_act(
    effect: Effect = Effect.EXTERNAL_READ, caller: Principal = MEMBER, tool: str = "git.use"
) -> AccessRequest:
    aim = ActionTarget(tool=tool, server="git", effect=effect, pin="p", clearance=TEAM)
    return AccessRequest(caller=caller, target=aim)


def listed(*lists: tuple[str, ...]) -> AccessRequest:
    return an_act(caller=replace(MEMBER, tools=lists))


READ, LOCAL = an_act(), an_act(Effect.LOCAL_READ)
LOCAL_ELSEWHERE = replace(LOCAL, target=replace(LOCAL.target, outside=True))
CHANGE, SEND = an_act(Effect.LOCAL_WRITE), an_act(Effect.EXTERNAL_WRITE)
DROP, UNKNOWN = an_act(Effect.IRREVERSIBLE), an_act(Effect.UNKNOWN)
WAITING = replace(READ, target=replace(READ.target, live=False))
TOO_HIGH = replace(READ, target=replace(READ.target, label=SECRET))

TABLE = [
    # the defaults
    (READ, CLEAN, [], Allowed, "default:reads"),
    (an_act(Effect.PURE), CLEAN, [], Allowed, "default:reads"),
    (CHANGE, CLEAN, [], Allowed, "default:writes"),
    (SEND, CLEAN, [], Allowed, "default:writes"),
    (DROP, CLEAN, [], NeedsApproval, "default:destroys"),
    (UNKNOWN, CLEAN, [], NeedsApproval, "default:destroys"),
    # what bars it
    (WAITING, CLEAN, [ALLOW_ALL], Denied, "default:approved"),
    (an_act(caller=NOBODY), CLEAN, [ALLOW_ALL], Denied, "default:scope"),
    (an_act(caller=VIEWER), CLEAN, [], Allowed, "default:reads"),
    (an_act(Effect.LOCAL_WRITE, VIEWER), CLEAN, [ALLOW_ALL], Denied, "default:scope"),
    (TOO_HIGH, CLEAN, [ALLOW_ALL], Denied, "default:clearance"),
    (listed(("git.*",), ("*.use",)), CLEAN, [], Allowed, "default:reads"),
    (listed(("git.*",), ("mail.*",)), CLEAN, [ALLOW_ALL], Denied, "default:list"),
    (listed(()), CLEAN, [], Denied, "default:list"),
    # rules: deny before ask before allow
    (READ, CLEAN, [ALLOW_ALL, ASK, DENY], Denied, "no"),
    (CHANGE, CLEAN, [ALLOW_ALL, ASK], NeedsApproval, "please"),
    (READ, CLEAN, [ASK], Allowed, "default:reads"),
    (READ, CLEAN, [ASK_READS], NeedsApproval, "please"),
    (DROP, CLEAN, [ALLOW], Allowed, "yes"),
    (READ, CLEAN, [ALLOW], Allowed, "yes"),
    # what the task has read, and where it would go
    (READ, ABOVE, [], NeedsApproval, "default:flow"),
    (LOCAL_ELSEWHERE, ABOVE, [], NeedsApproval, "default:flow"),
    (LOCAL_ELSEWHERE, BOTH, [], Allowed, "default:reads"),
    (READ, ABOVE, [ALLOW], NeedsApproval, "default:flow"),
    (READ, ABOVE, [ALLOW_ALL], Allowed, "yes"),
    (READ, ABOVE, [ALLOW_ALL, ASK_READS], NeedsApproval, "please"),
    (LOCAL, ABOVE, [], Allowed, "default:reads"),
    (CHANGE, ABOVE, [], NeedsApproval, "default:flow"),
    (READ, PRIVATE, [], Allowed, "default:reads"),
    (SEND, PRIVATE, [], Allowed, "default:writes"),
    (SEND, TOLD, [], Allowed, "default:writes"),
    (SEND, BOTH, [], NeedsApproval, "default:taint"),
    (SEND, BOTH, [ALLOW], NeedsApproval, "default:taint"),
    (SEND, BOTH, [ALLOW_ALL], Allowed, "yes"),
    (CHANGE, BOTH, [], Allowed, "default:writes"),
    (READ, BOTH, [], Allowed, "default:reads"),
    (DROP, TOLD, [ALLOW], NeedsApproval, "default:taint"),
    (DROP, TOLD, [ALLOW_ALL], Allowed, "yes"),
    # no further than whoever made the rule had in mind
    (DROP, TOLD, [ALLOW_TOLD], Allowed, "yes"),
    (DROP, BOTH, [ALLOW_TOLD], NeedsApproval, "default:taint"),
    (DROP, BOTH, [ALLOW_TEAM], Allowed, "yes"),
    (SEND, BOTH, [ALLOW_TEAM], Allowed, "yes"),
    (READ, ABOVE, [ALLOW_TEAM], NeedsApproval, "default:flow"),
    (READ, ABOVE, [ALLOW_TEAM, ALLOW_ALL], Allowed, "yes"),
]


@pytest.mark.parametrize(("act", "context", "found", "kind", "rule"), TABLE)
def test_the_table_of_decisions(
    act: AccessRequest, context: TaintContext, found: list[Rule], kind: type, rule: str
) -> None:
    decision = decide(act, context, found, NOW)

    assert (type(decision), decision.rule) == (kind, rule)
    assert decision.reason


def test_a_decision_says_whose_rule_it_was_and_why() -> None:
    of_the_file = replace(DENY, source=RuleSource.FILE)
    hers = replace(DENY, made_by="bea")

    assert decide(READ, CLEAN, [of_the_file], NOW).reason == "a rule in portico.toml denies it"
    assert decide(READ, CLEAN, [hers], NOW).reason == "a rule that bea made denies it"
    assert decide(READ, CLEAN, [DENY], NOW).reason == "a rule of this space denies it"

    assert decide(UNKNOWN, CLEAN, [], NOW).reason == "nobody has said what it changes"
    assert decide(DROP, CLEAN, [], NOW).reason == "it cannot be undone"


def test_an_expired_rule_decides_nothing() -> None:
    over = replace(DENY, expires_at=NOW)
    not_yet = replace(DENY, expires_at=NOW + timedelta(seconds=1))

    assert isinstance(decide(READ, CLEAN, [over], NOW), Allowed)
    assert isinstance(decide(READ, CLEAN, [not_yet], NOW), Denied)


@given(acts, tasks, rule_lists, rules)
def test_one_more_rule_that_denies_or_asks_never_widens(
    act: AccessRequest, task: TaintContext, some: list[Rule], more: Rule
) -> None:
    before = decide(act, task, some, NOW)

    for ruling in (Ruling.DENY, Ruling.ASK):
        after = decide(act, task, [*some, replace(more, ruling=ruling)], NOW)
        assert strictness(after) >= strictness(before)


@given(acts, tasks, rule_lists, st.sampled_from(Effect))
def test_a_worse_effect_never_widens(
    act: AccessRequest, task: TaintContext, some: list[Rule], other: Effect
) -> None:
    worse = max(act.target.effect, other, key=lambda effect: effect.rank)
    raised = replace(act, target=replace(act.target, effect=worse))

    before, after = decide(act, task, some, NOW), decide(raised, task, some, NOW)

    assert strictness(after) >= strictness(before)


@given(acts, tasks, rule_lists, labels)
def test_having_read_more_never_widens(
    act: AccessRequest, task: TaintContext, some: list[Rule], label: Label
) -> None:
    more = replace(task, label=join([task.label, label]), untrusted=True)
    higher = replace(act, target=replace(act.target, label=join([act.target.label, label])))
    before = decide(act, task, some, NOW)

    assert strictness(decide(act, more, some, NOW)) >= strictness(before)
    assert strictness(decide(higher, task, some, NOW)) >= strictness(before)


narrowings = st.tuples(
    st.frozensets(st.sampled_from(Scope)), labels, st.sampled_from(["*", "git.*", "mail.*"])
)


@given(acts, tasks, rule_lists, narrowings)
def test_a_narrower_key_never_gets_more(
    act: AccessRequest,
    task: TaintContext,
    some: list[Rule],
    by: tuple[frozenset[Scope], Label, str],
) -> None:
    (scopes, clearance, listed), caller = by, act.caller
    narrow = replace(
        caller,
        scopes=caller.scopes & scopes,
        clearance=meet(caller.clearance, clearance),
        tools=(*caller.tools, (listed,)),
    )

    before = decide(act, task, some, NOW)

    assert strictness(decide(replace(act, caller=narrow), task, some, NOW)) >= strictness(before)


@given(acts, tasks, rule_lists, st.randoms())
def test_the_order_of_rules_never_matters(
    act: AccessRequest, task: TaintContext, some: list[Rule], chance: Random
) -> None:
    named = [replace(rule, name=f"r{number}") for number, rule in enumerate(some)]
    mixed = [*named]
    chance.shuffle(mixed)

    assert decide(act, task, mixed, NOW) == decide(act, task, named, NOW)


@settings(max_examples=500)
@given(acts, rule_lists, labels, st.booleans(), st.sampled_from([TASK, NO_TASK]))
def test_what_the_worst_task_may_every_task_may(
    act: AccessRequest, some: list[Rule], label: Label, untrusted: bool, task: ContextId
) -> None:
    reach = join([act.caller.clearance, label])
    worst = decide(act, worst_task(reach), in_any_task(some), NOW)

    actual = decide(act, TaintContext(id=task, label=label, untrusted=untrusted), some, NOW)

    if isinstance(worst, Allowed):
        assert isinstance(actual, Allowed)


AIM = ActionTarget(
    tool="git.use", server="git", effect=Effect.IRREVERSIBLE, pin="p", clearance=TEAM
)
ACT = AccessRequest(caller=a_person("ana"), target=AIM)


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
    found = explain(ACT, TaintContext(id=TASK, untrusted=True), [ALLOW], NOW)

    assert told(found)["in a task that has read nothing yet"] is Allowed


def test_the_rule_that_would_allow_it_goes_as_far_as_the_task_has_read_and_no_further() -> None:
    found = explain(ACT, TaintContext(id=TASK, label=TEAM, untrusted=True), [], NOW)

    command = "portico policy allow git.use --who ana --tainted --upto team"
    assert told(found) == {f"with a rule that allows it: {command}": Allowed}


def test_what_is_missing_is_named() -> None:
    waiting = replace(ACT, target=replace(AIM, live=False))
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
    act: AccessRequest, task: TaintContext, some: list[Rule]
) -> None:
    found = explain(act, task, some, NOW)

    assert found.decision == decide(act, task, some, NOW)
    assert all(type(each.decision) is not type(found.decision) for each in found.otherwise)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("arguments", "marks"),
    [
        ({"path": "notes.txt"}, [("/path", Danger.PATH)]),
        ({"sourcePath": "x"}, [("/sourcePath", Danger.PATH)]),
        ({"what": "/etc/passwd"}, [("/what", Danger.PATH)]),
        ({"what": "../../x"}, [("/what", Danger.PATH)]),
        ({"what": "~/x"}, [("/what", Danger.PATH)]),
        ({"what": "C:\\x"}, [("/what", Danger.PATH)]),
        ({"command": "ls"}, [("/command", Danger.COMMAND)]),
        ({"sql_query": "DROP TABLE a"}, [("/sql_query", Danger.COMMAND)]),
        ({"text": "https://x.example/a"}, [("/text", Danger.ADDRESS)]),
        ({"URL": "x"}, [("/URL", Danger.ADDRESS)]),
        ({"to": ["a", "b"]}, [("/to/0", Danger.RECIPIENT), ("/to/1", Danger.RECIPIENT)]),
        ({"note": "ana@x.example"}, [("/note", Danger.RECIPIENT)]),
        ({"path": "a", "to": "b/a.md"}, [("/path", Danger.PATH), ("/to", Danger.PATH)]),
        ({"path": "a", "to": "b@x.org"}, [("/path", Danger.PATH), ("/to", Danger.RECIPIENT)]),
        ({"path": "a", "to": "bob"}, [("/path", Danger.PATH), ("/to", Danger.RECIPIENT)]),
        ({"path": "a", "to": ["b.md"]}, [("/path", Danger.PATH), ("/to/0", Danger.RECIPIENT)]),
        ({"text": "a", "to": "b/a.md"}, [("/to", Danger.RECIPIENT)]),
        ({"force": True}, [("/force", Danger.DELETION)]),
        ({"deletePath": "x"}, [("/deletePath", Danger.DELETION)]),
        ({"a/b~c": {"host": "x"}}, [("/a~1b~0c/host", Danger.ADDRESS)]),
        ({"force": False, "url": None, "to": 7, "text": "hello", "n": True}, []),
        ({}, []),
    ],
)
def test_paths_commands_addresses_recipients_and_deletions_are_marked(
    arguments: JsonObject, marks: list[tuple[str, Danger]]
) -> None:
    assert marked(arguments) == tuple(ArgumentWarning(pointer, why) for pointer, why in marks)


def test_where_there_is_too_much_the_worst_is_marked_and_the_whole_too() -> None:
    found = marked({"path": ["/a"] * 1000, "command": "rm -rf /"})

    assert len(found) == 51
    assert found[0] == ArgumentWarning("/command", Danger.COMMAND)
    assert found[-1] == ArgumentWarning("", Danger.UNSEEN)


@pytest.mark.parametrize(
    ("arguments", "shown", "marks"),
    [
        ({"a": "x secret"}, {"a": "x ********"}, [("/a", Danger.HIDDEN)]),
        ({"a": [1, 2]}, {"a": [1, "********"]}, [("/a/1", Danger.HIDDEN)]),
        ({"a": {"s1": 1, "s2": 2}}, {"a": {"********": 2}}, [("/a", Danger.HIDDEN)]),
        ({"a": {"s1": 1}}, {"a": "********"}, [("/a", Danger.HIDDEN)]),
        ({"a": [1]}, {"a": None}, [("/a/0", Danger.HIDDEN)]),
        ({"url s1": "x"}, {"url *": "x"}, [("/url *", Danger.HIDDEN), ("/url *", Danger.ADDRESS)]),
        ({"to": "x s"}, {"to": "x *"}, [("/to", Danger.HIDDEN), ("/to", Danger.RECIPIENT)]),
    ],
)
def test_what_is_not_shown_is_marked_where_it_is_missing(
    arguments: JsonObject, shown: JsonObject, marks: list[tuple[str, Danger]]
) -> None:
    assert marked(arguments, shown) == tuple(
        ArgumentWarning(pointer, why) for pointer, why in marks
    )


def test_what_lies_too_deep_to_be_looked_through_is_marked_as_that() -> None:
    deep: JsonValue = "/etc/passwd"
    for _ in range(1000):
        deep = [deep]

    [mark] = marked({"path": deep})
    assert (mark.pointer, mark.why) == ("/path" + "/0" * 19, Danger.UNSEEN)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=9), JSON, max_size=4))
def test_every_mark_points_to_something(arguments: dict[str, JsonValue]) -> None:
    for mark in marked(arguments):
        found: Any = arguments
        for part in mark.pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
        assert mark.why is Danger.UNSEEN or found is True or isinstance(found, str)
