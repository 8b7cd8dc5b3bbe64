"""Servers get a cell with what is theirs, or none at all."""

import json
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from portico.adapters.mcp.secrets import Command
from portico.adapters.sandbox.folders import Bounds, Reserved
from portico.adapters.sandbox.server_processes import Looking, ServerCells, ServerWalls
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import Http, Plain, ServerId, Stdio, Unboxed
from portico.sandbox.core.errors import BadProfile, BoxUnavailable
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Limits, Network, Profile
from portico.sandbox.requests import Box
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.adapters.mcp.pools import AMPLE, HOME, a_pool, launched, said, target
from tests.adapters.sandbox.boxes import Made

SHELL = target(Stdio("/bin/sh", (Plain("-c"), Plain("~/x"), Plain("--at=~/y"))))
COMMAND = Command("/bin/sh", ("-c", "~/x", "--at=~/y"), {}, None, frozenset())


async def nowhere() -> Box:
    raise BoxUnavailable("bubblewrap is not installed", fix="Install it.")


def cells(
    root: Path,
    find: Callable[[], Awaitable[Box]] = nowhere,
    named: tuple[str, ...] = (),
    *,
    lacking: bool = True,
) -> ServerCells:
    return ServerCells(
        find=find,
        lacks=lambda: lacking,
        looking=Looking(Reserved("/home/ana", (str(root / "data"),)), dict(os.environ)),
        homes=root / "data" / "homes",
        limits=Limits(memory=4_000_000_000),
        named=named,
    )


async def test_where_there_is_no_box_nothing_is_started_and_the_way_out_is_said(
    tmp_path: Path,
) -> None:
    room = await cells(tmp_path).cell(SHELL, COMMAND, {})

    assert room is not None
    with pytest.raises(BoxUnavailable, match="not installed") as refused:
        await room.__aenter__()
    assert refused.value.fix is not None
    assert refused.value.fix.startswith("Install it. ")
    assert "--unboxed" in refused.value.fix


@pytest.mark.parametrize(
    ("named", "consent", "let_out"),
    [
        (("server:pin",), None, True),
        (("others:pin", "server", "server:nip"), None, False),
        ((), "pin", True),
        ((), "another pin", False),
    ],
)
async def test_only_whoever_is_let_out_runs_without_and_that_is_logged(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    named: tuple[str, ...],
    consent: str | None,
    let_out: bool,
) -> None:
    agreed = None if consent is None else Unboxed(by="ana", at=BEGINNING, launch_pin=consent)

    with caplog.at_level(logging.WARNING, "portico.sandbox"):
        room = await cells(tmp_path, named=named).cell(replace(SHELL, unboxed=agreed), COMMAND, {})

    assert (room is None) is let_out
    assert ("WITHOUT A BOX" in caplog.text) is let_out


async def test_consent_lets_nobody_out_where_there_is_a_box_or_one_that_does_not_work_now(
    tmp_path: Path, made: Made
) -> None:
    async def find() -> Box:
        return made.box()

    agreed = replace(SHELL, unboxed=Unboxed(by="ana", at=BEGINNING, launch_pin="pin"))

    assert await cells(tmp_path, find).cell(agreed, COMMAND, {}) is not None
    assert await cells(tmp_path, lacking=False).cell(agreed, COMMAND, {}) is not None


