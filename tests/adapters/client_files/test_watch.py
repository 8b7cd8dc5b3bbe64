"""Changes are noticed, however they are made."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from portico.adapters.client_files.reading import LARGEST, ClientFiles
from portico.adapters.client_files.sources import FileSources
from portico.adapters.client_files.watch import Looking, changes

OFTEN = timedelta(milliseconds=5)


def _in_place(file: Path) -> None:
    file.write_text("two")


def _put_there(file: Path) -> None:
    other = file.with_suffix(".new")
    other.write_text("two")
    other.replace(file)


def _taken_away_first(file: Path) -> None:
    file.unlink()
    file.write_text("two")


def _gone(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("change", [_in_place, _put_there, _taken_away_first, _gone])
async def test_a_change_is_noticed(tmp_path: Path, change: Callable[[Path], None]) -> None:
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    file.write_text("one")
    other.write_text("one")
    looks = count(1)
    looked = asyncio.Event()

    def files() -> Sequence[Path]:
        if next(looks) == 2:
            looked.set()
        return [file, other]

    watching = changes(files, every=OFTEN)
    async with aclosing(watching), asyncio.TaskGroup() as group:
        told = group.create_task(anext(watching))
        await looked.wait()
        change(file)

        assert await told == {str(file)}


def test_what_was_only_touched_looks_the_same(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("one")
    looking = Looking()
    first = looking.look([file])

    file.touch()
    again = tmp_path / "again"
    again.write_text("one")
    again.replace(file)

    assert looking.look([file]) == first
    assert first[str(file)] is not None


def test_what_is_too_large_to_read_is_known_by_its_outside(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as stream:
        stream.truncate(LARGEST + 1)
    looking = Looking()
    first = looking.look([file])

    with file.open("ab") as stream:
        stream.write(b"x")

    assert looking.look([file]) != first
    assert looking.look([tmp_path / "gone"]) == {str(tmp_path / "gone"): None}


def sources_of(home: Path, imports: Callable[[], Sequence[str]]) -> FileSources:
    files = ClientFiles(home=home, environment={}, own_url="", own_file=home / "portico.toml")
    return FileSources(files, imports, every=OFTEN)


async def test_our_own_file_comes_first_and_names_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "portico.toml").write_text('[servers.x]\ncommand = "own"')
    (tmp_path / "a.json").write_text('{"mcpServers": {"x": {"command": "a"}}}')
    sources = sources_of(tmp_path, lambda: ["~/a.json", "~/gone.json", "~/a.json"])

    told = await sources.read()

    assert [(each.client, [wish.name for wish in each.wishes]) for each in told] == [
        ("portico.toml", ["x"]),
        (".mcp.json", ["x-project"]),
    ]


async def test_a_file_that_is_named_later_is_watched_from_then_on(tmp_path: Path) -> None:
    own, file = tmp_path / "portico.toml", tmp_path / "a.json"
    own.write_text("")
    file.write_text("{}")
    sources = sources_of(tmp_path, lambda: ["~/a.json"] if own.read_text() else [])
    await sources.read()
    watching = sources.changes()
    seen: set[str] = set()

    async def collect() -> None:
        async for changed in watching:
            seen.update(changed)
            await sources.read()

    async with aclosing(watching), asyncio.TaskGroup() as group:
        told = group.create_task(collect())
        while not {str(own), str(file)} <= seen:
            await asyncio.sleep(0.02)
            own.write_text("# now")
        told.cancel()


async def test_what_changes_between_reading_and_watching_is_noticed(tmp_path: Path) -> None:
    own = tmp_path / "portico.toml"
    own.write_text("")
    sources = sources_of(tmp_path, list)
    await sources.read()

    own.write_text("# now")

    async with aclosing(sources.changes()) as watching:
        assert await anext(watching) == {str(own)}
