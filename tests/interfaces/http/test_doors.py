"""Who answers: what is beside, the application itself, or the pages where a person is lost."""

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from portico.interfaces.http.app import PathDispatcher

BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.mark.parametrize(
    ("method", "path", "headers", "who"),
    [
        ("GET", "/", {}, "pages"),
        ("GET", "/runs/run_1", {}, "pages"),
        ("GET", "/mcp", BROWSER, "mcp"),
        ("GET", "/mcp/servers/a", {}, "mcp"),
        ("GET", "/mcpx", {}, "api"),
        ("GET", "/api/v1/mcp", {}, "api"),
        ("GET", "/nosuch", BROWSER, "pages"),
        ("GET", "/nosuch", {}, "api"),
        ("POST", "/nosuch", BROWSER, "api"),
        ("GET", "/nosuch", BROWSER | {"Authorization": "Bearer x"}, "api"),
        ("GET", "/api/v1/nosuch", BROWSER, "api"),
    ],
)
def test_who_answers(method: str, path: str, headers: dict[str, str], who: str) -> None:
    pages = PlainTextResponse("pages")
    beside = {"/mcp": PlainTextResponse("mcp"), "/": pages, "/runs": pages}
    doors = PathDispatcher(PlainTextResponse("api"), beside)

    assert TestClient(doors).request(method, path, headers=headers).text == who
