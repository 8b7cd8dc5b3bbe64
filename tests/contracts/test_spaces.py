"""What the guard may rely on of `Spaces`."""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import pytest

from portico.engine.core.idempotency import Claim, StoredResponse
from portico.gateway.core.calls import Call, CallId, ResultId, StoredResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.confinement import profile_json, unboxed_json
from portico.gateway.core.servers import Unsandboxed
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import KeyNotFound, PrincipalNotFound, SpaceNotFound
from portico.guard.core.keys import ApiKey
from portico.guard.core.spaces import ExportedRow
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.sandbox.core.profile import NetworkEndpoint, Profile
from portico.testing.gateway import a_server, a_tool
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import PEPPER, REFUSED, Doors, a_key

Result = TypeVar("Result")

CLAIM = Claim.of("op", "k1", {})
PROFILE = Profile(write=("/srv/notes",), reach=(NetworkEndpoint("db", 5432),))
CONSENT = Unsandboxed(by="root", at=BEGINNING, launch_pin="p")
ODD = a_tool("files.read", "Of a \0 stranger.")


async def elsewhere(asked: Coroutine[Any, Any, Result]) -> Result:
    """As another request would ask, which knows nothing of this one."""
    return await asyncio.create_task(asked, context=Context())


async def exported(doors: Doors, caller: Principal) -> list[ExportedRow]:
    return [row async for row in doors.spaces.export(caller)]


async def tables(doors: Doors, caller: Principal) -> list[str]:
    return sorted(row.table for row in await exported(doors, caller))


async def filled(doors: Doors, name: str) -> Principal:
    """A space with a row of the guard's and the gateway's in every table."""
    root = await doors.founded(name)
    entropy, tomorrow = SeededEntropy(name), BEGINNING + timedelta(days=1)
    await doors.key_of(root, await doors.joined(root, "bob"))
    await doors.settings.put(root, "theme", {"of": name})

    async def action() -> StoredResponse:
        return StoredResponse({"of": name}, shown_once={"key": "shown once"})

    await doors.receipts.once(root, CLAIM, action)
    call = Call(
        id=CallId.mint(BEGINNING, entropy),
        principal=root.id,
        ref=ToolRef("files", "read"),
        effect=Effect.PURE,
        pin="p",
        arguments={"of": name},
        started_at=BEGINNING,
    )
    await doors.servers.add(root, replace(a_server(), profile=PROFILE, unsandboxed=CONSENT))
    await doors.tools.put(root, a_server().id, [ODD])
    await doors.vectors.put(root, "m", {"k": np.ones(2, np.float32)})
    await doors.calls.record_start(root, call)
    kept = StoredResult(content={"of": name, "odd": "\0"})
    await doors.results.keep(root, ResultId.mint(BEGINNING, entropy), kept, tomorrow)
    await doors.acquaintances.found(root, [ToolRef("files", "read")], f"of {name}", BEGINNING)
    return root


@pytest.mark.requirement("guard:spaces:found")
async def test_a_space_is_born_with_its_first_principal_and_key_and_once(
    doors: Doors, root: Principal
) -> None:
    [first] = await doors.principals.page(root, after=None, limit=10)
    [key] = await doors.keys.page(root, of=None, after=None, limit=10)
    again, eve = ApiKey.mint(SeededEntropy("eve's")), an_identity("eve")

    assert await doors.spaces.get(root) == a_space("home")
    assert (first.name, key.principal) == ("root", first.id)
    with pytest.raises(REFUSED):
        await doors.spaces.found(a_space("home"), eve, a_key(eve, again), again.digest(PEPPER))
    assert await doors.key_ring.find(again.id) is None


@pytest.mark.requirement("guard:spaces:found")
async def test_a_space_is_born_whole_with_no_foot_in_another_or_not_at_all(
    doors: Doors, root: Principal
) -> None:
    [taken] = await doors.keys.page(root, of=None, after=None, limit=1)
    space, minted = a_space("acme"), ApiKey.mint(SeededEntropy("x"))
    outsider, insider = an_identity("eve"), an_identity("eve", space=space)

    for admin, key in (
        (insider, replace(a_key(insider, minted), id=taken.id)),
        (outsider, a_key(outsider, minted)),
        (insider, a_key(outsider, minted)),
    ):
        with pytest.raises(REFUSED):
            await doors.spaces.found(space, admin, key, b"x" * 32)

    assert len(await doors.principals.page(root, after=None, limit=10)) == 1
    with pytest.raises(SpaceNotFound):
        await doors.spaces.get(as_principal(insider))
    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(as_principal(insider), insider.id)


