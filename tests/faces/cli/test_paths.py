"""Names that were typed, and where they lead on the server."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.faces.cli import paths
from portico.faces.cli.app import run
from portico.faces.cli.errors import BadUsage
from portico.faces.cli.paths import path_to
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering

SOURCES = Path(paths.__file__).parent
ASKING = {"get", "post", "put", "patch", "delete", "pages", "lines", "streaming"}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with answering({"GET /status": {}}) as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, server: ScriptedServer) -> ScriptedHouse:
    house = ScriptedHouse(tmp_path)
    house.remote = server.url
    house.whereabouts().key_file.write_text("ptc_mine")
    return house


def test_each_part_is_one_step_whatever_letters_it_has() -> None:
    assert path_to("servers", "a b?c#d%2e", "logs") == "/servers/a%20b%3Fc%23d%252e/logs"


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "../status", "/"])
def test_what_would_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(BadUsage) as refusal:
        path_to("servers", name)

    assert refusal.value.fix


@pytest.mark.parametrize(
    "command",
    [
        ["secrets", "unset", "a/../b"],
        ["servers", "show", "../status"],
        ["servers", "show", ".."],
        ["servers", "remove", "..", "--yes"],
        ["servers", "show", ""],
        ["servers", "label", "../servers/b", "team"],
        ["servers", "logout", ".."],
        ["servers", "profile", "a/b"],
        ["tools", "show", "../status"],
        ["keys", "revoke", ".."],
        ["policy", "remove", "../rules/x"],
        ["contexts", "close", ".."],
    ],
    ids=" ".join,
)
def test_no_command_asks_for_something_else_than_was_named(
    command: list[str],
    house: ScriptedHouse,
    server: ScriptedServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(house, [*command, "--no-input"])

    assert (code, server.asked) == (2, [])
    assert "bad_usage" in capsys.readouterr().err


@pytest.mark.parametrize("file", sorted(SOURCES.glob("*.py")), ids=lambda file: file.stem)
def test_no_path_to_the_server_is_put_together_elsewhere(file: Path) -> None:
    calls = [it for it in ast.walk(ast.parse(file.read_text())) if isinstance(it, ast.Call)]
    asked = [
        call.args[0]
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ASKING and call.args
    ]
    made = [call.args[0] for call in calls if _follows(call)]

    assert not [ast.unparse(it) for it in asked + made if isinstance(it, ast.JoinedStr | ast.BinOp)]


def _follows(call: ast.Call) -> bool:
    """`Following(server, say)(path)`."""
    return isinstance(call.func, ast.Call) and bool(call.args)
