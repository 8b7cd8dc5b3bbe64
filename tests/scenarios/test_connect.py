"""`portico connect` as a person uses it: the entry that it writes is one that works."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client, StdioServerParameters

from portico.gateway.core.config_documents import parsed
from tests.adapters.client_configs.prepared import PLACES, Prepared, prepared
from tests.installation import PORTICO, Installation, installation

pytestmark = [pytest.mark.scenario]

USED: Final = {"zed": "context_servers", "codex": "mcp_servers"}
"""One of each form: JSON with comments, and TOML."""


def portico(house: Installation, person: Prepared, *arguments: str) -> Any:
    done = subprocess.run(
        [PORTICO, *arguments, "--json"],
        env={**house.environment, "HOME": str(person.home)},
        cwd=house.home,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read(file: Path) -> Any:
    """As its client would."""
    if file.suffix == ".toml":
        return tomllib.loads(file.read_text("utf-8-sig"))
    return parsed(str(file), file.read_text())


async def tools_by(entry: Any, house: Installation) -> list[str]:
    program = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env={**house.environment, **entry["env"]},
        cwd=house.home,
    )
    async with Client(program) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.requirement("first-hour:connect:used")
async def test_the_entry_that_is_written_is_one_by_which_a_client_lists_tools() -> None:
    with installation() as house, house.serving():
        person = prepared(house.home / "person", *PLACES)
        before = person.all_bytes()

        for client, listed in USED.items():
            connected = portico(house, person, "connect", client)
            entry = read(person.file(client))[listed]["portico"]
            assert connected["changed"] is True
            assert Path(entry["command"]).is_absolute()
            assert entry["env"] == {"PORTICO_HOME": str(house.home)}
            assert "search_tools" in await tools_by(entry, house), client

        found = portico(house, person, "connect")["data"]
        assert {each["client"] for each in found if each["connected"]} == set(USED)
        portico(house, person, "disconnect", "--all")
        assert person.all_bytes() == before
