"""What a folder on a disk has, and memory has not: links, pipes, owners, crashes, other writers."""

import asyncio
import errno
import os
import platform
import socket
import stat
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from portico.adapters.confined_files import Beneath, FolderFiles, Opening, Walk, best_opening
from portico.adapters.sandbox.inside import confinement
from portico.adapters.sandbox.kernel_filters import Rule, assemble
from portico.sandbox.core.errors import FileTrouble, PathRefused
from portico.sandbox.requests import Files

SECRET = b"SECRET"


@pytest.fixture(params=[Beneath, Walk])
def opening(request: pytest.FixtureRequest) -> Opening:
    made: Opening = request.param()
    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """With a folder beside it whose name begins alike, and every trap known of path checks."""
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "ok.txt").write_bytes(b"public")
    (tmp_path / "workspace-secrets").mkdir()
    (tmp_path / "workspace-secrets" / "key").write_bytes(SECRET)
    (tmp_path / "outside.txt").write_bytes(SECRET)
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "near.txt").symlink_to("../outside.txt")
    (root / "folder").symlink_to(tmp_path)
    (root / "magic").symlink_to("/proc/self/root")
    (root / "own").symlink_to("/proc/self/fd")
    (root / "circle").symlink_to("circle")
    (root / "hard.txt").hardlink_to(tmp_path / "outside.txt")
    return root


@pytest.fixture
def files(root: Path, opening: Opening) -> Files:
    return FolderFiles(root, opening=opening)


WAYS_OUT = [
    "../outside.txt",
    "../workspace-secrets/key",
    "link.txt",
    "near.txt",
    "folder/outside.txt",
    "folder/workspace-secrets/key",
    "magic/etc/passwd",
    "own/0",
    "circle",
    "circle/x",
    "hard.txt",
    "/etc/passwd",
    "ok.txt\0x",
]


def test_the_traps_are_set(root: Path) -> None:
    for trap in ("link.txt", "near.txt", "folder/outside.txt", "hard.txt"):
        assert (root / trap).read_bytes() == SECRET
    assert (root / "magic/etc/passwd").read_bytes()


@pytest.mark.parametrize("path", WAYS_OUT)
async def test_nothing_outside_is_read_or_written(files: Files, root: Path, path: str) -> None:
    with pytest.raises(PathRefused):
        await files.read(path)
    with pytest.raises(PathRefused):
        await files.write(path, b"overwritten")

    assert (root.parent / "outside.txt").read_bytes() == SECRET
    assert (root.parent / "workspace-secrets" / "key").read_bytes() == SECRET
    assert (root / "ok.txt").read_bytes() == b"public"


@pytest.mark.parametrize("path", ["folder", "folder/workspace-secrets", "magic", "own", ".."])
async def test_nothing_outside_is_listed(files: Files, path: str) -> None:
    with pytest.raises(PathRefused):
        await files.list(path, limit=10)


@pytest.mark.parametrize("name", ["folder/new", "folder/new/deeper", "magic/tmp/new", "../new"])
async def test_nothing_is_made_or_moved_outside(files: Files, root: Path, name: str) -> None:
    before = sorted(root.parent.rglob("*"))

    for refused in (
        files.make_folder(name),
        files.write(name, b"x"),
        files.move("ok.txt", name),
        files.move("folder/outside.txt", "here.txt"),
        files.remove("folder/outside.txt"),
    ):
        with pytest.raises(PathRefused):
            await refused

    assert sorted(root.parent.rglob("*")) == before


async def test_a_link_is_listed_as_what_it_is_and_can_be_removed(files: Files, root: Path) -> None:
    kinds = {entry.path: entry.kind for entry in await files.list(limit=100)}
    await files.remove("link.txt")
    await files.remove("folder")

    assert kinds["link.txt"] == kinds["folder"] == "other"
    assert (root.parent / "outside.txt").read_bytes() == SECRET
    assert not (root / "link.txt").is_symlink()


async def test_a_link_that_stays_inside_is_followed_where_the_kernel_watches(root: Path) -> None:
    (root / "inner").mkdir()
    (root / "inner" / "up").symlink_to("../ok.txt")
    (root / "way").symlink_to("inner")

    beneath = FolderFiles(root, opening=Beneath())
    assert (await beneath.read("way/up")).content == b"public"
    await beneath.write("way/new.txt", b"new")
    assert (root / "inner" / "new.txt").read_bytes() == b"new"
    with pytest.raises(PathRefused, match="link"):
        await beneath.write("way/up", b"x")
    for path in ("way/new.txt", "inner/up"):
        with pytest.raises(PathRefused, match="link"):
            await FolderFiles(root, opening=Walk()).read(path)