async def test_a_space_is_renamed_and_no_other_is(doors: Doors, root: Principal) -> None:
    acme = await doors.founded("acme")
    stranger = a_person("stranger", space=a_space("nowhere"))

    await doors.spaces.rename(root, "house")
    await doors.spaces.rename(stranger, "somewhere")
    await doors.spaces.delete(stranger)

    assert await doors.spaces.get(root) == replace(a_space("home"), name="house")
    assert await doors.spaces.get(acme) == a_space("acme")
    with pytest.raises(SpaceNotFound):
        await doors.spaces.get(stranger)
    assert await exported(doors, stranger) == []


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_is_deleted_with_everything_in_it_and_the_other_stays(doors: Doors) -> None:
    home, acme = await filled(doors, "home"), await filled(doors, "acme")
    before = await exported(doors, acme)
    keys = await doors.keys.page(home, of=None, after=None, limit=10)

    await doors.spaces.delete(home)

    with pytest.raises(SpaceNotFound):
        await doors.spaces.get(home)
    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(home, home.id)
    for key in keys:
        assert await doors.key_ring.find(key.id) is None
        with pytest.raises(KeyNotFound):
            await doors.keys.get(home, key.id)
    assert await doors.settings.get(home, "theme") is None
    assert await exported(doors, home) == []
    assert await exported(doors, acme) == before
    again = await doors.founded("home")
    assert await tables(doors, again) == ["api_key", "principal", "space"]


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_every_row_of_the_space_and_none_of_another(doors: Doors) -> None:
    """To the last letter of what strangers wrote."""
    home = await filled(doors, "home")
    await filled(doors, "acme")

    rows = await exported(doors, home)

    assert [row.table for row in rows] == [
        *["api_key", "api_key", "embedding", "idempotency_record", "principal", "principal"],
        *["server", "setting", "space", "tool", "tool_call", "tool_result", "tool_usage"],
    ]
    assert {row.values["space_id"] for row in rows} == {str(home.space.value)}
    assert {row.values["name"] for row in rows if row.table == "principal"} == {"root", "bob"}
    by_table = {row.table: row.values for row in rows}
    assert by_table["space"]["name"] == "home"
    assert by_table["setting"]["value"] == {"of": "home"}
    assert by_table["idempotency_record"]["body"] == {"of": "home"}
    launch = {"type": "stdio", "command": "serve", "arguments": ["files"], "environment": {}}
    assert by_table["server"]["launch"] == launch
    assert by_table["server"]["profile"] == profile_json(PROFILE)
    assert by_table["server"]["unboxed"] == unboxed_json(CONSENT)
    definition = by_table["tool"]["definition"]
    assert isinstance(definition, dict)
    assert definition["raw"] == ODD.definition.raw
    assert by_table["tool_call"]["arguments"] == {"of": "home"}
    assert str(by_table["tool_result"]["sealed"]).startswith("\\x")
    assert "content" not in by_table["tool_result"]
    assert by_table["tool_usage"]["found_for"] == "of home"
    assert by_table["embedding"]["vector"] == "\\x0000803f0000803f"


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_nothing_that_proves_a_key_and_only_ones_own(doors: Doors) -> None:
    home = await filled(doors, "home")
    bob = as_principal(an_identity("bob"))

    rows = await exported(doors, home)

    keys = [row for row in rows if row.table == "api_key"]
    assert len(keys) == 2
    for row in keys:
        found = await doors.key_ring.find(str(row.values["key_id"]))
        assert found is not None
        assert "digest" not in row.values
        assert found.digest.hex() not in repr(row)
    assert "shown once" not in repr(rows)
    assert {*await tables(doors, home)} - {*await tables(doors, bob)} == {
        *("tool_usage", "idempotency_record", "tool_result")
    }


async def test_an_export_has_nothing_that_is_above_whoever_takes_it(doors: Doors) -> None:
    home, label = await filled(doors, "home"), Label(Level.TEAM, frozenset({"hr"}))
    server = await doors.servers.get(home, "files")
    await doors.servers.put(home, replace(server, label=label))

    below, above = await tables(doors, home), await tables(doors, replace(home, clearance=label))

    assert {*above} - {*below} == {"server", "tool"}


async def test_an_export_that_is_left_half_read_leaves_nothing_behind(doors: Doors) -> None:
    """What is written afterwards is written, and not part of what was left."""
    home = await filled(doors, "home")
    for read in (1, 3):
        rows = doors.spaces.export(home)
        for _ in range(read):
            await anext(rows)
        before = asyncio.all_tasks()
        del rows
        await asyncio.sleep(0)  # the loop is asked to close it, and does so in a task
        closing = asyncio.all_tasks() - before

        await doors.settings.put(home, "theme", f"after {read}")

        assert await elsewhere(doors.settings.get(home, "theme")) == f"after {read}"
        await asyncio.gather(*closing)


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_is_of_one_moment_and_keeps_nobody_from_writing(doors: Doors) -> None:
    """What is written while its first row is read is in none of its tables."""
    home = await filled(doors, "home")
    rows = doors.spaces.export(home)

    first = await anext(rows)
    await elsewhere(doors.joined(home, "latecomer"))
    await elsewhere(doors.settings.put(home, "theme", "meanwhile"))
    rest = [row async for row in rows]

    assert "latecomer" not in {row.values["name"] for row in rest if row.table == "principal"}
    assert {"of": "home"} in [row.values["value"] for row in rest if row.table == "setting"]
    assert first.table == "api_key"

    async for row in doors.spaces.export(home):
        await doors.settings.put(home, "theme", row.table)
        assert await elsewhere(doors.settings.get(home, "theme")) == row.table
