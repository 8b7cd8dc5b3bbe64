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
from portico.testing.memory_store import BEGINNING, SeededEntropy
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
WHOLE = replace(
    RULE,
    name="whole",
    ruling=Ruling.ALLOW,
    reads=True,
    tainted=True,
    max_label=Label(Level.CONFIDENTIAL, frozenset({"finance", "hr"})),
    context=ContextId.mint(BEGINNING, SeededEntropy("c")),
    expires_at=BEGINNING + timedelta(days=3650),
    approval=ApprovalId.mint(BEGINNING, SeededEntropy("a")),
)


async def names(rules: Rules, caller: Principal) -> list[str]:
    return [rule.name for rule in await rules.all(caller)]


async def test_a_rule_comes_back_as_it_was_given_for_everybody_in_its_space(
    doors: Doors, root: Principal
) -> None:
    """Beside those of the file, which are in force in every space."""
    other, bob = await doors.founded("elsewhere"), as_principal(await doors.joined(root, "bob"))

    await doors.rules.add(root, RULE)
    await doors.rules.add(root, WHOLE)

    for who in (root, bob):
        assert tuple(await doors.rules.all(who)) == (*RULES_OF_THE_FILE, RULE, WHOLE)
    assert await names(doors.rules, other) == ["of-the-file"]


async def test_a_name_is_taken_once_in_each_space_and_removed_once_by_it(
    doors: Doors, root: Principal
) -> None:
    other = await doors.founded("elsewhere")
    await doors.rules.add(root, RULE)

    with pytest.raises(RuleTaken):
        await doors.rules.add(root, replace(RULE, ruling=Ruling.ALLOW))
    assert await doors.rules.remove(other, RULE.name) is False
    await doors.rules.add(other, RULE)
    assert tuple(await doors.rules.all(root)) == (*RULES_OF_THE_FILE, RULE)

    assert await doors.rules.remove(root, RULE.name) is True
    assert await doors.rules.remove(root, RULE.name) is False
    assert await doors.rules.remove(root, "of-the-file") is False
    assert await names(doors.rules, root) == ["of-the-file"]
    assert await names(doors.rules, other) == ["of-the-file", "no-mail"]


async def test_a_rule_is_in_force_in_another_process_that_has_read_them_before(
    doors: Doors, root: Principal
) -> None:
    assert await names(doors.rules_elsewhere, root) == ["of-the-file"]

    await doors.rules.add(root, RULE)

    async with asyncio.timeout(30):
        while "no-mail" not in await names(doors.rules_elsewhere, root):  # noqa: ASYNC110 # polls
            await asyncio.sleep(0.001)


async def test_a_rule_that_is_taken_back_was_never_in_force_for_others(
    doors: Doors, root: Principal
) -> None:
    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.rules.add(root, RULE)
            assert await names(doors.rules, root) == ["of-the-file", "no-mail"]
            raise RuntimeError

    assert await names(doors.rules, root) == ["of-the-file"]


async def test_rules_are_in_the_export_of_their_space_and_go_with_it(
    doors: Doors, root: Principal
) -> None:
    await doors.rules.add(root, RULE)

    [row] = [row.values async for row in doors.spaces.export(root) if row.table == "policy_rule"]
    await doors.spaces.delete(root)

    assert (row["name"], row["tools"], row["ruling"]) == ("no-mail", ["mail.*", "post.*"], "deny")
    with pytest.raises(REFUSED):
        await doors.rules.add(root, replace(RULE, name="late"))
