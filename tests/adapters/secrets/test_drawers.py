"""Each place for secrets keeps, changes and lists them alike."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.secrets.age_file import AgeFile
from portico.adapters.secrets.drawer import Drawer, Kept
from portico.adapters.secrets.os_keyring import OsKeyring, foreign_entry
from portico.guard.core.secret import SecretsUnavailable
from portico.testing.kernel import BEGINNING
from portico.testing.secrets import MemoryDrawer
from tests.adapters.secrets.keyrings import BrokenKeyring, LockedKeyring, MemoryKeyring

CANARY = "canary-4b1d0c77e6"
KEPT = Kept(CANARY, BEGINNING, "ana")
OTHER = Kept("another ünïcode \n value", BEGINNING + timedelta(days=1), "bob")


def age_file(folder: Path) -> AgeFile:
    return AgeFile(folder / "data" / "secrets.age", folder / "data" / "secrets" / "age.identity")


@pytest.fixture(params=["age", "keyring", "memory"])
def drawer(request: pytest.FixtureRequest, tmp_path: Path) -> Drawer:
    match request.param:
        case "age":
            return age_file(tmp_path)
        case "keyring":
            return OsKeyring(MemoryKeyring(), "portico x", tmp_path / "lock")
        case _:
            return MemoryDrawer()


def put(drawer: Drawer, space: str, name: str, kept: Kept | None) -> Kept | None:
    return drawer.change(space, name, lambda _before: kept)


def test_there_is_nothing_at_first(drawer: Drawer) -> None:
    assert drawer.get("here", "github") is None
    assert drawer.all("here") == {}
    assert [*drawer.spaces()] == []


def test_what_is_kept_is_found_again_and_in_no_other_space(drawer: Drawer) -> None:
    assert put(drawer, "here", "github", KEPT) is None
    put(drawer, "here", "slack", OTHER)

    assert drawer.get("here", "github") == KEPT
    assert drawer.all("here") == {"github": KEPT, "slack": OTHER}
    assert drawer.get("there", "github") is None
    assert drawer.all("there") == {}
    assert [*drawer.spaces()] == ["here"]


def test_a_change_is_made_of_what_is_there(drawer: Drawer) -> None:
    put(drawer, "here", "github", KEPT)

    before = drawer.change("here", "github", lambda kept: OTHER if kept == KEPT else None)

    assert before == KEPT
    assert drawer.get("here", "github") == OTHER


def test_what_is_removed_is_gone(drawer: Drawer) -> None:
    put(drawer, "here", "github", KEPT)

    assert put(drawer, "here", "github", None) == KEPT
    assert put(drawer, "here", "github", None) is None
    assert drawer.all("here") == {}
    assert [*drawer.spaces()] == []


def test_an_empty_keyring_has_no_entry_of_ours(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    drawer = OsKeyring(backend, "portico x", tmp_path / "lock")
    for name in ("github", "aws"):
        put(drawer, "here", name, KEPT)
    for name in ("github", "aws"):
        put(drawer, "here", name, None)

    assert backend.entries == {}


def test_what_does_not_change_is_not_written_again(tmp_path: Path) -> None:
    drawer = age_file(tmp_path)
    put(drawer, "here", "github", KEPT)
    before = drawer.file.read_bytes()

    put(drawer, "here", "github", KEPT)

    assert drawer.file.read_bytes() == before


def test_the_file_shows_neither_values_nor_names_and_is_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    drawer = age_file(tmp_path)
    put(drawer, "here", "github", KEPT)

    for file in (drawer.file, drawer.identity):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert CANARY not in file.read_text()
        assert "github" not in file.read_text()
    assert drawer.file.read_text().startswith("-----BEGIN AGE ENCRYPTED FILE-----")
    left = {file.name for file in tmp_path.rglob("*") if file.is_file()}
    assert left == {"secrets.age", "secrets.lock", "age.identity"}


def _without_identity(drawer: AgeFile) -> None:
    drawer.identity.unlink()


def _with_another_identity(drawer: AgeFile) -> None:
    other = age_file(drawer.file.parent / "other")
    put(other, "here", "x", KEPT)
    drawer.identity.write_text(other.identity.read_text())


def _with_a_torn_file(drawer: AgeFile) -> None:
    drawer.file.write_text(drawer.file.read_text()[:-120])


def _with_an_open_identity(drawer: AgeFile) -> None:
    drawer.identity.chmod(0o644)


def _with_a_bad_identity(drawer: AgeFile) -> None:
    drawer.identity.write_text("AGE-SECRET-KEY-1NOT")


def _with_a_folder_in_its_place(drawer: AgeFile) -> None:
    drawer.file.unlink()
    drawer.file.mkdir()


@pytest.mark.parametrize(
    "harm",
    [
        _without_identity,
        _with_another_identity,
        _with_a_torn_file,
        _with_an_open_identity,
        _with_a_bad_identity,
        _with_a_folder_in_its_place,
    ],
)
def test_a_file_that_cannot_be_opened_is_never_begun_anew(
    tmp_path: Path, harm: Callable[[AgeFile], None]
) -> None:
    drawer = age_file(tmp_path)
    put(drawer, "here", "github", KEPT)
    harm(drawer)

    with pytest.raises(SecretsUnavailable) as first:
        drawer.get("here", "github")
    with pytest.raises(SecretsUnavailable):
        put(drawer, "here", "slack", OTHER)

    assert first.value.fix
    assert CANARY not in str(first.value)


_WRITER = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from portico.adapters.secrets.age_file import AgeFile
from portico.adapters.secrets.drawer import Kept

file, identity, who = sys.argv[1:]
drawer = AgeFile(Path(file), Path(identity))
for number in range(10):
    kept = Kept(f"{who} {number}", datetime(2026, 1, 1, tzinfo=UTC), who)
    drawer.change("here", f"{who}-{number}", lambda _before: kept)
    drawer.change("here", "count", lambda before: Kept(
        str(int(before.value) + 1 if before else 1), kept.set_at, who))
"""