def test_what_cannot_be_ordered_is_refused(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for name in ("keys", "data"):
        (root / name).mkdir()
    (root / "notes").symlink_to("keys")
    linked, around = (
        replace(SHELL, profile=Profile(write=(each,))) for each in (f"{root}/notes", str(root))
    )
    made = cells(root)

    with pytest.raises(BadProfile, match="has become a link"):
        made.order(linked, COMMAND, {})
    with pytest.raises(BadProfile, match="Portico's own"):
        made.order(around, COMMAND, {})
    with pytest.raises(FileNotFoundError):
        made.order(SHELL, replace(COMMAND, folder="/no/such/folder"), {})
    with pytest.raises(TypeError):
        made.order(target(Http("https://a.example")), COMMAND, {})


def test_what_is_ordered_is_what_was_approved_with_its_own_home(tmp_path: Path) -> None:
    own = replace(SHELL, id=ServerId.mint(BEGINNING, SeededEntropy()))
    made = cells(tmp_path)

    order = made.order(own, COMMAND, {"HOME": "/home/ana", "LANG": "C"})
    homes = [made.order(replace(SHELL, server=each), COMMAND, {}).home for each in ("a", "b", "a")]

    home = tmp_path / "data" / "homes" / str(HOME) / f"server-{own.id}"
    assert order.program == "/bin/sh"
    assert order.arguments == ("-c", "/home/ana/x", "--at=/home/ana/y")
    assert order.environment == {"LANG": "C"}
    assert order.folder is None
    assert order.home == str(home)
    assert order.profile == Profile(network=Network.PUBLIC)
    assert home.stat().st_mode & 0o777 == 0o700
    assert homes[0] == homes[2] != homes[1]


def test_a_stated_profile_takes_the_place_of_what_its_launch_names(tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    notes = lab / "notes"
    notes.mkdir(parents=True)
    named = target(Stdio("/bin/sh", (Plain(str(lab)),), folder=str(notes)))
    command = Command("/bin/sh", (str(lab),), {}, str(notes), frozenset())

    default = cells(tmp_path).order(named, command, {})
    stated = cells(tmp_path).order(replace(named, profile=Profile()), command, {})

    assert default.profile == Profile(write=(str(lab),), network=Network.PUBLIC)
    assert stated.profile == Profile(read=(str(notes),))
    assert stated.folder == str(notes)


async def test_a_server_runs_in_a_real_box(made: Made, folder: Path) -> None:
    """Ours is in a project that it is given, as any script is."""
    homes = folder / "data" / "homes"
    homes.mkdir(mode=0o711, parents=True)
    secret = folder / "secret"
    secret.write_text("canary")
    secret.chmod(0o644)

    async def find() -> Box:
        return made.box(hidden=[folder / "data"], lent=[homes])

    launch = launched("plain", SECRET=Plain("declared"))
    if made.backend is Backend.LANDLOCK and os.geteuid() == 0:
        launch = replace(launch, command="/usr/bin/python3")
    root = str(Path(__file__).parents[3])
    wanted = Profile(read=(root,))
    environment = {"PATH": os.environ["PATH"], "CANARY": "not for servers"}

    async with a_pool(confine=cells(folder, find), environment=environment) as pool:
        running = replace(target(launch), profile=wanted)
        found = json.loads(said(await pool.call(running, "environment", {}, timeout=AMPLE)))
        with pytest.raises(UpstreamDown, match="profile"):
            missing = replace(running, profile=Profile(read=(str(folder / "nothing"),)))
            await pool.call(missing, "environment", {}, timeout=AMPLE)

    assert found["environment"]["SECRET"] == "declared"
    assert "CANARY" not in found["environment"]
    assert found["folder"] == found["environment"]["HOME"]
    assert found["environment"]["HOME"] != os.environ.get("HOME")


async def test_walls_say_what_there_is(tmp_path: Path, made: Made) -> None:
    async def find() -> Box:
        return made.box()

    ours = tmp_path / "data"
    ours.mkdir()
    walls = ServerWalls(
        find=find,
        lacks=lambda: True,
        looking=cells(tmp_path).looking,
        bounds=Bounds.of([ours], []),
        named=("others",),
    )

    assert await walls.offered()
    assert not await walls.lacking()
    assert not await replace(walls, find=nowhere).offered()
    assert await replace(walls, find=nowhere).lacking()
    assert not await replace(walls, find=nowhere, lacks=lambda: False).lacking()
    assert walls.home == "/home/ana"
    assert await walls.default(Stdio("x", (Plain(str(tmp_path)),))) == Profile(
        read=(str(tmp_path),), network=Network.PUBLIC
    )
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "link").symlink_to(notes)
    assert await walls.check(Profile(write=(str(tmp_path / "link"),))) == Profile(
        write=(str(notes),)
    )
    with pytest.raises(BadProfile, match="own"):
        await walls.check(Profile(write=(str(tmp_path),)))
    for wrong in (str(ours), str(tmp_path / "nothing"), "/etc"):
        with pytest.raises(BadProfile):
            await walls.check(Profile(read=(wrong,)))
