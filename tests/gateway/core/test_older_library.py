"""Servers for version 1 of the mcp library: recognised by their words, and how they are started."""

import pytest

from portico.gateway.core.launch_text import shown
from portico.gateway.core.older_library import installing_older, needs_older, repinned
from portico.gateway.core.server import FromEnvironment, Plain, Stdio


def launch(command: str, *arguments: str) -> Stdio:
    return Stdio(command, tuple(map(Plain, arguments)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
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
    ],
)
def test_the_older_library_is_put_before_what_is_run(before: Stdio, after: str) -> None:
    other = repinned(before)

    assert other is not None
    assert shown(other) == after


@pytest.mark.parametrize(
    "other",
    [launch("python", "-m", "x"), launch("uv", "sync"), launch("pipx", "x"), launch("npx", "x")],
)
def test_whoever_else_starts_it_cannot_be_told(other: Stdio) -> None:
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
