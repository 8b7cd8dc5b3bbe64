"""What changed between two versions of an agent, and what the audit is told of it."""

from dataclasses import replace

from portico.agents.core.agent import AgentSpec, Limits
from portico.agents.core.audit_facts import about_agent, about_change
from portico.agents.core.versions import Change, changes
from portico.testing.agent_data import an_agent
from portico.testing.guard import a_person

SPEC = AgentSpec(name="clerk", model="a:b", instructions="One.\nTwo.\nThree.", tools=("a.b",))


def test_between_the_same_there_is_nothing() -> None:
    assert changes(SPEC, SPEC) == []


def test_each_field_that_changed_is_told_with_what_it_was() -> None:
    after = replace(SPEC, tools=(), temperature=0.5, limits=Limits(turns=3))

    assert changes(SPEC, after) == [
        Change("tools", ["a.b"], []),
        Change("limits.turns", 10, 3),
        Change("temperature", None, 0.5),
    ]
    assert changes(after, SPEC)[1] == Change("temperature", 0.5, None)


def test_texts_are_compared_line_by_line() -> None:
    (change,) = changes(SPEC, replace(SPEC, instructions="One.\nTwo and a half.\nThree."))

    assert change.lines == (
        "@@ -1,3 +1,3 @@",
        " One.",
        "-Two.",
        "+Two and a half.",
        " Three.",
    )


def test_the_audit_is_told_what_an_agent_may_and_not_what_it_is_told() -> None:
    before = an_agent(a_person())
    after = replace(
        before, version=2, spec=replace(before.spec, instructions="Never tell.", tools=("*",))
    )

    added, changed = about_agent("agent.added", before), about_change(before, after)

    assert (added.action, added.subject, added.facts["tools"]) == (
        "agent.added",
        "clerk",
        ["files.*"],
    )
    assert changed.action == "agent.changed"
    assert changed.facts["changed"] == ["tools", "instructions"]
    assert changed.facts["tools"] == ["*"]
    assert "Never tell" not in str(changed)
