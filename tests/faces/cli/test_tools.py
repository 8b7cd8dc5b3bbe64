"""Tools, at the command line."""

from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import answering

Captured = pytest.CaptureFixture[str]


def shown(root: Path, returns: dict[str, Any] | None, capsys: Captured) -> str:
    tool = {
        "tool": "shop.find",
        "definition": {"name": "find", "description": "Finds.", "inputSchema": {}},
        "returns": returns,
    }
    with answering({"GET /tools/shop.find": tool}) as server:
        house = ScriptedHouse(root)
        house.remote = server.url
        house.whereabouts().key_file.write_text("ptc_mine")
        assert run(house, ["tools", "show", "shop.find"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("seen", "words"), [(1, "once"), (1200, "1,200 times")])
def test_what_was_learnt_of_a_tool_is_shown_with_it(
    tmp_path: Path, capsys: Captured, seen: int, words: str
) -> None:
    told = shown(tmp_path, {"seen": seen, "shape": "{id: int}", "json_schema": {}}, capsys)

    assert told.splitlines()[-1] == f"Returns (seen {words}): {{id: int}}"


def test_nothing_is_said_of_what_is_not_known(tmp_path: Path, capsys: Captured) -> None:
    assert "Returns" not in shown(tmp_path, None, capsys)
