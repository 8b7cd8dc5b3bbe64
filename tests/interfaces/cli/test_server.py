"""Names that were typed, and where they lead on the server."""

import ast
from pathlib import Path

import pytest

from portico.interfaces import cli as package
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.server import api_path
from tests.interfaces.cli.command_line import CommandLine

ASKING = {"get", "post", "put", "patch", "delete", "pages", "lines", "streaming"}


def test_each_part_is_one_step_whatever_letters_it_has() -> None:
    assert api_path("servers", "a b?c#d%2e", "logs") == "/servers/a%20b%3Fc%23d%252e/logs"


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "../status", "/"])
def test_what_would_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InvalidUsage) as refusal:
        api_path("servers", name)

    assert refusal.value.fix


@pytest.mark.parametrize(
    "command",
    [
        "secrets unset a/../b",
        "servers show ../status",
        "servers show ..",
        "servers remove .. --yes",
        "servers show ''",
        "servers label ../servers/b team",
        "servers logout ..",
        "servers profile a/b",
        "tools show ../status",
        "keys revoke ..",
        "policy remove ../rules/x",
        "contexts close ..",
    ],
)
def test_no_command_asks_for_something_else_than_was_named(cli: CommandLine, command: str) -> None:
    got = cli(f"{command} --no-input", {"GET /status": {}})

    assert (got.code, got.asked) == (2, [])
    assert "bad_usage" in got.err


def test_no_path_to_the_server_is_put_together_elsewhere() -> None:
    for file in sorted(Path(package.__file__).parent.glob("*.py")):
        calls = [it for it in ast.walk(ast.parse(file.read_text())) if isinstance(it, ast.Call)]
        asked = [call.args[0] for call in calls if call.args and _asks(call.func)]

        made = [it for it in asked if isinstance(it, ast.JoinedStr | ast.BinOp)]
        assert [f"{file.name}: {ast.unparse(it)}" for it in made] == []


def _asks(function: ast.expr) -> bool:
    """Also `Following(server, say)(path)`; not what looks into a table, `_SHAPES.get(…)`."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr in ASKING and not function.value.id.isupper()
    named = isinstance(function, ast.Attribute) and function.attr in ASKING
    return named or isinstance(function, ast.Call)
