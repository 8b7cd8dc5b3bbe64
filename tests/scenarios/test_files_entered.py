"""How many files a reader must open: those that one tool call and one debate go through."""

import sys
import tomllib
from pathlib import Path

import pytest

from portico.debate.core.questions import Preset
from portico.testing.debate_fakes import ScriptedDebater
from tests.debate.room import Room
from tests.entered import Entered, Record
from tests.installation import installation
from tests.real_servers.gateway import Gateway, echo, said, script_command, write_plan
from tests.real_servers.world import give_away

BUDGET = tomllib.loads(Path("budget.toml").read_text(encoding="utf-8"))
TIMES = 10
"""What is entered each time belongs to it; the rest happened to run beside it."""


@pytest.mark.scenario
@pytest.mark.postgres
async def test_a_read_of_a_confined_server_enters_few_files() -> None:
    with installation() as house:
        folder = house.home.parent / "entered"
        folder.mkdir()
        give_away(folder)
        entered, gateway = Entered(folder), Gateway(house)
        plan = write_plan(folder / "plan.json", {"name": "one", "tools": [echo("say")]})
        with house.serving(entered.plant) as server:
            gateway.add("one", script_command(plan), folder=folder)
            gateway.approve("one")
            seen = [set[str]() for _ in range(TIMES)]
            async with gateway.client() as client:
                read = {"tool": "one.say", "arguments": {"text": "hello"}}
                assert "hello" in said(await client.call_tool("call_read", read))
                for files in seen:
                    with entered.during(server, files):
                        await client.call_tool("call_read", read)
            confinement = gateway.server("one")["confinement"]

    assert confinement["profile"]
    _few("files_of_a_read", set.intersection(*seen))


async def test_a_debate_with_a_critique_enters_few_files(tmp_path: Path) -> None:
    voices = [
        ScriptedDebater(name="a:1", answer="yes", again="no"),
        ScriptedDebater(name="b:1", answer="no"),
    ]
    record = Record(tmp_path)

    record.begin()
    whole = await Room(*voices).held("Is it so?", preset=Preset.DEBATE, thoroughness=0.5)
    record.end()

    assert any(note.name.startswith("said:2:") for note in whole.notes)
    _few("files_of_a_debate", record.files)


def _few(name: str, files: set[str]) -> None:
    sys.stdout.write(f"\n{len(files)} {name}:\n" + "\n".join(sorted(files)) + "\n")
    assert 10 < len(files) <= BUDGET[name]