async def test_pipes_sockets_and_devices_are_refused_and_hold_nobody(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")

        for path in ("pipe", "socket"):
            with pytest.raises(PathRefused, match="neither"):
                await files.read(path)
            with pytest.raises(PathRefused, match="neither"):
                await files.write(path, b"x")


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o750])
async def test_a_file_keeps_its_permissions(files: Files, root: Path, mode: int) -> None:
    (root / "ok.txt").chmod(mode | stat.S_ISUID)

    await files.write("ok.txt", b"new")
    await files.write("fresh.txt", b"new")

    assert stat.S_IMODE((root / "ok.txt").stat().st_mode) == mode
    assert stat.S_IMODE((root / "fresh.txt").stat().st_mode) == 0o644


def names_of(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


async def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names_of(root)

    def no_room(descriptor: int, content: memoryview) -> int:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr("os.write", no_room)
    with pytest.raises(FileTrouble, match="no room"):
        await files.write("ok.txt", b"new")

    assert (root / "ok.txt").read_bytes() == b"public"
    assert names_of(root) == before


async def test_readers_see_one_whole_file_whatever_writers_do(files: Files) -> None:
    texts = [bytes([letter]) * 50_000 for letter in b"abcd"]
    await files.write("shared.txt", texts[0])

    async def write(text: bytes) -> None:
        for _ in range(20):
            await files.write("shared.txt", text)

    async def read() -> None:
        for _ in range(100):
            assert (await files.read("shared.txt")).content in texts

    async with asyncio.TaskGroup() as group:
        for text in texts:
            group.create_task(write(text))
        group.create_task(read())
        group.create_task(read())


class Meanwhile:
    """Does something between the look at a file and its opening."""

    def __init__(self, opening: Opening, act: Callable[[], object]) -> None:
        self._opening = opening
        self._act = act

    def open(self, root: int, names: Sequence[str], flags: int) -> int:
        self._act()
        return self._opening.open(root, names, flags)

    def look(self, root: int, names: Sequence[str]) -> os.stat_result:
        return self._opening.look(root, names)

    def folder(self, root: int, names: Sequence[str]) -> int:
        return self._opening.folder(root, names)


async def test_a_second_name_that_comes_and_goes_in_between_is_noticed(
    root: Path, opening: Opening
) -> None:
    victim, trap = root.parent / "outside.txt", root / "trap.txt"
    (root / "hard.txt").unlink()
    trap.hardlink_to(victim)

    class Hiding(Meanwhile):
        def look(self, root: int, names: Sequence[str]) -> os.stat_result:
            """The name is there when it is looked up, and gone when it is counted."""
            seen = super().look(root, names)
            return os.stat_result((*seen[:3], 1, *seen[4:]), {"st_ctime_ns": seen.st_ctime_ns})

        def open(self, root: int, names: Sequence[str], flags: int) -> int:
            trap.unlink()
            trap.hardlink_to(victim)
            opened = super().open(root, names, flags)
            trap.unlink()
            assert os.fstat(opened).st_nlink == 1
            trap.hardlink_to(victim)
            return opened

    files = FolderFiles(root, opening=Hiding(opening, lambda: None))

    with pytest.raises(PathRefused, match="stand still"):
        await files.read("trap.txt")


async def test_what_becomes_a_link_or_a_pipe_after_it_was_looked_at_is_refused(
    root: Path, opening: Opening
) -> None:
    def becomes_a_link() -> None:
        (root / "ok.txt").unlink()
        (root / "ok.txt").symlink_to(root.parent / "outside.txt")

    def becomes_a_pipe() -> None:
        (root / "ok.txt").unlink()
        os.mkfifo(root / "ok.txt")

    for act in (becomes_a_link, becomes_a_pipe):
        with pytest.raises(PathRefused):
            await FolderFiles(root, opening=Meanwhile(opening, act)).read("ok.txt")
        (root / "ok.txt").unlink()
        (root / "ok.txt").write_bytes(b"public")


async def test_a_file_that_was_replaced_meanwhile_is_read_as_it_is_then(
    root: Path, opening: Opening
) -> None:
    new = iter([b"second"])

    def replaced() -> None:
        for content in new:
            (root / "part").write_bytes(content)
            (root / "part").replace(root / "ok.txt")

    files = FolderFiles(root, opening=Meanwhile(opening, replaced))

    assert (await files.read("ok.txt")).content == b"second"


async def test_names_that_are_not_text_are_shown_and_lead_nowhere(files: Files, root: Path) -> None:
    descriptor = os.open(os.fsencode(root) + b"/\xff.txt", os.O_CREAT | os.O_WRONLY, 0o600)
    os.close(descriptor)

    shown = [entry for entry in await files.list(limit=100) if "�" in entry.path]

    assert [entry.kind for entry in shown] == ["other"]
    shown[0].path.encode()
    with pytest.raises(FileTrouble, match="no such file"):
        await files.read(shown[0].path)


async def test_a_folder_of_many_names_is_listed_in_order(
    files: Files, root: Path, opening: Opening
) -> None:
    (root / "many").mkdir()
    for number in range(3000):
        (root / "many" / f"{number:04}").touch()

    listed = await files.list("many", limit=5)

    assert [entry.path for entry in listed] == [f"many/{number:04}" for number in range(5)]


async def test_the_folder_is_found_again_under_another_name(files: Files, root: Path) -> None:
    os.rename(root, root.parent / "elsewhere")  # noqa: PTH104 # a moment, in a test

    assert (await files.read("ok.txt")).content == b"public"


def held_open() -> Counter[str]:
    found = Counter[str]()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of the listing itself
            found[str(each.readlink())] += 1
    return found


def test_the_descriptor_goes_with_the_last_who_holds_it(tmp_path: Path) -> None:
    with pytest.raises(FileTrouble, match="no such file"):
        FolderFiles(tmp_path / "missing")
    files = FolderFiles(tmp_path)
    assert held_open()[str(tmp_path)] == 1

    del files

    assert held_open()[str(tmp_path)] == 0


async def test_no_descriptor_is_left_open_by_what_was_refused(files: Files, root: Path) -> None:
    with pytest.raises(PathRefused):
        await files.read("hard.txt")
    before = held_open()

    for path in WAYS_OUT * 5:
        for refused in (files.read(path), files.write(path, b"x"), files.move(path, "n")):
            try:
                await refused
            except PathRefused:
                continue
            await files.move("n", path)

    assert held_open() - before == Counter()  # what others close meanwhile is theirs


def test_where_the_kernel_call_is_forbidden_the_walk_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        assert isinstance(best_opening(root), Beneath)

        def forbidden(self: Beneath, root: int, names: Sequence[str], flags: int) -> int:
            raise OSError(errno.EPERM, "not permitted")

        monkeypatch.setattr(Beneath, "open", forbidden)
        assert isinstance(best_opening(root), Walk)

        monkeypatch.undo()
        monkeypatch.setattr("platform.system", lambda: "Darwin")
        assert isinstance(best_opening(root), Walk)
    finally:
        os.close(root)


def test_a_filter_that_forbids_the_call_is_found_out(tmp_path: Path) -> None:
    """As containers have it whose filter is older than the call."""

    def chosen(at: int) -> tuple[Opening, Opening]:
        before = best_opening(at)
        confinement.no_new_privileges()
        program = assemble([Rule("openat2", errno.EPERM)], platform.machine())
        confinement.seccomp(program)
        return before, best_opening(at)

    root = os.open(tmp_path, os.O_RDONLY)
    try:
        with ThreadPoolExecutor(1) as thread:  # it alone is under the filter
            before, after = thread.submit(chosen, root).result()
    finally:
        os.close(root)

    assert isinstance(before, Beneath)
    assert isinstance(after, Walk)


async def test_moving_without_the_kernel_call_replaces_nothing_either(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "other")
    (root / "full").mkdir()
    (root / "full" / "x").touch()

    for taken in ("hard.txt", "full", "link.txt"):
        with pytest.raises(FileTrouble, match="there already"):
            await files.move("ok.txt", taken)
        with pytest.raises(FileTrouble, match="there already"):
            await files.move("full", taken)
    with pytest.raises(FileTrouble):
        await files.move("full", "full/inside")
    await files.move("ok.txt", "full/ok.txt")
    await files.move("full", "other")

    assert (root / "other" / "ok.txt").read_bytes() == b"public"
    assert not (root / "full").exists()
    assert not (root / "ok.txt").exists()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
async def test_what_root_writes_belongs_to_whom_the_folder_belongs(
    files: Files, root: Path
) -> None:
    os.chown(root, 65534, 65534)

    await files.write("made/deep/new.txt", b"new")
    await files.write("ok.txt", b"new")

    for made in ("made", "made/deep", "made/deep/new.txt", "ok.txt"):
        assert (root / made).stat().st_uid == 65534


async def test_another_file_system_below_the_folder_is_not_reached(opening: Opening) -> None:
    files = FolderFiles(Path("/"), opening=opening)

    for refused in (
        files.read("proc/version"),
        files.list("proc", limit=1),
        files.move("proc/version", "proc/other"),
    ):
        with pytest.raises(PathRefused, match="out of the folder"):
            await refused
