"""The rules of a space, and telling somebody what would be decided about them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.access_request import ActionTarget, Allowed, Denied, NeedsApproval
from portico.guard.core.errors import (
    InvalidRule,
    KeyNotFound,
    NotPermitted,
    PrincipalNotFound,
    RuleNotFound,
    RuleOfTheFile,
    RuleTaken,
)
from portico.guard.core.principals import Role, Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.guard.keys import KeySpec
from portico.guard.policy import ExplainPolicy
from portico.guard.rules import AddRule, ListRules, RemoveRule
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import (
    TEAM,
    MemoryAudit,
    MemoryContexts,
    MemoryKeys,
    MemoryPrincipals,
    MemoryRules,
    a_person,
    a_space,
    an_identity,
)
from portico.testing.memory_store import (
    BEGINNING,
    InMemoryStore,
    SeededEntropy,
    TickingClock,
    together,
)
from tests.guard.room import Room

ROOT, ANA = a_person("root", roles=[Role.ADMIN]), a_person("ana")
OPERATOR, VIEWER = a_person("olga", roles=[Role.OPERATOR]), a_person("vera", roles=[Role.VIEWER])
DENY = Rule(name="no-mail", ruling=Ruling.DENY, tools=("mail.*",))
OF_THE_FILE = Rule(name="of-the-file", ruling=Ruling.ASK, tools=("*",), source=RuleSource.FILE)


class RuleRoom:
    def __init__(self) -> None:
        world = InMemoryStore()
        world.spaces[ROOT.space] = a_space()
        self.rules = MemoryRules([OF_THE_FILE], world)
        self.journal = MemoryAudit(world)
        self.add = AddRule(
            rules=self.rules,
            journal=self.journal,
            unit_of_work=together,
            clock=TickingClock(),
            entropy=SeededEntropy(),
        )
        self.list = ListRules(rules=self.rules)
        self.remove = RemoveRule(rules=self.rules, journal=self.journal, unit_of_work=together)


@pytest.fixture
def rule_room() -> RuleRoom:
    return RuleRoom()


async def test_a_rule_is_kept_with_its_maker_and_its_lifetime(rule_room: RuleRoom) -> None:
    pretended = replace(DENY, source=RuleSource.FILE, made_by="somebody")

    made = await rule_room.add(ROOT, pretended, timedelta(days=1))

    ends = BEGINNING + timedelta(days=1)
    assert made == replace(DENY, made_by="root", made_at=BEGINNING, expires_at=ends)
    assert await rule_room.list(ROOT) == [made, OF_THE_FILE]
    assert rule_room.journal.actions == ["policy.rule_added"]


async def test_nobody_lets_out_what_they_may_not_read(rule_room: RuleRoom) -> None:
    allow = replace(DENY, ruling=Ruling.ALLOW, tainted=True)

    with pytest.raises(InvalidRule, match="above your clearance"):
        await rule_room.add(
            ROOT, replace(allow, max_label=Label(Level.RESTRICTED, frozenset({"finance"})))
        )
    made = await rule_room.add(ROOT, replace(allow, max_label=ROOT.clearance))

    assert made.max_label == ROOT.clearance


@pytest.mark.parametrize(
    ("tools", "begins"),
    [(("git.get_*",), "deny-git.get-"), (("*",), "deny-all-"), (("*._-",), "deny-all-")],
)
async def test_a_rule_without_a_name_is_given_one(tools: tuple[str, ...], begins: str) -> None:
    rule_room = RuleRoom()

    first = await rule_room.add(ROOT, replace(DENY, name="", tools=tools))
    second = await rule_room.add(ROOT, replace(DENY, name="", tools=tools))

    assert first.name.startswith(begins)
    assert first.name != second.name


@pytest.mark.parametrize("somebody", [ANA, OPERATOR, VIEWER])
async def test_nobody_but_an_admin_makes_or_removes_rules(
    somebody: Principal, rule_room: RuleRoom
) -> None:
    await rule_room.add(ROOT, DENY)

    with pytest.raises(NotPermitted, match="policy:write"):
        await rule_room.add(somebody, replace(DENY, name="mine"))
    with pytest.raises(NotPermitted, match="policy:write"):
        await rule_room.remove(somebody, DENY.name)


async def test_only_whoever_may_know_of_a_rule_sees_it(rule_room: RuleRoom) -> None:
    assert await rule_room.list(ANA) == [OF_THE_FILE]
    with pytest.raises(NotPermitted, match="policy:read"):
        await rule_room.list(VIEWER)

    secret = replace(
        DENY, name="secret", ruling=Ruling.ALLOW, tainted=True, max_label=ROOT.clearance
    )
    await rule_room.add(ROOT, secret)
    low = replace(ANA, clearance=PUBLIC)

    assert [rule.name for rule in await rule_room.list(low)] == [OF_THE_FILE.name]
    assert "secret" in [rule.name for rule in await rule_room.list(replace(ROOT, clearance=PUBLIC))]


async def test_a_rule_that_cannot_be_meant_is_not_kept(rule_room: RuleRoom) -> None:
    with pytest.raises(InvalidRule) as caught:
        await rule_room.add(ROOT, replace(DENY, tools=()))

    assert [flaw.field for flaw in caught.value.field_errors] == ["tools"]
    assert await rule_room.list(ROOT) == [OF_THE_FILE]


@pytest.mark.parametrize("name", ["no-mail", "of-the-file"])
async def test_a_name_is_taken_once(name: str, rule_room: RuleRoom) -> None:
    await rule_room.add(ROOT, DENY)

    with pytest.raises(RuleTaken):
        await rule_room.add(ROOT, replace(DENY, name=name))


async def test_a_rule_is_removed_and_that_is_in_the_audit(rule_room: RuleRoom) -> None:
    await rule_room.add(ROOT, DENY)

    await rule_room.remove(ROOT, DENY.name)

    assert await rule_room.list(ROOT) == [OF_THE_FILE]
    assert rule_room.journal.actions == ["policy.rule_added", "policy.rule_removed"]
    assert rule_room.journal.acts[1]["subject"] == DENY.name


async def test_only_a_rule_of_ones_own_space_is_removed(rule_room: RuleRoom) -> None:
    with pytest.raises(RuleNotFound):
        await rule_room.remove(ROOT, "nothing")
    with pytest.raises(RuleOfTheFile, match="of-the-file"):
        await rule_room.remove(ROOT, OF_THE_FILE.name)
    assert rule_room.journal.actions == []

    await rule_room.add(ROOT, DENY)
    stranger = a_person("root", roles=[Role.ADMIN], space=a_space("elsewhere"))

    assert await rule_room.list(stranger) == [OF_THE_FILE]
    with pytest.raises(RuleNotFound):
        await rule_room.remove(stranger, DENY.name)


SECRET = Label(Level.RESTRICTED)
DENY_BOB = Rule(name="no", ruling=Ruling.DENY, tools=("git.*",), who=("bob",))


class OneTool:
    async def of(self, caller: Principal, tool: str) -> ActionTarget:
        effect = Effect.IRREVERSIBLE
        return ActionTarget(tool=tool, server="git", effect=effect, pin="p", clearance=TEAM)


class House:
    def __init__(self, *rules: Rule) -> None:
        self.room = Room()
        self.contexts = MemoryContexts()
        self.explain = ExplainPolicy(
            principals=MemoryPrincipals(self.room.world),
            keys=MemoryKeys(self.room.world),
            rules=MemoryRules(rules),
            contexts=self.contexts,
            aims=OneTool(),
            clock=TickingClock(),
        )


async def test_one_asks_about_oneself_by_name_by_id_or_by_key() -> None:
    house = House()
    issued = await house.room.issue_key(house.room.person("ana"), KeySpec(name="k"))
    ana = await house.room.enters(issued.key)

    for who in ("ana", str(ana.id), f"key:{ana.key}"):
        found = await house.explain(ana, who, "git.drop")

        assert isinstance(found.decision, NeedsApproval)
        assert found.access_request.caller == ana


async def test_one_asks_about_somebody_else_with_the_scope_for_it() -> None:
    house = House(DENY_BOB)
    ana, bob = house.room.person("ana"), house.room.person("bob")

    found = await house.explain(ana, "bob", "git.drop")

    assert found.decision == Denied("no", "a rule of this space denies it")
    assert (await house.explain(ana, str(bob.id), "git.drop")).access_request.caller == bob


async def test_what_a_key_of_somebody_s_can_do_is_told_exactly() -> None:
    allow = Rule(name="yes", ruling=Ruling.ALLOW, tools=("*",))
    house = House(allow)
    root = house.room.person("root", Role.ADMIN)
    issued = await house.room.issue_key(
        house.room.person("bob"), KeySpec(name="mail", tools=("mail.*",))
    )
    bob = await house.room.enters(issued.key)
    await house.contexts.raise_taint(bob, TEAM, untrusted=True)

    listed = await house.explain(root, f"key:{issued.key.id}", "git.drop")
    whole = await house.explain(root, "bob", "git.drop")
    mail = await house.explain(root, f"key:{issued.key.id}", "mail.drop")

    assert listed.decision.rule == "default:list"
    assert isinstance(whole.decision, Allowed)
    assert mail.decision.rule == "default:taint"
    assert mail.context.untrusted


async def test_who_is_not_there_is_not_found_however_many_there_are() -> None:
    house = House()
    root = house.room.person("root", Role.ADMIN)
    house.room.holds(*(an_identity(f"agent {number}") for number in range(250)))

    assert (
        await house.explain(root, "agent 249", "git.drop")
    ).access_request.caller.name == "agent 249"
    with pytest.raises(PrincipalNotFound):
        await house.explain(root, "nobody", "git.drop")
    with pytest.raises(KeyNotFound):
        await house.explain(root, "key:000000000000", "git.drop")


async def test_one_asks_about_oneself_or_with_the_scope_for_it_about_somebody_else() -> None:
    house = House()
    member, viewer = house.room.person("ana"), house.room.person("vera", Role.VIEWER)

    with pytest.raises(NotPermitted, match=Scope.POLICY_READ):
        await house.explain(viewer, "vera", "git.drop")
    with pytest.raises(NotPermitted, match=Scope.KEYS_READ):
        await house.explain(member, "key:000000000000", "git.drop")

    house.room.person("bob")
    wish = KeySpec(name="own", scopes=frozenset({Scope.POLICY_READ}))
    issued = await house.room.issue_key(house.room.person("ana"), wish)
    ana = await house.room.enters(issued.key)

    assert (await house.explain(ana, "ana", "git.drop")).access_request.caller == ana
    with pytest.raises(NotPermitted, match=Scope.PRINCIPALS_READ):
        await house.explain(ana, "bob", "git.drop")


async def test_nothing_is_told_of_an_agent_to_those_who_are_not_cleared_for_it() -> None:
    house = House()
    ana = house.room.person("ana")
    ghost = replace(an_identity("ghost", kind=PrincipalKind.AGENT), clearance=SECRET)
    house.room.holds(ghost)

    for who in ("ghost", str(ghost.id)):
        with pytest.raises(PrincipalNotFound):
            await house.explain(ana, who, "git.drop")
    cleared = replace(ana, clearance=SECRET)
    assert (await house.explain(cleared, "ghost", "git.drop")).access_request.caller.id == ghost.id