@pytest.mark.timeout(60)
def test_several_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    drawer = age_file(tmp_path)
    program = [sys.executable, "-c", _WRITER, str(drawer.file), str(drawer.identity)]
    writers = [subprocess.Popen([*program, f"w{number}"]) for number in range(4)]

    assert [writer.wait() for writer in writers] == [0] * 4
    found = drawer.all("here")
    assert len(found) == 41
    assert found["count"].value == "40"


def test_an_entry_of_a_keyring_is_ours_alone_and_its_names_are_listed(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    backend.set_password("github", "ana", "hers")
    drawer = OsKeyring(backend, "portico x", tmp_path / "lock")

    put(drawer, "here", "github", KEPT)

    assert {service for service, _ in backend.entries} == {"github", "portico x"}
    assert json.loads(backend.entries["portico x", "names of here"]) == ["github"]
    assert foreign_entry(backend, "github", "ana") == "hers"
    assert foreign_entry(backend, "github", "bob") is None


@pytest.mark.parametrize("backend", [LockedKeyring(), BrokenKeyring()])
def test_a_keyring_that_does_not_answer_says_so_in_our_words(
    tmp_path: Path, backend: MemoryKeyring
) -> None:
    with pytest.raises(SecretsUnavailable, match="keyring"):
        put(OsKeyring(backend, "portico x", tmp_path / "lock"), "here", "github", KEPT)


def test_a_lock_is_not_laid_where_a_link_leads(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secrets.lock").symlink_to(elsewhere)

    with pytest.raises(OSError, match="symbolic link"):
        put(age_file(tmp_path), "here", "github", KEPT)

    assert not os.path.lexists(elsewhere)


def test_what_is_kept_does_not_show_itself() -> None:
    assert CANARY not in repr(KEPT)
