"""The tools for files: a workspace a principal, read and written in parts that make sense."""

import base64
import os
import stat
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from portico.adapters.builtin import files
from portico.adapters.builtin.files import Workspaces
from portico.adapters.builtin.tool import ToolInvocation
from portico.testing.sandbox import MemoryFiles
from tests.adapters.builtin.bench import ANA, BEN, Bench, facts, words


async def test_what_is_written_can_be_read_and_listed_moved_and_removed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    written = await bench("write_file", path="notes/a.md", text="héllo")
    read = await bench("read_file", path="notes/a.md")
    await bench("make_folder", path="old")
    moved = await bench("move_file", path="notes/a.md", to="old/b.md")
    away = await bench("move_file", path="old/b.md", to="new/b.md")
    await bench("move_file", path="new/b.md", to="old/b.md")
    listed = await bench("list_files", path="old")
    removed = await bench("remove_file", path="old/b.md")
    empty = await bench("list_files", path="old")

    assert facts(written) == {"path": "notes/a.md", "size": 6}
    assert facts(read) == {"text": "héllo", "size": 6, "next_offset": None}
    assert words(read) == "héllo"
    assert facts(moved) == {"path": "old/b.md"}
    assert words(away) == "Moved old/b.md to new/b.md."
    assert [entry["path"] for entry in facts(listed)["entries"]] == ["old/b.md"]
    assert words(listed) == "old/b.md  6 bytes"
    assert words(removed) == "Removed old/b.md."
    assert words(empty) == "It is empty."


async def test_bytes_that_are_no_text_go_in_and_out_as_base64(tmp_path: Path) -> None:
    bench, raw = Bench(tmp_path), bytes(range(256))
    coded = base64.b64encode(raw).decode()

    await bench("write_file", path="a.bin", base64=coded)
    read = await bench("read_file", path="a.bin")

    assert facts(read) == {"base64": coded, "size": 256, "next_offset": None}
    assert coded in words(read)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"base64": "###"}, "bad_body"),
        ({"base64": "é"}, "bad_body"),
        ({"text": "\ud800"}, "bad_body"),
        ({"text": "a", "base64": "YQ=="}, "one_of_two"),
        ({}, "nothing_to_write"),
    ],
)
async def test_what_cannot_be_written_is_told_and_nothing_is_written(
    tmp_path: Path, given: dict[str, str], code: str
) -> None:
    bench = Bench(tmp_path)
    await bench("write_file", path="a", text="abc")

    answer = await bench("write_file", path="a", **given)

    assert answer.failed
    assert facts(answer)["code"] == code
    assert facts(answer)["fix"]
    assert facts(await bench("read_file", path="a"))["text"] == "abc"


async def test_a_long_file_is_read_part_by_part_without_cutting_a_letter(tmp_path: Path) -> None:
    bench, text = Bench(tmp_path), "aé€😀" * 3
    await bench("write_file", path="a", text=text)

    for limit in (4, 5, 7, 30):
        parts: list[str] = []
        offset: int | None = 0
        while offset is not None:
            part = facts(await bench("read_file", path="a", offset=offset, limit=limit))
            parts.append(part["text"])
            offset = part["next_offset"]

        assert "".join(parts) == text, limit


async def test_reading_always_comes_to_an_end(tmp_path: Path) -> None:
    """A limit smaller than a letter, a letter that the file itself breaks off, an offset behind."""
    bench = Bench(tmp_path)
    await bench("write_file", path="a", base64=base64.b64encode("é".encode() + b"\xc3").decode())

    first = facts(await bench("read_file", path="a", limit=1))
    last = facts(await bench("read_file", path="a", offset=2))
    behind = facts(await bench("read_file", path="a", offset=9))
    await bench("write_file", path="b", text="abcdef")
    part = await bench("read_file", path="b", limit=4)

    assert first["next_offset"] == 1
    assert last == {"base64": "ww==", "size": 3, "next_offset": None}
    assert behind == {"text": "", "size": 3, "next_offset": None}
    assert words(part) == "abcd\n[6 bytes in all; the next: offset=4]"


