"""`init` takes over servers: what a person sees, what is asked, and what a program gets."""

import asyncio
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.house import ImportRoom
from portico.faces.cli.init_words import offers, picked, take_question, weight_text
from portico.gateway.core.client_files.wish import Described, Problem, Wish
from portico.gateway.core.server import FromFile, Http, Plain, Stdio
from portico.gateway.core.tool import Standing
from portico.gateway.examine_servers import ExamineServers
from portico.gateway.import_servers import AcceptListed, ImportServers
from portico.gateway.weigh_context import ContextWeight, WeighContext
from portico.kernel.effect import Effect
from portico.kernel.tokens import Tokens
from portico.testing.upstreams import seen
from tests.faces.cli.house import ScriptedHouse, ScriptedImporting
from tests.gateway.server_room import READ, ROOT, WIPE, WRITE, Room

Captured = pytest.CaptureFixture[str]

MINE, PROJECT = "/home/ana/.cursor/mcp.json", "/srv/shop/.mcp.json"


def a_wish(name: str, launch: Stdio | Http | None = None, *, enabled: bool = True) -> Wish:
    return Wish(
        name=name,
        called=name,
        launch=launch or Stdio("npx", (Plain(name),)),
        where=f"/mcpServers/{name}",
        enabled=enabled,
    )


def files() -> Sequence[Described]:
    key = {"KEY": FromFile(MINE, "/mcpServers/mail/env/KEY")}
    return [
        Described(
            origin=MINE,
            client="Cursor",
            wishes=[
                a_wish("files"),
                a_wish("mail", Stdio("uvx", (Plain("mail"),), key)),
                a_wish("off", enabled=False),
            ],
            problems=[Problem(reason="its args are not a list", server="bad", line=7)],
        ),
        Described(
            origin=PROJECT, client=".mcp.json", for_a_project=True, wishes=[a_wish("strange")]
        ),
    ]


class Scene:
    def __init__(self, root: Path) -> None:
        self.room = Room()
        self.room.upstreams.offers = {
            "files": seen(READ, WRITE, WIPE),
            "strange": seen(READ),
        }
        room = self.room
        self.importing = ScriptedImporting(
            ImportRoom(
                caller=ROOT,
                import_servers=ImportServers(
                    servers=room.servers,
                    upstreams=room.upstreams,
                    reconcile=room.reconcile,
                    approve=room.approve_launch,
                    index=room.index_server,
                    review=room.review,
                ),
                accept=AcceptListed(accept=room.accept_tools),
                examine=ExamineServers(
                    servers=room.servers, upstreams=room.upstreams, index=room.index_server
                ),
                weigh=WeighContext(
                    servers=room.servers, tools=room.tools, tokenizer=room.tokenizer
                ),
            ),
            *files(),
        )
        self.house = ScriptedHouse(root)
        self.house.scripted_importing = self.importing

    def init(self, *options: str) -> int:
        return run(self.house, ["init", *options])


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


class Typing(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.requirement("gateway:import:shown-and-approved")
def test_every_server_is_shown_with_its_exact_command(scene: Scene, capsys: Captured) -> None:
    assert scene.init("--dry-run") == 0

    said = capsys.readouterr()
    assert "Cursor: /home/ana/.cursor/mcp.json" in said.err
    assert "1  files: npx files" in said.err
    key = "${file:/home/ana/.cursor/mcp.json#/mcpServers/mail/env/KEY}"
    assert f"2  mail: KEY={key} uvx mail" in said.err
    assert "off  off: npx off" in said.err
    assert "! bad: its args are not a list (line 7)" in said.err
    assert ".mcp.json, in this folder: /srv/shop/.mcp.json" in said.err
    assert "3  strange: npx strange" in said.err


@pytest.mark.requirement("gateway:import:dry-run")
def test_a_dry_run_changes_nothing(scene: Scene, capsys: Captured) -> None:
    assert scene.init("--dry-run", "--json") == 0

    answer = json.loads(capsys.readouterr().out)
    assert answer["dry_run"]
    assert [each["client"] for each in answer["found"]] == ["Cursor", ".mcp.json"]
    assert answer["found"][0]["servers"][0] == {
        "name": "files",
        "command": "npx files",
        "enabled": True,
    }
    assert scene.importing.used == []
    assert scene.room.upstreams.looked == []
    assert "was set up already" not in _said_by(scene, capsys)


def _said_by(scene: Scene, capsys: Captured) -> str:
    scene.init("--no-import")
    return capsys.readouterr().err


async def _standings(scene: Scene) -> dict[str, dict[Standing, int]]:
    looks = await scene.room.list_servers(ROOT)
    return {look.server.name: dict(look.tools) for look in looks}


@pytest.mark.requirement("gateway:import:yes-accepts-reads")
async def test_yes_takes_all_of_ones_own_files_and_accepts_only_reads(
    scene: Scene, capsys: Captured
) -> None:
    assert await _in_thread(scene, "--yes") == 0

    said = capsys.readouterr().err
    assert scene.importing.used == [MINE]
    assert scene.room.upstreams.looked_at == ["files", "mail"]
    assert "✓ files     3 tools " in said
    assert "1 read, 1 write, 1 may destroy" in said
    assert "✗ mail" in said
    assert (await scene.room.tool("files.read_file")).effect.reads_only
    assert (await scene.room.tool("files.write_file")).effect is Effect.UNKNOWN
    assert "strange" not in await _standings(scene)
    assert "3 tools of 1 server, in tokens of letters" in said
    assert said.endswith("\nNext: portico up\n")


async def test_a_file_that_is_named_is_taken_whosever_it_is(scene: Scene) -> None:
    assert await _in_thread(scene, "--yes", "--from", PROJECT) == 0

    assert scene.importing.used == [PROJECT]
    assert await _standings(scene) == {"strange": {Standing.LIVE: 1}}


async def test_where_nobody_can_be_asked_nothing_is_taken(scene: Scene, capsys: Captured) -> None:
    assert await _in_thread(scene) == 0

    assert "To take them: portico init --yes" in capsys.readouterr().err
    assert scene.importing.used == []
    assert await scene.room.servers.all(ROOT) == []


async def test_a_person_picks_and_lets_in(
    scene: Scene, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Typing("9\n1,3\na\n"))

    assert await _in_thread(scene) == 0

    said = capsys.readouterr().err
    assert "There are 1 to 3." in said
    assert "Tools proposed as reading: 2, writing: 1, destructive: 1" in said
    assert scene.importing.used == [MINE, PROJECT]
    assert await _standings(scene) == {
        "files": {Standing.LIVE: 3},
        "mail": {},
        "strange": {Standing.LIVE: 1},
    }
    assert (await scene.room.tool("files.write_file")).effect is Effect.EXTERNAL_WRITE


async def test_what_is_not_let_in_waits(
    scene: Scene, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Typing("1\nn\n"))

    assert await _in_thread(scene) == 0

    assert "portico servers approve NAME" in capsys.readouterr().err
    assert (await _standings(scene))["files"] == {Standing.PENDING: 3}


async def test_whoever_goes_away_has_taken_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Typing(""))

    assert await _in_thread(scene) == 0

    assert scene.importing.used == []


