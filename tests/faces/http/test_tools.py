"""Tools and calls over REST."""

from datetime import timedelta

from portico.faces.http.calls import answer_out
from portico.gateway.core.ahead.mark import marked
from portico.gateway.core.call import Called, CallId
from portico.gateway.core.tool import ToolRef
from portico.testing.upstreams import text
from tests.faces.http.conftest import Site
from tests.faces.http.test_servers import TOOL, approved

READ = ToolRef("files", "read_file")


async def test_tools_are_listed_with_how_they_stand_and_shown_as_they_are_said(site: Site) -> None:
    await approved(site)

    [tool] = (await site.ask("GET", "/api/v1/tools")).json["data"]
    none = await site.ask("GET", "/api/v1/tools", query="standing=changed")
    shown = await site.ask("GET", "/api/v1/tools/files.read_file")

    assert (tool["tool"], tool["standing"]) == ("files.read_file", "live")
    assert none.json["data"] == []
    assert shown.json["definition"] == TOOL


async def test_a_call_gives_what_the_tool_gives(site: Site) -> None:
    await approved(site)
    site.upstreams.replies[READ] = text("the text")

    called = await site.ask(
        "POST", "/api/v1/calls", {"tool": "files.read_file", "arguments": {"path": "a"}}
    )
    [call] = (await site.ask("GET", "/api/v1/calls")).json["data"]
    [figures] = (await site.ask("GET", "/api/v1/figures", query="server=files")).json

    assert called.json["content"] == [{"type": "text", "text": "the text"}]
    assert (call["tool"], call["outcome"]) == ("files.read_file", "done")
    assert (figures["name"], figures["calls"], figures["error_rate"]) == ("read_file", 1, 0)


async def test_a_long_answer_is_read_page_by_page(site: Site) -> None:
    await approved(site)
    site.upstreams.replies[READ] = text("word " * 10_000)

    called = await site.ask("POST", "/api/v1/calls", {"tool": "files.read_file"})
    page = await site.ask("GET", f"/api/v1/results/{called.json['result']}", query="page=2")

    assert (page.json["page"], page.json["pages"]) == (2, 3)


def test_an_answer_that_was_read_ahead_says_how_old_it_is() -> None:
    call = CallId.of_digest(b"one")

    assert answer_out(Called(marked(text("old"), timedelta(seconds=2)), call)).age_ms == 2_000
    assert answer_out(Called(text("new"), call)).age_ms is None
