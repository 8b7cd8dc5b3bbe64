"""What a run of an agent is given, and what of that is shown."""

from portico.agents.core.agent import Limits
from portico.agents.core.given import KIND, RunGiven, shown
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC
from portico.testing.agent_data import an_agent
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy

ANA = a_person("ana")


def test_neither_instructions_nor_the_starters_key_are_shown() -> None:
    given = RunGiven(
        agent=an_agent(ANA),
        context=ContextId.mint(BEGINNING, SeededEntropy("task")),
        asker={"key": "k1"},
        label=PUBLIC,
        model="local:small",
        limits=Limits(),
    )

    told = shown(KIND, given.as_json())

    assert set(told) == {"agent", "label", "model", "limits", "continues"}
    assert told["agent"] == {
        "id": str(given.agent.id),
        "version": given.agent.version,
        "name": given.agent.name,
    }


def test_runs_of_other_kinds_are_shown_as_they_are() -> None:
    assert shown("drill", {"steps": 3}) == {"steps": 3}
