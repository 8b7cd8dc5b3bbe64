"""A screen with nothing on it, or of what is not there, says so and what to do."""

import html

import pytest

from tests.faces.web.conftest import Browser

EMPTY = {
    "/inbox": ("Nothing waits for you.", "you say yes or no"),
    "/runs": ("No runs yet.", "portico run plan.toml"),
    "/chat": ("There is no agent yet.", "Make an agent"),
    "/bridge": ("No project yet.", "Create a project"),
    "/debates": ("No debate yet.", "Ask something"),
    "/tools?q=zzyzx": ("No tool fits", "Add a server"),
    "/graph": ("Nothing learnt yet.", "Find a tool and call it"),
    "/servers": ("No servers yet.", "Add servers"),
    "/agents": ("No agents yet.", "Begin with a template"),
    "/figures": ("Collecting: first numbers after some calls.", "Find a tool"),
    "/audit?action=debate.": ("No such entries.", "Filter"),
    "/settings/secrets": ("No secrets.", "Set a secret"),
    "/welcome": ("No servers yet.", "portico init"),
}
NOBODY = "0" * 26
GONE = {
    f"/inbox/apr_{NOBODY}": 404,
    f"/runs/run_{NOBODY}": 404,
    f"/chat/run_{NOBODY}": 404,
    f"/bridge/prj_{NOBODY}": 404,
    f"/bridge/prj_{NOBODY}/cnv_{NOBODY}": 404,
    f"/debates/dbt_{NOBODY}": 404,
    "/debates/what-is-this": 404,
    "/tools/library.nothing": 404,
    "/graph?all=1&from=no.one&to=no.two": 404,
    "/servers/nothing": 404,
    "/agents/nothing": 404,
    "/audit?after=nonsense": 422,
    "/settings/nothing": 404,
}


@pytest.mark.requirement("console:screens:states")
@pytest.mark.parametrize("path", EMPTY)
async def test_screen_with_nothing_on_it_says_what_to_do(console: Browser, path: str) -> None:
    text = html.unescape(await console.sees(path))

    assert [words for words in EMPTY[path] if words not in text] == []


@pytest.mark.requirement("console:screens:states")
@pytest.mark.parametrize("path", GONE)
async def test_what_is_not_there_is_said_on_a_page_of_the_console(
    console: Browser, path: str
) -> None:
    answer = await console.get(path)

    text = answer.body.decode()
    assert answer.status == GONE[path]
    assert 'role="alert"' in text
    assert 'class="fix"' in text
    assert '<nav class="side"' in text
