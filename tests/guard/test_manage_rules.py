"""The rules of a space: made and removed by admins, seen by members, and in the audit."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.errors import (
    BadRule,
    NotPermitted,
    RuleNotFound,
    RuleOfTheFile,
    RuleTaken,
)
from portico.guard.core.roles import Role
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.guard.manage_rules import AddRule, ListRules, RemoveRule
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.audit import MemoryAudit
from portico.testing.guard import a_person, a_space
from portico.testing.guard_policy import MemoryRules
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from portico.testing.world import MemoryWorld, together

ROOT, ANA = a_person("root", roles=[Role.ADMIN]), a_person("ana")
OPERATOR, VIEWER = a_person("olga", roles=[Role.OPERATOR]), a_person("vera", roles=[Role.VIEWER])
DENY = Rule(name="no-mail", ruling=Ruling.DENY, tools=("mail.*",))
OF_THE_FILE = Rule(name="of-the-file", ruling=Ruling.ASK, tools=("*",), source=RuleSource.FILE)


class Room:
    def __init__(self) -> None:
        world = MemoryWorld()
        world.spaces[ROOT.space] = a_space()
        self.rules = MemoryRules([OF_THE_FILE], world)
        self.journal = MemoryAudit(world)
        self.add = AddRule(
            rules=self.rules,
            journal=self.journal,
            together=together,
            clock=TickingClock(),
            entropy=SeededEntropy(),
        )
        self.list = ListRules(rules=self.rules)
        self.remove = RemoveRule(rules=self.rules, journal=self.journal, together=together)


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_rule_is_kept_with_who_made_it_and_when_and_how_long_it_lives(room: Room) -> None:
    pretended = replace(DENY, source=RuleSource.FILE, made_by="somebody")

    made = await room.add(ROOT, pretended, timedelta(days=1))

    ends = BEGINNING + timedelta(days=1)
    assert made == replace(DENY, made_by="root", made_at=BEGINNING, expires_at=ends)
    assert await room.list(ROOT) == [made, OF_THE_FILE]
    assert room.journal.actions == ["policy.rule_added"]


async def test_nobody_lets_out_what_they_may_not_read(room: Room) -> None:
    allow = replace(DENY, ruling=Ruling.ALLOW, tainted=True)

    with pytest.raises(BadRule, match="above your clearance"):
        await room.add(ROOT, replace(allow, upto=Label(Level.RESTRICTED, frozenset({"finance"}))))
    made = await room.add(ROOT, replace(allow, upto=ROOT.clearance))

    assert made.upto == ROOT.clearance


@pytest.mark.parametrize(
    ("tools", "begins"),
    [(("git.get_*",), "deny-git.get-"), (("*",), "deny-all-"), (("*._-",), "deny-all-")],
)
async def test_a_rule_without_a_name_is_given_one(tools: tuple[str, ...], begins: str) -> None:
    room = Room()

    first = await room.add(ROOT, replace(DENY, name="", tools=tools))
    second = await room.add(ROOT, replace(DENY, name="", tools=tools))

    assert first.name.startswith(begins)
    assert first.name != second.name


@pytest.mark.parametrize("somebody", [ANA, OPERATOR, VIEWER])
async def test_nobody_but_an_admin_makes_or_removes_rules(somebody: Principal, room: Room) -> None:
    await room.add(ROOT, DENY)

    with pytest.raises(NotPermitted, match="policy:write"):
        await room.add(somebody, replace(DENY, name="mine"))
    with pytest.raises(NotPermitted, match="policy:write"):
        await room.remove(somebody, DENY.name)


async def test_members_see_the_rules_and_viewers_do_not(room: Room) -> None:
    assert await room.list(ANA) == [OF_THE_FILE]
    with pytest.raises(NotPermitted, match="policy:read"):
        await room.list(VIEWER)


async def test_a_rule_that_cannot_be_meant_is_not_kept(room: Room) -> None:
    with pytest.raises(BadRule) as caught:
        await room.add(ROOT, replace(DENY, tools=()))

    assert [flaw.field for flaw in caught.value.flaws] == ["tools"]
    assert await room.list(ROOT) == [OF_THE_FILE]


@pytest.mark.parametrize("name", ["no-mail", "of-the-file"])
async def test_a_name_is_taken_once(name: str, room: Room) -> None:
    await room.add(ROOT, DENY)

    with pytest.raises(RuleTaken):
        await room.add(ROOT, replace(DENY, name=name))


async def test_a_rule_is_removed_and_that_is_in_the_audit(room: Room) -> None:
    await room.add(ROOT, DENY)

    await room.remove(ROOT, DENY.name)

    assert await room.list(ROOT) == [OF_THE_FILE]
    assert room.journal.actions == ["policy.rule_added", "policy.rule_removed"]
    assert room.journal.acts[1]["subject"] == DENY.name


async def test_what_is_not_there_or_in_the_file_is_not_removed(room: Room) -> None:
    with pytest.raises(RuleNotFound):
        await room.remove(ROOT, "nothing")
    with pytest.raises(RuleOfTheFile, match="of-the-file"):
        await room.remove(ROOT, OF_THE_FILE.name)
    assert room.journal.actions == []


async def test_rules_of_another_space_are_neither_seen_nor_removed(room: Room) -> None:
    await room.add(ROOT, DENY)
    stranger = a_person("root", roles=[Role.ADMIN], space=a_space("elsewhere"))

    assert await room.list(stranger) == [OF_THE_FILE]
    with pytest.raises(RuleNotFound):
        await room.remove(stranger, DENY.name)


async def test_what_a_rule_lets_out_is_hidden_from_whoever_may_not_know_of_it(room: Room) -> None:
    secret = replace(DENY, name="secret", ruling=Ruling.ALLOW, tainted=True, upto=ROOT.clearance)
    await room.add(ROOT, secret)
    low = replace(ANA, clearance=PUBLIC)

    assert [rule.name for rule in await room.list(low)] == [OF_THE_FILE.name]
    assert "secret" in [rule.name for rule in await room.list(replace(ROOT, clearance=PUBLIC))]
