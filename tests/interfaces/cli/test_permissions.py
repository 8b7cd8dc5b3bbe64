"""Each command is either for whoever has this machine, or asks the server as any client would."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from cyclopts import App

from portico.interfaces import cli
from portico.interfaces.cli.app import build
from tests.interfaces.http.doors import DOORS

HERE: Final = """
: init connect disconnect up down restart serve doctor uninstall version completion
plan: schema convert
secrets: rotate
config: show get validate schema path set unset
embeddings: pull use status
db: provision migrate status start stop backup restore info upgrade
"""
"""For whoever has this machine, by its files: the words that stand before each, and the last."""
ASKING: Final = """
: stdio status ui demo search call notifications debate connect-agent run plan feedback join
spaces: create list rename export delete
servers: list show add approve diff enable disable restart logs profile label login logout
servers: login-config remove
tools: list show effect
approvals: list show approve reject withdraw resolve watch
runs: tail export list show start cancel resume fork signal
agents: new list show edit remove duplicate versions diff restore chat test export import runs
agents: trace say stop resume resolve stats
models: list show providers test
debate: list show log stop outcome replay voices share promote budget remove
debate personas: list put remove
bridge: inbox read watch post search ack edit delete versions declassify attach fetch
bridge projects: list new show archive rename export
bridge conversations: list new join leave mute archive rename people
bridge memory: get set list find history forget
bridge lease: take renew release check list
bridge work: add list show claim hand-over done drop
bridge presence: list say
plan: check propose
workflows: list show watch cancel resume fork resolve save saved remove
ahead: show edges off shadow live learning
graph: stats path communities neighbours export
keys: create list rotate revoke trust
people: invite add list change disable enable
policy: explain list allow ask deny remove
contexts: open list close
secrets: set list unset
audit: tail export verify
"""
"""As any client would; what each asks for is in the tests of each."""

_WAYS: Final = {
    "get": "GET",
    "pages": "GET",
    "lines": "GET",
    "streaming": "GET",
    "post": "POST",
    "put": "PUT",
    "patch": "PATCH",
    "upload": "POST",
    "download": "GET",
    "delete": "DELETE",
}


def commands(app: App, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Taken from the command tree itself."""
    names = [name for name in app if not name.startswith("-")]
    if not names or (path and app.default_command is not None):
        yield " ".join(path)
    for name in names:
        yield from commands(app[name], (*path, name))


def listed(table: str) -> list[str]:
    lines = [line.split(":") for line in table.strip().splitlines()]
    return [f"{before} {last}".strip() for before, names in lines for last in names.split()]


@pytest.mark.requirement("guard:table:every-route")
def test_every_command_is_for_this_machine_or_asks_and_nothing_else_is_a_command() -> None:
    assert sorted(commands(build())) == sorted(listed(HERE) + listed(ASKING))


@pytest.mark.requirement("guard:table:every-route")
def test_no_command_asks_at_an_address_that_is_not_in_the_table_of_routes() -> None:
    asked = list(addresses())
    strange = [(method, path) for method, path in asked if not _known(method, path)]

    assert len(asked) >= 60
    assert strange == []


def addresses() -> Iterator[tuple[str, str]]:
    """Every one that stands in the source of the commands, with `*` for what is put in."""
    for file in sorted(Path(cli.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr=way), args=[first, *_]) if way in _WAYS:
                    path = _written(first)
                    if path.startswith("/") and path != "/readyz":
                        yield _WAYS[way], path


def _written(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Call(func=ast.Name(id="path_to"), args=parts):
            return "".join(f"/{_written(part) or '*'}" for part in parts)
        case _:
            return ""


def _known(method: str, path: str) -> bool:
    pattern = re.escape(f"/api/v1{path}").replace(r"\*", "[^/]+")
    return any(
        its_method == method and re.fullmatch(pattern, its_path) for its_method, its_path in DOORS
    )
