"""What the rooms may rely on of `Files`, in memory and on a disk by both ways to a file."""

from pathlib import Path

import pytest

from portico.adapters.confined_files import Beneath, FolderFiles, Walk
from portico.sandbox.core.errors import FileTrouble, PathRefused
from portico.sandbox.core.profile import FileContent
from portico.sandbox.requests import Files
from portico.testing.sandbox import MemoryFiles

LARGEST = 1000


@pytest.fixture(params=["memory", "beneath", "walk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "memory":
        return MemoryFiles(largest=LARGEST)
    opening = Beneath() if request.param == "beneath" else Walk()
    return FolderFiles(tmp_path, largest=LARGEST, opening=opening)


async def shown(files: Files, path: str = "") -> list[tuple[str, str]]:
    return [(entry.path, entry.kind) for entry in await files.list(path, limit=100)]


async def test_what_was_written_last_is_read_also_in_part(files: Files) -> None:
    for text in (b"a longer one", b"0123456789"):
        await files.write("a.txt", text)
        assert await files.read("a.txt") == FileContent(content=text, size=len(text))
    assert await shown(files) == [("a.txt", "file")]

    for offset, limit, part in (
        *((0, 3, b"012"), (7, None, b"789"), (7, 100, b"789")),
        *((10, 5, b""), (99, 5, b""), (0, 0, b"")),
    ):
        found = await files.read("a.txt", offset=offset, limit=limit)
        assert found == FileContent(content=part, size=10, offset=offset)
    for offset, limit in ((-1, None), (0, -1)):
        with pytest.raises(FileTrouble):
            await files.read("a.txt", offset=offset, limit=limit)


async def test_folders_on_the_way_are_made(files: Files) -> None:
    assert await shown(files) == []
    for _ in range(2):
        await files.make_folder("e/f")
    assert await shown(files, "e/f") == []
    assert await shown(files, "e") == [("e/f", "folder")]

    await files.write("a/b/c.txt", b"deep")
    await files.write("a/b/d.txt", b"beside")

    assert (await files.read("a/b/c.txt")).content == b"deep"
    assert await shown(files) == [("a", "folder"), ("e", "folder")]
    assert await shown(files, "a/b") == [("a/b/c.txt", "file"), ("a/b/d.txt", "file")]


async def test_more_than_was_agreed_upon_is_not_written(files: Files) -> None:
    await files.write("a.txt", b"x" * LARGEST)

    with pytest.raises(FileTrouble, match="1000 bytes"):
        await files.write("a.txt", b"x" * (LARGEST + 1))

    assert (await files.read("a.txt")).size == LARGEST


async def test_a_list_is_in_order_and_as_long_as_it_may_be(files: Files) -> None:
    for name in ("c", "a", "d", "b"):
        await files.write(name, b"x")

    assert [entry.path for entry in await files.list(limit=3)] == ["a", "b", "c"]
    assert [entry.size for entry in await files.list(limit=1)] == [1]


async def test_what_is_moved_is_not_where_it_was_and_folders_on_the_way_are_made(
    files: Files,
) -> None:
    await files.write("a.txt", b"one")

    await files.move("a.txt", "away/old/b.txt")

    assert (await files.read("away/old/b.txt")).content == b"one"
    with pytest.raises(FileTrouble, match="no such file"):
        await files.read("a.txt")
    with pytest.raises(FileTrouble, match=r"'none\.txt' cannot be used: there is no such file"):
        await files.move("none.txt", "nowhere/a.txt")
    for place in ("away/c", "away/d/e"):
        with pytest.raises(FileTrouble, match="inside itself"):
            await files.move("away", place)
    await files.move("away", "z")
    assert (await files.read("z/old/b.txt")).content == b"one"
    assert await shown(files) == [("z", "folder")]
    assert await shown(files, "z") == [("z/old", "folder")]


async def test_a_move_replaces_nothing(files: Files) -> None:
    await files.write("a.txt", b"one")
    await files.write("b.txt", b"two")
    await files.make_folder("f")

    for taken in ("b.txt", "f", "a.txt"):
        with pytest.raises(FileTrouble, match="there already"):
            await files.move("a.txt", taken)

    assert (await files.read("a.txt")).content == b"one"
    assert (await files.read("b.txt")).content == b"two"


async def test_a_file_and_an_empty_folder_are_removed(files: Files) -> None:
    await files.write("a/b.txt", b"one")

    with pytest.raises(FileTrouble, match="not empty"):
        await files.remove("a")
    await files.remove("a/b.txt")
    await files.remove("a")

    assert await shown(files) == []


async def test_what_is_not_there_is_told(files: Files) -> None:
    await files.write("a.txt", b"one")

    for path in ("b.txt", "f/b.txt"):
        with pytest.raises(FileTrouble, match="no such file"):
            await files.read(path)
        with pytest.raises(FileTrouble, match="no such file"):
            await files.remove(path)
        with pytest.raises(FileTrouble, match="no such file"):
            await files.move(path, "c.txt")
    with pytest.raises(FileTrouble, match="no such file"):
        await files.list("f", limit=5)


async def test_a_folder_is_no_file_and_a_file_is_no_folder(files: Files) -> None:
    await files.write("f/a.txt", b"one")

    for refused in (files.read("f"), files.write("f", b"x")):
        with pytest.raises(FileTrouble, match="it is a folder"):
            await refused
    for refused in (
        files.read("f/a.txt/b"),
        files.write("f/a.txt/b", b"x"),
        files.make_folder("f/a.txt"),
    ):
        with pytest.raises(FileTrouble, match="not a folder"):
            await refused
    with pytest.raises(FileTrouble, match="not a folder"):
        await files.list("f/a.txt", limit=5)


async def test_no_way_out_is_a_path(files: Files) -> None:
    await files.write("a.txt", b"one")

    for path in ("", ".", "..", "../a", "a/../../b", "/etc/passwd", "a\0b"):
        for refused in (
            files.read(path),
            files.write(path, b"x"),
            files.make_folder(path),
            files.move(path, "b"),
            files.move("a.txt", path),
            files.remove(path),
        ):
            with pytest.raises(PathRefused):
                await refused
    assert await shown(files) == [("a.txt", "file")]
