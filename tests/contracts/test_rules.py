"""The rules of a space: kept whole, in force everywhere, and nobody else's."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import RuleTaken
from portico.guard.core.rules import Rule, Ruling
from portico.guard.ports import Rules
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, RULES_OF_THE_FILE, Doors

RULE = Rule(
    name="no-mail",
    ruling=Ruling.DENY,
    tools=("mail.*", "post.*"),
    but=("mail.read_*",),
    who=("ana", "role:member"),
    effects=frozenset({Effect.EXTERNAL_WRITE, Effect.UNKNOWN}),
    made_by="root",
    made_at=BEGINNING,
)


async def names(rules: Rules, caller: Principal) -> list[str]:
    return [rule.name for rule in await rules.all(caller)]


async def test_a_rule_comes_back_as_it_was_given(doors: Doors) -> None:
    root = await doors.founded("home")
    whole = replace(
        RULE,
        name="whole",
        ruling=Ruling.ALLOW,
        reads=True,
        tainted=True,
        upto=Label(Level.CONFIDENTIAL, frozenset({"finance", "hr"})),
        context=ContextId.mint(BEGINNING, SeededEntropy("c")),
        expires_at=BEGINNING + timedelta(days=3650),
        approval=ApprovalId.mint(BEGINNING, SeededEntropy("a")),
    )

    await doors.rules.add(root, RULE)
    await doors.rules.add(root, whole)

    assert tuple(await doors.rules.all(root)) == (*RULES_OF_THE_FILE, RULE, whole)


async def test_the_file_s_rules_are_in_force_in_every_space(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("elsewhere")

    assert await names(doors.rules, root) == await names(doors.rules, other) == ["of-the-file"]


async def test_a_name_is_taken_once_in_each_space(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("elsewhere")
    await doors.rules.add(root, RULE)

    with pytest.raises(RuleTaken):
        await doors.rules.add(root, replace(RULE, ruling=Ruling.ALLOW))
    await doors.rules.add(other, RULE)

    assert tuple(await doors.rules.all(root)) == (*RULES_OF_THE_FILE, RULE)


async def test_a_rule_is_removed_once_and_only_by_its_own_space(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("elsewhere")
    await doors.rules.add(root, RULE)

    assert await doors.rules.remove(other, RULE.name) is False
    assert await doors.rules.remove(root, RULE.name) is True
    assert await doors.rules.remove(root, RULE.name) is False
    assert await doors.rules.remove(root, "of-the-file") is False
    assert await names(doors.rules, root) == ["of-the-file"]


async def test_everybody_in_the_space_is_under_its_rules(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))

    await doors.rules.add(root, RULE)

    assert await names(doors.rules, bob) == ["of-the-file", "no-mail"]


async def test_a_rule_is_in_force_in_another_process_that_has_read_them_before(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    assert await names(doors.rules_elsewhere, root) == ["of-the-file"]

    await doors.rules.add(root, RULE)

    async with asyncio.timeout(5):
        while "no-mail" not in await names(doors.rules_elsewhere, root):  # noqa: ASYNC110 # polls
            await asyncio.sleep(0.001)


async def test_a_rule_that_is_taken_back_was_never_in_force_for_others(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.rules.add(root, RULE)
            assert await names(doors.rules, root) == ["of-the-file", "no-mail"]
            raise RuntimeError

    assert await names(doors.rules, root) == ["of-the-file"]


async def test_a_space_that_is_not_there_has_no_rules(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.rules.add(root, RULE)
    await doors.spaces.delete(root)

    with pytest.raises(REFUSED):
        await doors.rules.add(root, replace(RULE, name="late"))


async def test_rules_go_with_their_space_and_are_in_its_export(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.rules.add(root, RULE)

    rows = [row async for row in doors.spaces.export(root) if row.table == "policy_rule"]

    assert [row.values["name"] for row in rows] == ["no-mail"]
    assert rows[0].values["tools"] == ["mail.*", "post.*"]
    assert rows[0].values["ruling"] == "deny"