async def test_more_than_was_asked_for_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for name in ("c", "a", "b"):
        await bench("write_file", path=name, text="")
    await bench("make_folder", path="d")

    two = await bench("list_files", limit=2)
    four = await bench("list_files", limit=4)

    assert facts(two)["more"]
    assert words(two) == snapshot("a  0 bytes\nb  0 bytes\n[there are more than 2]")
    assert not facts(four)["more"]
    assert words(four) == snapshot("a  0 bytes\nb  0 bytes\nc  0 bytes\nd/")


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("read_file", {"path": "none"}, "file_trouble"),
        ("read_file", {"path": "../x"}, "path_refused"),
        ("write_file", {"path": "/etc/x", "text": ""}, "path_refused"),
        ("list_files", {"path": "none"}, "file_trouble"),
        ("move_file", {"path": "none", "to": "b"}, "file_trouble"),
        ("remove_file", {"path": "none"}, "file_trouble"),
        ("make_folder", {"path": "a\0b"}, "path_refused"),
    ],
)
async def test_a_path_that_is_not_there_or_leads_out_is_a_failure_with_a_fix(
    tmp_path: Path, tool: str, arguments: dict[str, str], code: str
) -> None:
    answer = await Bench(tmp_path)(tool, **arguments)

    assert answer.failed
    assert facts(answer)["code"] == code
    assert facts(answer)["fix"]


async def test_two_principals_do_not_see_each_others_files(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    await bench("write_file", path="a", text="of ana")
    answer = await bench("read_file", BEN, path="a")

    assert answer.failed
    assert facts(await bench("list_files", BEN))["entries"] == []
    assert facts(await bench("read_file", path="a"))["text"] == "of ana"


async def test_a_workspace_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    await Bench(tmp_path / "workspaces")("list_files")

    folder = tmp_path / "workspaces" / str(ANA.space) / str(ANA.id)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for above in (folder.parent, folder.parent.parent):
        assert not stat.S_IMODE(above.stat().st_mode) & 0o066


async def test_what_does_not_fit_is_refused_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, largest=1_000)
    await bench("list_files")
    folder = tmp_path / str(ANA.space) / str(ANA.id)
    (folder / "kept").write_bytes(b"." * 900)

    answer = await bench("write_file", path="a", text="." * 101)
    fits = await bench("write_file", path="a", text="." * 100)
    monkeypatch.setattr(files, "_MOST_FILES", 3)
    for name in "bcd":
        (folder / name).touch()
    many = await Bench(tmp_path)("write_file", path="e", text="x")

    assert facts(answer)["code"] == "workspace_full"
    assert words(answer).startswith("The workspace holds 900 bytes, and may hold 1,000")
    assert not fits.failed
    assert facts(many)["code"] == "workspace_full"


async def test_all_that_is_below_counts_and_a_link_leads_nowhere(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "w", largest=100_000)
    outside = tmp_path / "large"
    outside.mkdir()
    (outside / "file").write_bytes(b"." * 90_000)
    await bench("list_files")
    folder = tmp_path / "w" / str(ANA.space) / str(ANA.id)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").write_bytes(b"." * 50_000)
    (folder / "link").symlink_to(outside)

    fits = await bench("write_file", path="a", text="." * 20_000)
    answer = await bench("write_file", path="a", text="." * 60_000)

    assert not fits.failed
    assert facts(answer)["code"] == "workspace_full"


async def test_a_workspace_that_cannot_be_made_is_a_failure_of_the_tool(tmp_path: Path) -> None:
    (tmp_path / str(ANA.space)).write_text("in the way")

    answer = await Bench(tmp_path)("list_files")

    assert facts(answer)["code"] == "file_trouble"
    assert "cannot be made" in words(answer)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
async def test_as_root_it_belongs_to_whoever_runs_in_the_box(tmp_path: Path) -> None:
    owner = files.Owner(65534, 65534)
    workspaces = Workspaces(tmp_path, lambda _: MemoryFiles(), owner=owner)

    made = await workspaces.of(ToolInvocation(space=ANA.space, caller=ANA.id, seconds=1))

    assert (made.folder.stat().st_uid, made.folder.stat().st_gid) == (65534, 65534)
    assert made.folder.parent.stat().st_uid == 0
