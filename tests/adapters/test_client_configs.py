"""Client files on a disk: found, read within bounds, never written."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from portico.adapters.client_configs import LARGEST, ClientFiles, FileSources, Looking, changes

ONE = '{"mcpServers": {"one": {"command": "npx", "args": ["one"]}}}'
SERVERS = '{"servers": {"two": {"command": "npx", "args": ["two"]}}}'


def files_of(home: Path, environment: Mapping[str, str] | None = None) -> ClientFiles:
    return ClientFiles(
        home=home,
        environment=environment or {},
        own_url="http://127.0.0.1:3100",
        own_file=home / "portico.toml",
    )


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.requirement("gateway:import:clients")
def test_every_client_that_is_there_is_found(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    write(home / ".cursor/mcp.json", ONE)
    write(home / ".config/Code/User/mcp.json", SERVERS)
    write(home / "codex/config.toml", '[mcp_servers.three]\ncommand = "x"')
    write(folder / ".mcp.json", ONE)

    found = files_of(home, {"CODEX_HOME": str(home / "codex")}).found(folder)

    assert [(each.client, [wish.name for wish in each.wishes]) for each in found] == [
        ("Cursor", ["one"]),
        ("VS Code", ["two"]),
        ("Codex", ["three"]),
        (".mcp.json", ["one"]),
    ]
    assert [each.for_a_project for each in found] == [False, False, False, True]


def test_a_file_is_named_from_home_on_and_its_origin_is_whole(tmp_path: Path) -> None:
    file = write(tmp_path / ".cursor/mcp.json", ONE)
    files = files_of(tmp_path)

    read = files.read("~/.cursor/mcp.json")

    assert read is not None
    assert read.origin == str(file)
    assert files.written(file) == "~/.cursor/mcp.json"
    assert files.written(Path("/etc/mcp.json")) == "/etc/mcp.json"
    assert list(files.absolute(["~", "~/x", "/y"])) == [tmp_path, tmp_path / "x", Path("/y")]


def test_our_own_file_is_known(tmp_path: Path) -> None:
    write(tmp_path / "portico.toml", '[servers.x]\ncommand = "npx"')

    read = files_of(tmp_path).read("~/portico.toml")

    assert read is not None
    assert (read.client, [wish.name for wish in read.wishes]) == ("portico.toml", ["x"])


def test_what_is_not_there_says_nothing(tmp_path: Path) -> None:
    write(tmp_path / "file", "")
    files = files_of(tmp_path)

    assert files.read("~/nothing.json") is None
    assert files.read("~/file/below.json") is None
    assert files.found(tmp_path / "nowhere") == []


def _too_large(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(LARGEST + 1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda file: file.write_bytes(b"\xff\xfe{}"), "is not UTF-8"),
        (_too_large, "is larger than 5 MB"),
        (lambda file: file.mkdir(), "is not a file"),
        (os.mkfifo, "is not a file"),
        (lambda file: file.symlink_to(file), "cannot be read: Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_read_is_a_problem(tmp_path: Path, make: object, reason: str) -> None:
    assert callable(make)
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    make(file)

    read = files_of(tmp_path).read(str(file))

    assert read is not None
    assert (read.client, read.wishes) == ("Cursor", ())
    assert [(each.server, each.reason) for each in read.problems] == [(None, reason)]


def test_a_file_of_variables_is_read_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "shop/.env", "A=1")
    cursor = '{"mcpServers": {"x": {"command": "npx", "envFile": "${workspaceFolder}/.env"}}}'
    file = write(tmp_path / "shop/.cursor/mcp.json", cursor)
    other = write(tmp_path / "shop/.mcp.json", cursor.replace("${workspaceFolder}/.env", "/proc"))

    read, without = (files_of(tmp_path).read(str(each)) for each in (file, other))

    assert read is not None
    assert "FromFile(path='" in repr(read.wishes[0].launch)
    assert without is not None
    assert "FromFile" not in repr(without.wishes[0].launch)


@pytest.mark.requirement("gateway:import:never-written")
def test_reading_changes_nothing(tmp_path: Path) -> None:
    file = write(tmp_path / ".cursor/mcp.json", ONE)
    file.chmod(0o400)
    before = file.stat()

    files_of(tmp_path).found(tmp_path)

    after = file.stat()
    assert (after.st_mtime_ns, after.st_ino, after.st_mode) == (
        before.st_mtime_ns,
        before.st_ino,
        before.st_mode,
    )
    assert file.read_text() == ONE


OFTEN = timedelta(milliseconds=5)


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("two"),
        lambda file: (
            file.with_suffix(".new").write_text("two"),
            file.with_suffix(".new").replace(file),
        ),
        lambda file: (file.unlink(), file.write_text("two")),
        lambda file: file.unlink(),
    ],
    ids=["in place", "put there", "taken away first", "gone"],
)
async def test_a_change_is_noticed(tmp_path: Path, change: Callable[[Path], object]) -> None:
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
