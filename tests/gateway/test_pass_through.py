"""Resources, prompts and completions go through, under names that say whose."""

from dataclasses import replace

import pytest

from portico.gateway.core.errors import OfferNotFound, ServerNotApproved
from portico.testing.gateway import an_approved_server
from tests.gateway.open_room import ANA, OpenRoom

OFFERS = {"resources": [{"uri": "file:///a"}], "prompts": [{"name": "tidy"}]}


def a_room() -> OpenRoom:
    room = OpenRoom()
    server = replace(an_approved_server("files"), offers=OFFERS, accepted_offers=OFFERS)
    room.world.servers[ANA.space, server.id] = server
    room.upstreams.results |= {
        "file:///a": {"contents": [{"text": "A"}]},
        "tidy": {"messages": []},
        "complete": {"completion": {"values": ["x"]}},
    }
    return room


async def test_offers_of_all_servers_are_told_apart() -> None:
    offers = await a_room().gateway.list_offers(ANA)

    assert [it["uri"] for it in offers.resources] == ["portico://files/file:///a"]
    assert [it["name"] for it in offers.prompts] == ["files__tidy"]


async def test_offers_of_one_server_have_their_own_names() -> None:
    offers = await a_room().gateway.list_offers(ANA, "files")

    assert [it["uri"] for it in offers.resources] == ["file:///a"]


async def test_a_resource_is_read_at_its_server() -> None:
    gateway = a_room().gateway

    by_ours = await gateway.read_resource(ANA, "portico://files/file:///a")
    by_its_own = await gateway.read_resource(ANA, "file:///a", server="files")

    assert by_ours == by_its_own == {"contents": [{"text": "A"}]}


async def test_a_prompt_is_given_only_if_it_was_approved() -> None:
    gateway = a_room().gateway

    assert await gateway.get_prompt(ANA, "files__tidy", {}) == {"messages": []}
    with pytest.raises(OfferNotFound):
        await gateway.get_prompt(ANA, "files__other", {})


@pytest.mark.parametrize(
    "reference",
    [
        {"type": "ref/prompt", "name": "files__tidy"},
        {"type": "ref/resource", "uri": "portico://files/file:///{a}"},
    ],
)
async def test_a_completion_is_asked_of_the_server_it_is_about(reference: dict[str, str]) -> None:
    gateway = a_room().gateway

    completed = await gateway.complete(ANA, {"ref": reference, "argument": {}})

    assert completed == {"completion": {"values": ["x"]}}


async def test_a_completion_about_nothing_is_refused() -> None:
    with pytest.raises(OfferNotFound):
        await a_room().gateway.complete(ANA, {"argument": {}})


async def test_a_server_that_waits_for_approval_offers_nothing() -> None:
    with pytest.raises(ServerNotApproved):
        await a_room().gateway.list_offers(ANA, "tracker")
