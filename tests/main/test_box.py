"""Which box the house offers: the first that stands its probes, and none in silence."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from portico.adapters.box.availability import Lack
from portico.box.core.errors import BoxUnavailable
from portico.box.core.probes import Trial
from portico.box.core.report import Backend, Probe
from portico.box.ports import Box
from portico.main import box as main_box
from portico.main.box import Boxes, own_places
from portico.main.ground import Ground

Patch = pytest.MonkeyPatch


@dataclass
class ScriptedAttempts:
    escapes: set[Backend] = field(default_factory=set)
    tried: list[Backend] = field(default_factory=list)

    def __call__(self, _folder: Path, *, run_as: str) -> "ScriptedAttempts":
        assert run_as
        return self

    async def make(self, box: Box, trials: Sequence[Trial]) -> Sequence[Probe]:
        backend = box.report.backend
        self.tried.append(backend)
        await asyncio.sleep(0)
        held = backend not in self.escapes
        return [Probe(each.name, held, "") for each in trials]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: Patch) -> Callable[..., Boxes]:
    monkeypatch.setenv("PORTICO_HOME", str(tmp_path))
    monkeypatch.setattr(main_box, "lack_of", lambda _backend, run_as: None)
    monkeypatch.setattr(main_box, "find_groups", lambda: None)

    def made(**settings: str) -> Boxes:
        for name, value in settings.items():
            monkeypatch.setenv(f"PORTICO_BOX__{name.upper()}", value)
        return Boxes(Ground())

    return made


@pytest.fixture
def attempts(monkeypatch: Patch) -> ScriptedAttempts:
    scripted = ScriptedAttempts()
    monkeypatch.setattr(main_box, "CanaryAttempts", scripted)
    return scripted


House = Callable[..., Boxes]


async def test_the_first_that_holds_is_offered(house: House, attempts: ScriptedAttempts) -> None:
    boxes = house()
    before = boxes.reports

    found = await boxes.find()

    assert before is None
    assert found.report.backend is Backend.BUBBLEWRAP
    assert found.report.offered
    assert boxes.reports == [found.report]
    assert attempts.tried == [Backend.BUBBLEWRAP]


async def test_it_is_tried_once_however_many_ask(house: House, attempts: ScriptedAttempts) -> None:
    boxes = house()

    found = await asyncio.gather(*(boxes.find() for _ in range(10)))

    assert len({id(each) for each in found}) == 1
    assert attempts.tried == [Backend.BUBBLEWRAP]


async def test_one_that_lets_something_out_is_not_offered(
    house: House, attempts: ScriptedAttempts
) -> None:
    attempts.escapes = {Backend.BUBBLEWRAP}
    boxes = house()

    found = await boxes.find()

    assert found.report.backend is Backend.LANDLOCK
    assert [each.offered for each in boxes.reports or ()] == [False, True]


async def test_where_none_holds_nothing_is_offered_and_no_start_is_made(
    house: House, attempts: ScriptedAttempts
) -> None:
    attempts.escapes = set(Backend)
    boxes = house()

    with pytest.raises(BoxUnavailable, match="bubblewrap does not hold"):
        await boxes.find()
    await boxes.try_out()
    assert not await boxes.walls().offered()


async def test_what_is_missing_is_said_with_its_fix(
    house: House, attempts: ScriptedAttempts, monkeypatch: Patch
) -> None:
    lack = Lack("it is not installed", "Install it.")
    monkeypatch.setattr(main_box, "lack_of", lambda _backend, run_as: lack)

    with pytest.raises(BoxUnavailable, match="landlock: it is not installed") as refused:
        await house().find()

    assert refused.value.fix == "Install it."
    assert attempts.tried == []


async def test_one_that_is_named_is_the_only_one(house: House, attempts: ScriptedAttempts) -> None:
    found = await house(backend="landlock").find()

    assert found.report.backend is Backend.LANDLOCK
    assert attempts.tried == [Backend.LANDLOCK]


async def test_none_is_none(house: House, attempts: ScriptedAttempts) -> None:
    boxes = house(backend="none")

    with pytest.raises(BoxUnavailable, match=r"box\.backend is none"):
        await boxes.find()
    assert boxes.reports == []
    assert attempts.tried == []


def test_settings_reach_cells_and_walls(house: House) -> None:
    boxes = house(unboxed="docker-tools:0123456789ab", memory_mb="512", processes="64")

    cells, walls = boxes.cells(), boxes.walls()

    assert (cells.limits.memory, cells.limits.processes) == (512_000_000, 64)
    assert (*cells.named, *walls.named) == (
        "docker-tools:0123456789ab",
        "docker-tools:0123456789ab",
    )
    assert walls.home == str(Path.home())


def test_what_is_our_own_is_hidden(house: House, tmp_path: Path) -> None:
    boxes = house()
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.touch(0o600)
    own = own_places(Ground(config=elsewhere))

    assert {tmp_path / "config", tmp_path / "data", tmp_path / "state"} <= set(own)
    assert elsewhere in own
    assert boxes.cells().homes == tmp_path / "data" / "homes"