async def test_a_program_gets_all_of_it(scene: Scene, capsys: Captured) -> None:
    assert await _in_thread(scene, "--yes", "--json") == 0

    answer = json.loads(capsys.readouterr().out)
    assert answer["imported"] == [MINE]
    assert [(each["name"], each["listed"]) for each in answer["servers"]] == [
        ("files", True),
        ("mail", False),
    ]
    assert answer["servers"][0]["proposed"] == {"reads": 1, "writes": 1, "others": 1}
    assert answer["context"]["tokens_before"] == answer["servers"][0]["tokens"]
    assert answer["admin"]


def test_where_nothing_is_found_nothing_is_said_of_it(tmp_path: Path, capsys: Captured) -> None:
    house = ScriptedHouse(tmp_path)

    assert run(house, ["init", "--name", "ana"]) == 0

    assert "Servers of tools" not in capsys.readouterr().err


async def test_another_place_may_win(scene: Scene, capsys: Captured) -> None:
    scene.importing.overruled_by = "environment PORTICO_GATEWAY__IMPORTS"

    assert await _in_thread(scene, "--yes") == 0

    assert "environment PORTICO_GATEWAY__IMPORTS wins" in capsys.readouterr().err


async def _in_thread(scene: Scene, *options: str) -> int:
    """Commands run a loop of their own."""
    return await asyncio.to_thread(scene.init, *options)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", {"files", "mail"}),
        (" All ", {"files", "mail"}),
        ("none", set()),
        ("1", {"files"}),
        ("1-3", {"files", "mail", "strange"}),
        ("3, 1", {"files", "strange"}),
        ("0", None),
        ("4", None),
        ("x", None),
        ("1-", None),
        ("3-1", None),
    ],
)
def test_servers_are_picked_by_number(text: str, names: set[str] | None) -> None:
    chosen = picked(text, offers(files()))

    found = None if chosen is None else {place[1].rpartition("/")[2] for place in chosen}
    assert found == names


@pytest.mark.parametrize(("text", "many"), [("", 0), ("all", 1), ("none", 0), ("1", 1)])
def test_a_folders_file_is_taken_only_if_that_is_said(text: str, many: int) -> None:
    chosen = picked(text, offers(files()[1:]))

    assert chosen is not None
    assert len(chosen) == many


def test_the_question_names_what_enter_means() -> None:
    assert take_question(offers(files())).endswith("[all]")
    assert take_question(offers(files()[1:])).endswith("[none]")


async def test_a_slip_is_asked_again(
    scene: Scene, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Typing("1\nfoo\nr\n"))

    assert await _in_thread(scene) == 0

    assert "Say a, r or n." in capsys.readouterr().err
    assert (await _standings(scene))["files"] == {Standing.LIVE: 3}


async def test_yes_says_why_a_folders_file_is_left(scene: Scene, capsys: Captured) -> None:
    assert await _in_thread(scene, "--yes") == 0

    said = capsys.readouterr().err
    assert f"{PROJECT} is not taken unasked" in said
    assert f"portico init --yes --from {PROJECT}" in said


async def test_logs_are_there_once_it_serves(scene: Scene, capsys: Captured) -> None:
    assert await _in_thread(scene, "--yes") == 0

    assert "portico up, then portico servers logs mail" in capsys.readouterr().err


def test_the_bars_are_to_scale() -> None:
    weight = ContextWeight(
        servers=54, tools=922, before=Tokens(235_000), after=Tokens(900), tokenizer="o200k_base"
    )

    head, before, after = weight_text(weight).splitlines()

    assert head == "922 tools of 54 servers, in tokens of o200k_base:"
    assert before == f"  before  {'█' * 40}  235,000 tokens, 117.5% of a window of 200,000"
    assert after == f"  after   ▏{' ' * 39}  900 tokens, 0.4%"


def test_few_tools_cost_less_than_the_door_and_that_is_shown() -> None:
    weight = ContextWeight(
        servers=1, tools=2, before=Tokens(150), after=Tokens(600), tokenizer="o200k_base"
    )

    _, before, after = weight_text(weight).splitlines()

    assert (before.count("█"), after.count("█")) == (10, 40)
