"""What a space takes with it of its servers, its tools, and what was called."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from portico.box.core.profile import Place, Profile
from portico.gateway.core.call import Call, CallId, KeptResult, ResultId
from portico.gateway.core.confinement import Unboxed
from portico.gateway.core.profile_text import profile_json, unboxed_json
from portico.gateway.core.tool import ToolRef
from portico.guard.core.authentication import as_principal
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server, a_tool
from portico.testing.guard import an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import Doors

TABLES = ["acquaintance", "embedding", "server", "tool", "tool_call", "tool_result"]
PROFILE = Profile(write=("/srv/notes",), reach=(Place("db", 5432),))
CONSENT = Unboxed(by="root", at=BEGINNING, launch_pin="p")


async def filled(doors: Doors, name: str) -> Principal:
    root, entropy = await doors.founded(name), SeededEntropy(name)
    call = Call(
        id=CallId.mint(BEGINNING, entropy),
        principal=root.id,
        ref=ToolRef("files", "read"),
        effect=Effect.PURE,
        pin="p",
        arguments={"of": name},
        started_at=BEGINNING,
    )
    result, tomorrow = ResultId.mint(BEGINNING, entropy), BEGINNING + timedelta(days=1)
    confined = replace(a_server(), profile=PROFILE, unboxed=CONSENT)
    await doors.servers.add(root, confined)
    await doors.tools.put(root, a_server().id, [a_tool("files.read", "Of a \0 stranger.")])
    await doors.vectors.put(root, "m", {"k": np.ones(2, np.float32)})
    await doors.calls.begin(root, call)
    kept = KeptResult(content={"of": name, "odd": "\0"})
    await doors.results.keep(root, result, kept, tomorrow)
    await doors.acquaintances.found(root, [ToolRef("files", "read")], f"of {name}", BEGINNING)
    return root


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_what_strangers_wrote_to_the_last_letter(doors: Doors) -> None:
    home = await filled(doors, "home")
    await filled(doors, "acme")

    rows = [row async for row in doors.spaces.export(home) if row.table in TABLES]

    by_table = {row.table: row.values for row in rows}
    assert [row.table for row in rows] == TABLES
    assert {values["space_id"] for values in by_table.values()} == {str(home.space.value)}
    assert by_table["server"]["launch"] == {
        "type": "stdio",
        "command": "serve",
        "arguments": ["files"],
        "environment": {},
    }
    assert by_table["server"]["profile"] == profile_json(PROFILE)
    assert by_table["server"]["unboxed"] == unboxed_json(CONSENT)
    assert by_table["tool"]["definition"] == {
        "raw": a_tool("files.read", "Of a \0 stranger.").definition.raw,
        **_beside(by_table["tool"]["definition"]),
    }
    assert by_table["tool_call"]["arguments"] == {"of": "home"}
    assert str(by_table["tool_result"]["sealed"]).startswith("\\x")
    assert "content" not in by_table["tool_result"]
    assert by_table["acquaintance"]["found_for"] == "of home"
    assert by_table["embedding"]["vector"] == "\\x0000803f0000803f"


def _beside(definition: object) -> dict[str, object]:
    """What is read otherwise than it stands there, which is up to each store."""
    assert isinstance(definition, dict)
    return {name: value for name, value in definition.items() if name != "raw"}


async def test_an_export_has_only_the_callers_own_of_what_is_somebodys_alone(
    doors: Doors,
) -> None:
    home = await filled(doors, "home")
    await doors.joined(home, "bob")
    bob = as_principal(an_identity("bob"))

    tables = {row.table async for row in doors.spaces.export(bob)}

    assert tables & set(TABLES) == {"embedding", "server", "tool", "tool_call"}


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_takes_all_of_it_with_it(doors: Doors) -> None:
    home = await filled(doors, "home")
    await doors.spaces.delete(home)

    again = await doors.founded("home")

    assert not {row.table async for row in doors.spaces.export(again)} & set(TABLES)


async def test_an_export_has_nothing_that_is_above_whoever_takes_it(doors: Doors) -> None:
    home = await filled(doors, "home")
    server = await doors.servers.get(home, "files")
    await doors.servers.put(home, replace(server, label=Label(Level.TEAM, frozenset({"hr"}))))

    rows = [row async for row in doors.spaces.export(home) if row.table in {"server", "tool"}]
    cleared = replace(home, clearance=Label(Level.TEAM, frozenset({"hr"})))
    all_rows = [
        row async for row in doors.spaces.export(cleared) if row.table in {"server", "tool"}
    ]

    assert rows == []
    assert [row.table for row in all_rows] == ["server", "tool"]
