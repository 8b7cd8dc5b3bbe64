"""Agents as principals: what each has, and what is left of that in somebody's run."""

from dataclasses import replace
from typing import Any

import pytest

from portico.agents.core.agent import Agent
from portico.agents.core.errors import AgentNameTaken, NameInRules
from portico.guard.core.errors import Overreach, PrincipalDisabled
from portico.guard.core.roles import Scope
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.ids import ApprovalId, PrincipalId
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.agents.town import ANA, Town


async def test_an_agent_is_a_principal_with_its_label_and_its_tools() -> None:
    town = Town()

    await town.made_agent()
    made = await town.identities.principals.get(ANA, town.agent.principal)

    assert (made.kind, made.name) == (PrincipalKind.AGENT, "clerk")
    assert (made.clearance, made.tools) == (town.agent.spec.label, town.agent.spec.tools)


async def test_nobody_makes_an_agent_that_has_more_than_they() -> None:
    town = Town(label=Label(Level.RESTRICTED))
    low = replace(ANA, clearance=Label(Level.TEAM))
    listed = replace(ANA, tools=(("git.*",),))

    with pytest.raises(Overreach):
        await town.identities.add(low, town.agent)
    with pytest.raises(Overreach):
        await town.identities.add(listed, town.agent)


async def test_a_name_is_given_once_and_is_free_when_its_agent_is_gone() -> None:
    town = Town()
    await town.made_agent()
    other = replace(town.agent, principal=PrincipalId.mint(BEGINNING, SeededEntropy("other")))

    with pytest.raises(AgentNameTaken):
        await town.identities.add(ANA, other)
    await town.identities.remove(ANA, town.agent)
    await town.identities.remove(ANA, town.agent)
    await town.identities.add(ANA, other)

    gone = await town.identities.principals.get(ANA, town.agent.principal)
    assert gone.name == f"clerk ({town.agent.principal})"
    with pytest.raises(PrincipalDisabled):
        await town.identities.acting(ANA, town.agent)


async def test_what_changes_of_an_agent_changes_of_its_principal() -> None:
    town = Town()
    agent = await town.made_agent()
    before = len(town.audited)
    changed = replace(agent, spec=replace(agent.spec, name="scribe", tools=("files.read",)))

    await town.identities.change(ANA, agent)
    await town.identities.change(ANA, changed)
    made = await town.identities.principals.get(ANA, agent.principal)

    assert (made.name, made.tools) == ("scribe", ("files.read",))
    assert [each["action"] for each in town.audited[before:]] == ["principal.changed"]
    with pytest.raises(AgentNameTaken):
        await town.identities.change(ANA, replace(agent, spec=replace(agent.spec, name="bot")))


async def test_in_a_run_it_has_no_more_than_its_starter() -> None:
    town = Town()
    agent = await town.made_agent()
    starter = replace(
        ANA,
        scopes=frozenset({Scope.TOOLS_CALL, Scope.KEYS_OWN}),
        clearance=Label(Level.PUBLIC),
        tools=(("files.read",),),
    )

    acting = await town.identities.acting(starter, agent)

    assert acting.id == agent.principal
    assert acting.scopes == {Scope.TOOLS_CALL}
    assert acting.clearance == Label(Level.PUBLIC)
    assert acting.tools == (("files.*",), ("files.read",))
    assert acting.key is None


async def test_an_agent_that_an_agent_has_started_starts_none() -> None:
    town = Town()
    agent = await town.made_agent()
    client = replace(ANA, kind=PrincipalKind.AGENT, key="its own")

    by_person = await town.identities.acting(ANA, agent)
    by_client = await town.identities.acting(client, agent)
    by_agent = await town.identities.acting(by_person, agent)

    assert by_person.may(Scope.AGENTS_RUN)
    assert by_client.may(Scope.AGENTS_RUN)
    assert not by_agent.may(Scope.AGENTS_RUN)


CHIEF = replace(ANA, scopes=ANA.scopes | {Scope.POLICY_WRITE})


def about(whom: str, ruling: Ruling = Ruling.DENY, **changes: Any) -> Rule:
    name = f"{ruling}-{whom}".replace("*", "any")
    return Rule(name=name, ruling=ruling, tools=("files.*",), who=(whom,), **changes)


def called(town: Town, name: str) -> Agent:
    return replace(town.agent, spec=replace(town.agent.spec, name=name))


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ((about("clerk"),), "scribe"),
        ((about("scribe", Ruling.ALLOW, tainted=True),), "scribe"),
        ((about("scr*", Ruling.ALLOW),), "scribe"),
    ],
    ids=["sheds a rule", "takes one", "takes one of many"],
)
async def test_no_agent_comes_under_other_rules_by_another_name(
    rules: tuple[Rule, ...], name: str
) -> None:
    town = Town(rules=rules)
    agent = await town.made_agent(CHIEF)

    with pytest.raises(NameInRules):
        await town.identities.change(ANA, called(town, name))
    assert (await town.identities.principals.get(ANA, agent.principal)).name == "clerk"

    await town.identities.change(CHIEF, called(town, name))


async def test_a_name_that_only_narrows_is_anybodys_to_take() -> None:
    town = Town(rules=(about("clerk", Ruling.ALLOW), about("scribe", Ruling.ASK)))
    await town.made_agent(CHIEF)

    await town.identities.change(ANA, called(town, "scribe"))


async def test_no_agent_is_made_with_a_name_that_rules_are_about() -> None:
    town = Town(rules=(about("clerk", Ruling.ALLOW),))

    with pytest.raises(NameInRules, match="allow-clerk"):
        await town.identities.add(ANA, town.agent)

    await town.identities.add(CHIEF, town.agent)


@pytest.mark.parametrize("how", ["renamed", "removed"])
async def test_what_was_allowed_to_an_agent_goes_with_its_name(how: str) -> None:
    town = Town(rules=(about("*"), about("role:member"), about("somebody")))
    agent = await town.made_agent(CHIEF)
    answer = about("clerk", Ruling.ALLOW, approval=ApprovalId.mint(BEGINNING, SeededEntropy("a")))
    await town.approvals.rules.add(ANA, answer)

    if how == "renamed":
        await town.identities.change(ANA, called(town, "scribe"))
    else:
        await town.identities.remove(ANA, agent)

    left = {rule.name for rule in await town.approvals.rules.all(ANA)}
    assert left == {"deny-any", "deny-role:member", "deny-somebody"}
    assert "policy.rule_removed" in [each["action"] for each in town.audited]
