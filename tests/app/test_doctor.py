"""Whether an agent's model at Ollama has room for it, asked of one that answers as it does."""

import pytest

from portico.adapters.models.provider import Provider, ProviderKind, usual_clearance
from portico.app.doctor import in_disguise, too_small
from portico.engine.core.store import State
from portico.testing.agent_data import an_agent, an_agent_spec
from portico.testing.guard import a_person
from tests.models.fake_ollama import MODEL, FakeOllama

pytestmark = [pytest.mark.process]
ANA = a_person("ana")


def a_provider(url: str, kind: ProviderKind, window: int | None = None) -> dict[str, Provider]:
    made = Provider(name="here", kind=kind, url=url, clearance=usual_clearance(url), window=window)
    return {"here": made}


@pytest.mark.requirement("house:doctor:context")
@pytest.mark.parametrize(
    ("own", "set_", "fix"),
    [
        (2_048, None, "Choose a model with a larger window: portico agents edit clerk"),
        (32_768, 2_048, "Raise window in [models.providers.here], or take it out"),
        (32_768, None, None),
    ],
)
async def test_the_agent_the_model_and_the_setting_are_named(
    own: int, set_: int | None, fix: str | None
) -> None:
    agent = an_agent(ANA, spec=an_agent_spec(model=f"here:{MODEL}", instructions="Look. " * 100))
    other = an_agent(ANA, "other", spec=an_agent_spec(model="elsewhere:large"))
    with FakeOllama(window=own).serving() as url:
        providers = a_provider(url, ProviderKind.OLLAMA, set_)

        found = [each async for each in too_small(providers, [agent, other])]

    assert [each.fix for each in found] == ([] if fix is None else [fix])
    told = f"here:{MODEL} has 2,048 tokens, too few for the agent clerk"
    assert all((each.state, each.detail) == (State.WARNING, told) for each in found)


async def test_ollama_that_is_asked_in_the_words_of_others_is_recognised() -> None:
    with FakeOllama().serving() as url:
        providers = a_provider(f"{url}/v1", ProviderKind.COMPATIBLE)

        [found] = [each async for each in in_disguise(providers)]

    assert found.fix == f'In [models.providers.here] set kind = "ollama" and url = "{url}"'
    gone = a_provider(f"{url}/v1", ProviderKind.COMPATIBLE)
    assert [each async for each in in_disguise(gone)] == []
