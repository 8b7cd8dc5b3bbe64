"""How a server that does not start is mended, and where."""

import pytest

from portico.gateway.core.mending import how_to_mend
from portico.gateway.core.server import Http, Plain, Server, Stdio
from portico.testing.gateway import a_server

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
