"""Agents and ways to debate as a list of models, each by the name that it is asked under."""

from inline_snapshot import snapshot

from portico.guard.core.roles import Scope
from tests.faces.http.conftest import Site
from tests.faces.http.desk import opened
from tests.faces.http.test_permissions import key_with


async def test_each_agent_is_a_model(site: Site) -> None:
    await opened(site)

    listed = await site.ask("GET", "/v1/models")
    one = await site.ask("GET", "/v1/models/agent/clerk")

    assert listed.json["object"] == "list"
    assert listed.json["data"][0] == one.json
    assert {**one.json, "created": int} == snapshot(
        {
            "id": "agent/clerk",
            "object": "model",
            "created": int,
            "owned_by": "ana",
            "description": "Answers letters.",
        }
    )


async def test_each_way_to_debate_is_a_model_for_whoever_may_start_one(site: Site) -> None:
    debates = await key_with(site, {Scope.DEBATES_RUN})
    agents = await key_with(site, {Scope.AGENTS_READ})

    listed = await site.ask("GET", "/v1/models", key=debates)
    without = await site.ask("GET", "/v1/models", key=agents)
    one = await site.ask("GET", "/v1/models/debate/vote", key=debates)
    refused = await site.ask("GET", "/v1/models/debate/vote", key=agents)

    names = ["debate/vote", "debate/debate", "debate/quorum"]
    assert [each["id"] for each in listed.json["data"]] == names
    assert without.json["data"] == []
    assert one.json == listed.json["data"][0]
    assert (refused.status, refused.json["error"]["code"]) == (403, "not_permitted")
