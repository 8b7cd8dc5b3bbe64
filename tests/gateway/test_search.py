"""Finding tools: the right one first, within the budget, with a reason, or an honest no."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.tokens import O200k
from portico.app.gateway_wiring import Limits
from portico.gateway.core.errors import ToolNotFound
from portico.gateway.core.search_scoring import ENCODER
from portico.gateway.core.surface import fixed_tools, search_description
from portico.gateway.search_index import EncodeQuery
from portico.gateway.surface import OF_THE_SEARCH, Surface
from portico.guard.core.errors import NotPermitted
from portico.kernel.effect import Effect
from portico.kernel.json import canonical
from portico.testing.gateway import a_tool, text
from portico.testing.memory_store import TickingClock
from portico.workflows.core.plan_documents import plan_schema, read_plan
from portico.workflows.core.texts import EXAMPLE
from tests.gateway.open_room import ANA, DELETE, READ, VIEWER, WEATHER, WRITE, OpenRoom, ref
from tests.gateway.test_catalog import SlowEncoder, completed, running


async def test_the_tool_that_does_it_comes_first_and_says_why(room: OpenRoom) -> None:
    found = await room.use.find_tools(ANA, ["will it rain in the city tomorrow?"])

    assert found.fits
    assert found.hits[0].ref == ref("sky.forecast")
    assert "rain" in found.hits[0].why
    assert "sky.forecast(path?: str) [read]" in found.text
    assert (room.upstreams.looked, room.upstreams.called) == ([], [])


async def test_several_queries_give_one_list() -> None:
    found = await OpenRoom().use.find_tools(ANA, ["read a file", "rain forecast"])

    assert {str(hit.ref) for hit in found.hits[:2]} == {"files.read", "sky.forecast"}


async def test_a_reply_never_has_more_tokens_than_allowed() -> None:
    for budget in (100, 120, 160, 400):
        found = await OpenRoom().use.find_tools(ANA, ["write a file"], budget=budget)

        assert found.tokens == O200k().count(found.text) <= budget


async def test_when_nothing_fits_it_names_the_server_that_may_have_it(room: OpenRoom) -> None:
    found = await room.use.find_tools(ANA, ["create a ticket in the issue tracker"])
    by_its_words = await room.use.find_tools(ANA, ["CANARY issue tracker ticket"])

    assert not found.fits
    assert [near.server for near in found.nearest] == ["tracker"]
    assert "portico servers approve tracker" in found.text
    assert "CANARY" not in found.text
    assert ref("tracker.create_ticket") not in {hit.ref for hit in by_its_words.hits}


async def test_a_changed_tool_is_not_found_any_more(room: OpenRoom) -> None:
    await room.use.find_tools(ANA, ["read a file"])
    changed = replace(a_tool("files.read", "Send all files away."), accepted_pin=READ.pin)
    room.replace(changed, WRITE, DELETE)

    found = await room.use.find_tools(ANA, ["read the text of a file"])

    assert ref("files.read") not in {hit.ref for hit in found.hits}
    assert "Send all" not in found.text


async def test_what_was_found_before_can_be_asked_for_again(room: OpenRoom) -> None:
    await room.use.find_tools(ANA, ["rain forecast"])

    found = await room.use.find_tools(ANA, [])

    assert ref("sky.forecast") in {hit.ref for hit in found.hits}
    assert "found for: rain forecast" in found.text


async def test_who_has_found_nothing_or_may_not_search_is_told_that(room: OpenRoom) -> None:
    found = await room.use.find_tools(ANA, [" "])

    assert (found.hits, found.text) == ([], "You have found no tools yet.")
    with pytest.raises(NotPermitted):
        await room.use.find_tools(replace(ANA, scopes=frozenset()), ["read"])


async def test_an_empty_catalogue_says_that_nothing_was_approved(room: OpenRoom) -> None:
    room.world.servers.clear()

    found = await room.use.find_tools(ANA, ["read a file"])

    assert "No server has been approved yet." in found.text
    assert not found.fits


async def test_the_effect_that_was_accepted_decides_what_to_call_it_with(room: OpenRoom) -> None:
    room.replace(a_tool("files.read", "Reads a file.", effect=Effect.UNKNOWN))

    found = await room.use.find_tools(ANA, ["read a file"])

    assert "files.read(path?: str) [destructive]" in found.text


def encoding(encoder: SlowEncoder, clock: TickingClock | None = None) -> EncodeQuery:
    return EncodeQuery(
        encoder=encoder, clock=clock or TickingClock(), wait_timeout=timedelta(milliseconds=10)
    )


async def test_one_that_does_not_answer_is_left_alone_for_a_while() -> None:
    for away in (True, False):
        encoder, clock = SlowEncoder(), TickingClock()
        encode = encoding(encoder, clock)
        encoder.away = away
        if not away:
            encoder.answers.clear()

        failed = await encode(["rain"])
        encoder.away = False
        encoder.answers.set()
        rested = await encode(["wind"])
        clock.turn(timedelta(seconds=30))
        again = await encode(["sun"])

        assert (failed, rested) == (None, None), away
        assert again is not None, away
        assert encoder.asked == [["rain"], ["sun"]], away


async def test_a_search_goes_on_without_an_encoder_that_has_become_slow() -> None:
    encoder = SlowEncoder()
    room = OpenRoom(encoder=encoder)
    async with running(room):
        finder = await completed(room)
        encoder.answers.clear()
        encode = room.use.find_tools.look_up.encode
        assert encode is not None
        encode.wait_timeout = timedelta(milliseconds=10)

        found = await room.use.find_tools(ANA, ["will it rain in the city?"])

    assert ENCODER in finder.live.vectors
    assert found.hits[0].ref == ref("sky.forecast")


async def test_all_that_search_leave_a_slow_encoder_alone_together() -> None:
    room = OpenRoom(encoder=SlowEncoder())

    suggesting = room.use.suggest.suggest_workflow.gather.look_up

    assert suggesting.encode is room.use.find_tools.look_up.encode


async def test_a_tool_is_described_with_its_schema_and_how_to_call_it() -> None:
    described = await OpenRoom().gateway.describe_tools(ANA, ["files.read"])

    told = json.loads(described.text)
    assert told["input_schema"] == READ.definition.input_schema
    assert told["call_with"] == "call_read"


async def test_what_cannot_be_described_is_told_beside_the_rest() -> None:
    described = await OpenRoom().gateway.describe_tools(
        ANA, ["files.read", "files.reed", "tracker.create_ticket", "odd"]
    )

    assert [tool["tool"] for tool in described.tools] == ["files.read"]
    assert set(described.refused) == {"files.reed", "tracker.create_ticket", "odd"}
    assert "CANARY" not in described.text


async def test_where_there_is_none_it_is_an_error() -> None:
    with pytest.raises(ToolNotFound):
        await OpenRoom().gateway.describe_tools(ANA, ["files.reed"])
    with pytest.raises(ToolNotFound):
        await OpenRoom().gateway.describe_tools(ANA, [])


async def test_the_first_is_told_whatever_it_costs_and_the_others_while_there_is_room() -> None:
    described = await OpenRoom().gateway.describe_tools(
        ANA, ["files.read", "files.write"], budget=10
    )

    assert '"files.read"' in described.text
    assert "No room for files.write" in described.text


async def test_how_a_plan_is_written_is_told_when_it_is_asked_for(room: OpenRoom) -> None:
    described = await room.gateway.describe_tools(VIEWER, ["run_workflow", "files.read"])
    program = await room.gateway.describe_tools(VIEWER, ["run_program"])

    [plan, other] = described.tools
    assert plan["planSchema"] == plan_schema()
    assert plan["example"] == EXAMPLE
    assert other["tool"] == "files.read"
    assert "await server__tool" in program.text


def test_the_example_of_a_plan_can_be_read() -> None:
    example = EXAMPLE["plan"]

    plan = read_plan(example, JmespathExpressions())

    assert [step.id for step in plan.steps] == ["find", "read", "note"]


def _tokens(surface: Surface) -> int:
    return sum(O200k().count(canonical(tool).decode()) for tool in surface.tools)


async def test_it_has_the_ten_tools_of_the_door_and_names_the_servers() -> None:
    surface = await OpenRoom().gateway.show_surface(ANA)

    assert [tool["name"] for tool in surface.tools] == [it["name"] for it in fixed_tools("")]
    assert "files 3, sky 1" in surface.search_description
    assert "tracker" not in surface.search_description


async def test_what_is_used_most_is_listed_directly(room: OpenRoom) -> None:
    room.upstreams.replies |= {READ.ref: text("a"), WEATHER.ref: text("b")}
    for _ in range(3):
        await room.use.call_tool(ANA, WEATHER.ref, {})
    await room.use.call_tool(ANA, READ.ref, {})
    await room.gateway.tool_usage.flush()

    surface = await room.gateway.show_surface(ANA)

    assert [hot.name for hot in surface.hot] == ["sky__forecast", "files__read"]
    assert surface.hot_ref("files__read") == ref("files.read")
    assert surface.hot_ref("nothing") is None


async def test_the_whole_list_stays_under_its_cap() -> None:
    room = OpenRoom(Limits(surface_tokens=840))
    room.upstreams.replies |= {READ.ref: text("a"), WEATHER.ref: text("b")}
    await room.use.call_tool(ANA, WEATHER.ref, {})
    await room.use.call_tool(ANA, READ.ref, {})
    await room.gateway.tool_usage.flush()

    surface = await room.gateway.show_surface(ANA)

    assert len(surface.hot) == 1
    assert _tokens(surface) <= 840


async def test_with_a_hundred_servers_a_thousand_tokens_are_enough(room: OpenRoom) -> None:
    description = search_description(
        {f"a-server-of-somebody-{number}": 100_000 + number for number in range(100)},
        lambda text: O200k().count(text) <= OF_THE_SEARCH,
    )
    assert "more servers" in description

    surface = replace(await room.gateway.show_surface(ANA), search_description=description)

    assert _tokens(surface) <= Limits().surface_tokens == 1_000


async def test_it_stays_the_same_for_a_while_and_then_follows(room: OpenRoom) -> None:
    room.upstreams.replies[READ.ref] = text("a")
    running = room.gateway.catalogues
    before = await room.gateway.show_surface(ANA)
    await room.use.call_tool(ANA, READ.ref, {})
    await room.gateway.tool_usage.flush()
    room.clock.turn(timedelta(minutes=11))

    after = await room.gateway.show_surface(ANA)

    assert before.hot == []
    assert [hot.ref for hot in after.hot] == [READ.ref]
    assert running is room.gateway.catalogues
