"""`init` takes over servers: what a person sees, what is asked, and what a program gets."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.config_documents import Described, Problem, ServerSpec
from portico.gateway.core.servers import FromFile, Http, Plain, Stdio
from portico.gateway.server_files import AcceptListed, ImportServers
from portico.gateway.start_diagnostics import ExamineServers
from portico.gateway.surface import ContextWeight, WeighContext
from portico.interfaces.cli.init import offers, picked, take_question, weight_text
from portico.interfaces.cli.services import ImportRoom
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.testing.gateway import seen
from tests.gateway.server_room import READ, ROOT, WIPE, WRITE, Room
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.house import ScriptedImporting

MINE, PROJECT = "/home/ana/.cursor/mcp.json", "/srv/shop/.mcp.json"


def a_wish(name: str, launch: Stdio | Http | None = None, *, enabled: bool = True) -> ServerSpec:
    return ServerSpec(
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
    """`init`, where other programs have servers; what each does is what the rooms do."""

    def __init__(self, cli: CommandLine) -> None:
        room = self.room = Room()
        room.upstreams.offers = {"files": seen(READ, WRITE, WIPE), "strange": seen(READ)}
        self._cli = cli
        self.importing = cli.house.scripted_importing = ScriptedImporting(
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

    async def init(self, options: str = "", typed: str | None = None) -> Outcome:
        """In a thread, since commands run a loop of their own."""
        got = await asyncio.to_thread(self._cli, f"init {options}", typed=typed)
        assert got.code == 0
        return got

    async def standings(self) -> dict[str, dict[ToolStatus, int]]:
        looks = await self.room.list_servers(ROOT)
        return {look.server.name: dict(look.tools) for look in looks}


@pytest.fixture
def scene(cli: CommandLine) -> Scene:
    return Scene(cli)


@pytest.mark.requirement("gateway:import:shown-and-approved")
@pytest.mark.requirement("gateway:import:dry-run")
async def test_every_server_is_shown_with_its_exact_command_and_a_dry_run_changes_nothing(
    scene: Scene,
) -> None:
    said = (await scene.init("--dry-run")).err
    answer = (await scene.init("--dry-run --json")).json

    for words in (
        "Cursor: /home/ana/.cursor/mcp.json",
        "1  files: npx files",
        "2  mail: KEY=${file:/home/ana/.cursor/mcp.json#/mcpServers/mail/env/KEY} uvx mail",
        "off  off: npx off",
        "! bad: its args are not a list (line 7)",
        ".mcp.json, in this folder: /srv/shop/.mcp.json",
        "3  strange: npx strange",
    ):
        assert words in said
    assert answer["dry_run"]
    assert [each["client"] for each in answer["found"]] == ["Cursor", ".mcp.json"]
    first = {"name": "files", "command": "npx files", "enabled": True}
    assert answer["found"][0]["servers"][0] == first
    assert scene.importing.used == []
    assert scene.room.upstreams.looked == []
    assert "was set up already" not in (await scene.init("--no-import")).err


@pytest.mark.requirement("gateway:import:yes-accepts-reads")
async def test_yes_takes_all_of_ones_own_files_and_accepts_only_reads(scene: Scene) -> None:
    scene.importing.overruled_by = "environment PORTICO_GATEWAY__IMPORTS"

    said = (await scene.init("--yes")).err

    assert scene.importing.used == [MINE]
    assert scene.room.upstreams.looked_at == ["files", "mail"]
    for words in (
        "✓ files     3 tools ",
        "1 read, 1 write, 1 may destroy",
        "✗ mail",
        "portico up, then portico servers logs mail",
        "3 tools of 1 server, in tokens of letters",
        f"{PROJECT} is not taken unasked",
        f"portico init --yes --from {PROJECT}",
        "environment PORTICO_GATEWAY__IMPORTS wins",
    ):
        assert words in said
    assert said.endswith("\nNext: portico up\n")
    assert (await scene.room.tool("files.read_file")).effect.is_read_only
    assert (await scene.room.tool("files.write_file")).effect is Effect.UNKNOWN
    assert "strange" not in await scene.standings()


async def test_a_program_gets_all_of_it(scene: Scene) -> None:
    answer = (await scene.init("--yes --json")).json

    assert answer["imported"] == [MINE]
    listed = [(each["name"], each["listed"]) for each in answer["servers"]]
    assert listed == [("files", True), ("mail", False)]
    assert answer["servers"][0]["proposed"] == {"reads": 1, "writes": 1, "others": 1}
    assert answer["context"]["tokens_before"] == answer["servers"][0]["tokens"]
    assert answer["admin"]


async def test_a_file_that_is_named_is_taken_whosever_it_is(scene: Scene) -> None:
    await scene.init(f"--yes --from {PROJECT}")

    assert scene.importing.used == [PROJECT]
    assert await scene.standings() == {"strange": {ToolStatus.LIVE: 1}}


ALL_IN = {"files": {ToolStatus.LIVE: 3}, "mail": {}, "strange": {ToolStatus.LIVE: 1}}


@pytest.mark.parametrize(
    ("typed", "said", "used", "standings"),
    [
        (None, ["To take them: portico init --yes"], [], {}),
        ("", [], [], {}),
        ("9\n1,3\na\n", ["There are 1 to 3.",
                         "Tools proposed as reading: 2, writing: 1, destructive: 1"],
         [MINE, PROJECT], ALL_IN),
        ("1\nn\n", ["portico servers approve NAME"], [MINE], {"files": {ToolStatus.PENDING: 3}}),
        ("1\nfoo\nr\n", ["Say a, r or n."], [MINE], {"files": {ToolStatus.LIVE: 3}}),
    ],
    ids=["nobody can be asked", "goes away", "lets in", "lets nothing in", "slips"],
)  # fmt: skip
async def test_a_person_picks_and_lets_in(
    scene: Scene, typed: str | None, said: list[str], used: list[str], standings: Any
) -> None:
    err = (await scene.init(typed=typed)).err

    assert [words for words in said if words not in err] == []
    assert scene.importing.used == used
    found = await scene.standings()
    assert {name: found[name] for name in standings} == standings
    assert bool(found) is bool(used)
    if standings is ALL_IN:
        write = await scene.room.tool("files.write_file")
        assert write.effect is Effect.EXTERNAL_WRITE


def test_where_nothing_is_found_nothing_is_said_of_it(cli: CommandLine) -> None:
    assert "Servers of tools" not in cli("init --name ana").err


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


def weighed(**changes: Any) -> list[str]:
    usual = {"servers": 54, "tools": 922, "before": Tokens(235_000), "after": Tokens(900)}
    return weight_text(ContextWeight(**usual | changes, tokenizer="o200k_base")).splitlines()


def test_the_bars_are_to_scale() -> None:
    assert weighed() == [
        "922 tools of 54 servers, in tokens of o200k_base:",
        f"  before  {'█' * 40}  235,000 tokens, 117.5% of a window of 200,000",
        f"  after   ▏{' ' * 39}  900 tokens, 0.4%",
    ]


def test_few_tools_cost_less_than_the_door_and_that_is_shown() -> None:
    _, before, after = weighed(servers=1, tools=2, before=Tokens(150), after=Tokens(600))

    assert (before.count("█"), after.count("█")) == (10, 40)
