"""Telling somebody what would be decided about them, or about somebody else."""

from dataclasses import replace

import pytest

from portico.guard.core.act import Aim, Allowed, Denied, NeedsApproval
from portico.guard.core.errors import KeyNotFound, NotPermitted, PrincipalNotFound
from portico.guard.core.roles import Role, Scope
from portico.guard.core.rules import Rule, Ruling
from portico.guard.explain import ExplainPolicy
from portico.guard.issue_key import KeyWish
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import TEAM, MemoryKeys, MemoryPrincipals, an_identity
from portico.testing.guard_policy import MemoryContexts, MemoryRules
from portico.testing.kernel import TickingClock
from tests.guard.room import Room

SECRET = Label(Level.RESTRICTED)
DENY = Rule(name="no", ruling=Ruling.DENY, tools=("git.*",), who=("bob",))


class OneTool:
    async def of(self, caller: Principal, tool: str) -> Aim:
        effect = Effect.IRREVERSIBLE
        return Aim(tool=tool, server="git", effect=effect, pin="p", clearance=TEAM)


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
    issued = await house.room.issue_key(house.room.person("ana"), KeyWish(name="k"))
    ana = await house.room.enters(issued.key)

    for who in ("ana", str(ana.id), f"key:{ana.key}"):
        found = await house.explain(ana, who, "git.drop")

        assert isinstance(found.decision, NeedsApproval)
        assert found.act.caller == ana


async def test_one_asks_about_somebody_else_with_the_scope_for_it() -> None:
    house = House(DENY)
    ana, bob = house.room.person("ana"), house.room.person("bob")

    found = await house.explain(ana, "bob", "git.drop")

    assert found.decision == Denied("no", "a rule of this space denies it")
    assert (await house.explain(ana, str(bob.id), "git.drop")).act.caller == bob


async def test_what_a_key_of_somebody_s_can_do_is_told_exactly() -> None:
    allow = Rule(name="yes", ruling=Ruling.ALLOW, tools=("*",))
    house = House(allow)
    root = house.room.person("root", Role.ADMIN)
    issued = await house.room.issue_key(
        house.room.person("bob"), KeyWish(name="mail", tools=("mail.*",))
    )
    bob = await house.room.enters(issued.key)
    await house.contexts.rise(bob, TEAM, untrusted=True)

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

    assert (await house.explain(root, "agent 249", "git.drop")).act.caller.name == "agent 249"
    with pytest.raises(PrincipalNotFound):
        await house.explain(root, "nobody", "git.drop")
    with pytest.raises(KeyNotFound):
        await house.explain(root, "key:000000000000", "git.drop")


async def test_a_viewer_is_told_nothing_and_a_member_nothing_of_keys() -> None:
    house = House()
    member, viewer = house.room.person("ana"), house.room.person("vera", Role.VIEWER)

    with pytest.raises(NotPermitted, match=Scope.POLICY_READ):
        await house.explain(viewer, "vera", "git.drop")
    with pytest.raises(NotPermitted, match=Scope.KEYS_READ):
        await house.explain(member, "key:000000000000", "git.drop")


async def test_about_others_one_asks_with_the_scope_for_others() -> None:
    house = House()
    house.room.person("bob")
    wish = KeyWish(name="own", scopes=frozenset({Scope.POLICY_READ}))
    issued = await house.room.issue_key(house.room.person("ana"), wish)
    ana = await house.room.enters(issued.key)

    assert (await house.explain(ana, "ana", "git.drop")).act.caller == ana
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
    assert (await house.explain(cleared, "ghost", "git.drop")).act.caller.id == ghost.id
