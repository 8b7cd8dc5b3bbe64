"""Welcome: with nothing set up, and with everything."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.agents.core.model_requests import ProviderState
from portico.gateway.servers import ServerDetails
from portico.gateway.surface import ContextWeight
from portico.interfaces.console.screens.welcome import (
    SAMPLES,
    clients,
    first_steps,
    offered,
    origin_words,
    progress,
    weight,
)
from portico.kernel.budget import Tokens
from portico.kernel.label import PUBLIC
from portico.testing.memory_store import BEGINNING
from tests.interfaces.console.conftest import Browser
from tests.interfaces.http.test_servers import LAUNCH, approved


async def look(console: Browser, name: str = "files") -> ServerDetails:
    ana = (await console.site.use.authenticate(console.site.key)).principal
    return await console.site.gateway.show_server(ana, name)


async def added(console: Browser, name: str = "files") -> str:
    made = await console.site.ask("POST", "/api/v1/servers", {"name": name, "launch": LAUNCH})
    return str(made.json["launch_pin"])


async def test_with_a_server_in_use_the_context_is_weighed(console: Browser) -> None:
    await approved(console.site)

    text = await console.sees("/welcome")

    assert "1 of 1 indexed, 1 in use" in text
    assert "1 tool of 1 server" in text
    assert "allowed, indexed, let in" in text


async def test_samples_are_added_and_not_started(console: Browser) -> None:
    to = await console.does("/welcome/samples", {"sample": ["time", "fetch"]})

    text = await console.sees(to)
    assert "Added, and not started." in text
    assert "uvx mcp-server-time" in text
    assert console.site.upstreams.looked == []
    await console.does("/welcome/samples", {"sample": ["time", "memory"]})
    listed = (await console.site.ask("GET", "/api/v1/servers")).json
    assert {each["name"] for each in listed} >= {"time", "fetch", "memory"}
    assert "Start with samples" not in await console.sees("/welcome")
    for none in ({"sample": "rm"}, {}):
        assert (await console.post("/welcome/samples", none)).status == 422


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ("added", "added by hand"),
        ("portico", "part of Portico"),
        ("/home/ana/.cursor/mcp.json", "Cursor"),
        ("/home/ana/.config/Claude/claude_desktop_config.json", "Claude Desktop"),
        ("/home/ana/.claude.json", "Claude Code"),
        ("/srv/app/.mcp.json", "a project's .mcp.json"),
        ("/etc/other.json", "other.json"),
    ],
)
def test_where_a_server_comes_from_in_words(origin: str, words: str) -> None:
    assert origin_words(origin) == words


async def test_each_state_of_a_server(console: Browser) -> None:
    await approved(console.site)
    live = await look(console)

    def state(**changes: object) -> tuple[str, int, bool]:
        changed = replace(live, server=replace(live.server, **changes))  # type: ignore[arg-type] # a test's own fields
        [step] = progress([changed]).steps
        return step.state, step.done, step.busy

    assert state() == ("in use", 3, False)
    assert state(enabled=False) == ("switched off", 0, False)
    assert state(gone_at=BEGINNING) == ("gone from its file", 0, False)
    assert state(approved_launch_pin=None) == ("waits for approval", 0, False)
    assert state(listed_at=None) == ("being asked what it offers", 1, True)
    assert state(listed_at=None, failure="no") == ("could not be asked", 1, False)
    assert state(tools_accepted=False) == ("its tools wait to be let in", 2, False)
    assert state(failure="no") == ("could not be asked the last time", 2, False)


async def test_servers_are_counted_by_where_they_come_from(console: Browser) -> None:
    await approved(console.site)
    live = await look(console)
    file = replace(live, server=replace(live.server, origin="/h/.cursor/mcp.json", name="b"))

    found = progress([live, file, file]).origins

    assert [(each.name, each.file, each.servers, each.ready) for each in found] == [
        ("added by hand", None, 1, 1),
        ("Cursor", "/h/.cursor/mcp.json", 2, 2),
    ]


def test_two_bars_to_scale() -> None:
    found = weight(
        ContextWeight(
            servers=2, tools=50, before=Tokens(40_000), after=Tokens(1_000), tokenizer="t"
        )
    )
    nothing = weight(
        ContextWeight(servers=0, tools=0, before=Tokens(0), after=Tokens(900), tokenizer="t")
    )

    assert (found.before_width, found.after_width) == (100, 2.5)
    assert (found.saved, found.before_share) == (0.975, 0.2)
    assert (nothing.saved, nothing.before_width, nothing.after_width) == (0, 0, 9)


def test_what_is_left_to_do() -> None:
    answering = ProviderState(
        name="ollama",
        kind="ollama",
        url="u",
        local=True,
        clearance=PUBLIC,
        reachable=True,
        models=3,
        took=timedelta(milliseconds=3),
        asked_at=BEGINNING,
    )

    nothing = first_steps(progress([]), [], None)
    some = first_steps(progress([]), [answering, replace(answering, reachable=False)], BEGINNING)

    assert [each.done for each in nothing] == [False, False, False]
    assert [each.done for each in some] == [False, True, True]
    assert some[1].told == "3 to choose from"


def test_snippets_name_the_address_and_never_a_key() -> None:
    found = {each.name: each for each in clients("http://here:1")}

    assert "http://here:1/mcp" in found["Cursor"].snippet
    assert found["Cursor"].needs_key
    assert not found["Claude Desktop"].needs_key
    assert all("ptc_…" in each.snippet or "ptc_" not in each.snippet for each in found.values())


def test_samples_that_are_there_are_not_offered() -> None:
    assert len(offered([])) == len(SAMPLES)
    assert [each.name for each in offered(["time", "fetch"])] == ["memory"]
