"""Random people, tools, tasks and rules, for what holds of all of them."""

from hypothesis import strategies as st

from portico.guard.core.access_request import (
    AccessRequest,
    ActionTarget,
    Allowed,
    Decision,
    Denied,
    NeedsApproval,
    TaintContext,
)
from portico.guard.core.policy import NO_TASK
from portico.guard.core.principals import Role, Scope, scopes_of
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import BEGINNING, SeededEntropy

NOW = BEGINNING
TASK = ContextId.mint(BEGINNING, SeededEntropy("task"))
SPACE = SpaceId.mint(BEGINNING, SeededEntropy("space"))
ANA = PrincipalId.mint(BEGINNING, SeededEntropy("ana"))

TOOLS = ["git.get", "git.drop", "mail.send"]
GLOBS = ["*", "git.*", "*.get", "mail.send", "other.*"]
WHO = ["ana", "a*", "ben", "role:member", "role:admin", "kind:agent", "kind:person", "key:k1"]
STRICTNESS: dict[type[Decision], int] = {Allowed: 0, NeedsApproval: 1, Denied: 2}

labels = st.builds(
    Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["x", "y"]), max_size=2)
)
lists = st.lists(st.sampled_from(GLOBS), max_size=2).map(tuple)
callers = st.builds(
    Principal,
    id=st.just(ANA),
    space=st.just(SPACE),
    kind=st.sampled_from(PrincipalKind),
    name=st.sampled_from(["ana", "ben"]),
    roles=st.sampled_from([frozenset({role}) for role in Role]),
    scopes=st.sampled_from([scopes_of([role]) for role in Role])
    | st.just(frozenset[Scope]())
    | st.just(frozenset({Scope.TOOLS_CALL})),
    clearance=labels,
    key=st.sampled_from([None, "k1", "k2"]),
    tools=st.lists(lists, max_size=2).map(tuple),
)
aims = st.builds(
    ActionTarget,
    tool=st.sampled_from(TOOLS),
    server=st.just("git"),
    effect=st.sampled_from(Effect),
    pin=st.just("p"),
    live=st.booleans() | st.just(True),
    label=labels,
    clearance=labels,
    trusted=st.booleans(),
)
acts = st.builds(AccessRequest, caller=callers, target=aims)
tasks = st.builds(
    TaintContext, id=st.sampled_from([TASK, NO_TASK]), label=labels, untrusted=st.booleans()
)
rules = st.builds(
    Rule,
    name=st.sampled_from(["a", "b", "c", "d"]),
    ruling=st.sampled_from(Ruling),
    tools=st.lists(st.sampled_from(GLOBS), min_size=1, max_size=2).map(tuple),
    but=st.lists(st.sampled_from(GLOBS), max_size=1).map(tuple),
    who=st.lists(st.sampled_from(WHO), max_size=2).map(tuple),
    effects=st.frozensets(st.sampled_from(Effect), max_size=2),
    reads=st.booleans(),
    tainted=st.booleans(),
    max_label=labels,
    context=st.sampled_from([None, None, TASK]),
)
rule_lists = st.lists(rules, max_size=5)


def strictness(decision: Decision) -> int:
    return STRICTNESS[type(decision)]
