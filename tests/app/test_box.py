"""Which box the house offers: the first that stands its probes, and none in silence."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from portico.adapters.sandbox.availability import Lack
from portico.app import box as main_box
from portico.app.app_context import AppContext
from portico.app.box import Sandboxes, own_places
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.probes import Backend, Probe, Trial
from portico.sandbox.requests import Sandbox

Patch = pytest.MonkeyPatch


@dataclass
class ScriptedAttempts:
    escapes: set[Backend] = field(default_factory=set)
    fails: set[Backend] = field(default_factory=set)
    """At the moment."""
    tried: list[Backend] = field(default_factory=list)

    def __call__(self, _folder: Path, *, run_as: str) -> "ScriptedAttempts":
        assert run_as
        return self

    async def make(self, box: Sandbox, trials: Sequence[Trial]) -> Sequence[Probe]:
        backend = box.report.backend
        self.tried.append(backend)
        await asyncio.sleep(0)
        if backend in self.fails:
            raise SandboxUnavailable("too busy")
        held = backend not in self.escapes
        return [Probe(each.name, held, "") for each in trials]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: Patch) -> Callable[..., Sandboxes]:
    monkeypatch.setenv("PORTICO_HOME", str(tmp_path))
    monkeypatch.setattr(main_box, "lack_of", lambda _backend, run_as: None)
    monkeypatch.setattr(main_box, "find_groups", lambda: None)

    def made(**settings: str) -> Sandboxes:
        for name, value in settings.items():
            monkeypatch.setenv(f"PORTICO_BOX__{name.upper()}", value)
        return Sandboxes(AppContext())

    return made


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: Patch) -> Clock:
    made = Clock()
    monkeypatch.setattr(main_box, "time", made)
    return made


@pytest.fixture
def attempts(monkeypatch: Patch) -> ScriptedAttempts:
    scripted = ScriptedAttempts()
    monkeypatch.setattr(main_box, "CanaryAttempts", scripted)
    return scripted


House = Callable[..., Sandboxes]


@pytest.mark.parametrize(
    ("escapes", "backend", "tried"),
    [
        (set(), "auto", [Backend.BUBBLEWRAP]),
        ({Backend.BUBBLEWRAP}, "auto", [Backend.BUBBLEWRAP, Backend.LANDLOCK]),
        (set(), "landlock", [Backend.LANDLOCK]),
    ],
)
async def test_the_first_that_holds_is_offered_and_tried_once_however_many_ask(
    *,
    house: House,
    attempts: ScriptedAttempts,
    clock: Clock,
    escapes: set[Backend],
    backend: str,
    tried: list[Backend],
) -> None:
    attempts.escapes = escapes
    boxes = house(backend=backend)
    before = boxes.reports

    found = await asyncio.gather(*(boxes.find() for _ in range(10)))
    clock.now += 60.0
    later = await boxes.find()

    assert before is None
    assert {id(each) for each in found} == {id(later)}
    assert later.report.backend is tried[-1]
    assert [each.offered for each in boxes.reports or ()] == [*[False] * (len(tried) - 1), True]
    assert attempts.tried == tried


async def test_where_none_holds_nothing_is_offered_and_no_start_is_made(
    house: House, attempts: ScriptedAttempts
) -> None:
    attempts.escapes = set(Backend)
    boxes = house()

    with pytest.raises(SandboxUnavailable, match="bubblewrap does not hold"):
        await boxes.find()
    await boxes.try_out()
    assert not await boxes.walls().offered()


async def test_what_is_missing_is_said_with_its_fix(
    house: House, attempts: ScriptedAttempts, monkeypatch: Patch
) -> None:
    lack = Lack("it is not installed", "Install it.")
    monkeypatch.setattr(main_box, "lack_of", lambda _backend, run_as: lack)

    with pytest.raises(SandboxUnavailable, match="landlock: it is not installed") as refused:
        await house().find()

    assert refused.value.fix == "Install it."
    assert attempts.tried == []


@pytest.mark.parametrize(
    ("missing", "escapes", "backend", "lacks"),
    [
        (set(Backend), set(), "auto", True),
        ({Backend.BUBBLEWRAP}, {Backend.LANDLOCK}, "auto", False),
        ({Backend.BUBBLEWRAP}, set(), "auto", False),
        ({Backend.BUBBLEWRAP}, set(), "bubblewrap", True),
        (set(), set(Backend), "auto", False),
        (set(), set(), "none", False),
    ],
)
async def test_a_machine_lacks_a_box_only_where_none_that_is_wanted_could_be_there(
    *,
    house: House,
    attempts: ScriptedAttempts,
    monkeypatch: Patch,
    missing: set[Backend],
    escapes: set[Backend],
    backend: str,
    lacks: bool,
) -> None:
    """One that failed just now, or does not hold, gives nobody a reason to do without."""
    lack = Lack("it is not installed", "Install it.")
    monkeypatch.setattr(main_box, "lack_of", lambda each, run_as: lack if each in missing else None)
    attempts.escapes = escapes
    boxes = house(backend=backend)
    before = boxes.lacks()

    await boxes.try_out()

    assert not before
    assert boxes.lacks() is lacks


async def test_one_that_fails_for_a_moment_is_not_lacking_and_tried_again_a_while_later(
    house: House, attempts: ScriptedAttempts, clock: Clock
) -> None:
    attempts.fails = {Backend.LANDLOCK}
    boxes = house(backend="landlock")

    with pytest.raises(SandboxUnavailable, match="too busy"):
        await boxes.find()
    lacks = boxes.lacks()
    attempts.fails.clear()
    clock.now += 30.0
    with pytest.raises(SandboxUnavailable, match="too busy"):
        await boxes.find()
    clock.now += 0.1
    found = await boxes.find()

    assert not lacks
    assert found.report.backend is Backend.LANDLOCK
    assert attempts.tried == [Backend.LANDLOCK] * 2


async def test_what_a_machine_lacks_is_not_looked_for_again(
    house: House, attempts: ScriptedAttempts, monkeypatch: Patch, clock: Clock
) -> None:
    looked: list[Backend] = []

    def lacking(backend: Backend, run_as: str) -> Lack:
        assert run_as
        looked.append(backend)
        return Lack("it is not installed", "Install it.")

    monkeypatch.setattr(main_box, "lack_of", lacking)
    boxes = house()

    for _ in range(2):
        with pytest.raises(SandboxUnavailable):
            await boxes.find()
        clock.now += 60.0

    assert looked == list(Backend)
    assert attempts.tried == []


async def test_none_is_none(house: House, attempts: ScriptedAttempts) -> None:
    boxes = house(backend="none")

    with pytest.raises(SandboxUnavailable, match=r"box\.backend is none"):
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
    own = own_places(AppContext(config=elsewhere))

    assert {tmp_path / "config", tmp_path / "data", tmp_path / "state"} <= set(own)
    assert elsewhere in own
    assert boxes.cells().homes == tmp_path / "data" / "homes"
