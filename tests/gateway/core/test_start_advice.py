"""What a server that did not start has written, and what helps."""

import pytest

from portico.gateway.core.server import Http, Stdio
from portico.gateway.core.start_advice import advice

ENDED = "it ended with exit code 1"


@pytest.mark.parametrize(
    ("command", "line", "told"),
    [
        ("uvx", "ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is", "--with"),
        ("uv", "cannot import name 'FastMCP' from 'mcp.server' (/x)", "pip install 'mcp<2'"),
        (
            "python",
            "'Server' object has no attribute 'list_tools'",
            "python -m pip install 'mcp<2'",
        ),
        ("docker", "docker: Cannot connect to the Docker daemon at unix:", "Start Docker."),
        ("npx", "npm error 404 Not Found - GET https://x/y", "no such npm package"),
        ("uvx", "  No solution found when resolving tool dependencies:", "no such package"),
        ("npx", "npm error code EBADENGINE", "a newer Node.js"),
        ("npx", "Error: listen EADDRINUSE: address already in use :::3000", "a port that is taken"),
        ("npx", "Error: BRAVE_API_KEY environment variable is required", "Give it BRAVE_API_KEY:"),
        ("npx", "Please set GITHUB_TOKEN before starting", "Give it GITHUB_TOKEN:"),
    ],
)
def test_what_is_known_has_an_advice(command: str, line: str, told: str) -> None:
    assert told in (advice(Stdio(command), ENDED, ["Starting …", line, "bye"]) or "")


def test_what_is_not_known_has_none() -> None:
    assert advice(Stdio("npx"), ENDED, ["Traceback (most recent call last):", "x"]) is None
    assert advice(Http("https://x.example"), "No module named 'mcp.server.fastmcp'", []) is None


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("npx", "Install Node.js, which brings npx."),
        ("uvx", "Install uv, which brings uvx: pip install uv"),
        ("acme-tools", None),
    ],
)
def test_a_program_that_is_not_there_is_to_be_installed(program: str, told: str | None) -> None:
    assert advice(Stdio(program), f"there is no program {program!r}", []) == told
