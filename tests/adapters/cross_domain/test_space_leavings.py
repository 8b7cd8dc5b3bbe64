"""A space that is gone leaves nothing on the machine: no program, no file."""

import logging
from pathlib import Path

import pytest

from portico.adapters.cross_domain.space_cleanup import SpaceLeavings
from portico.guard.core.secrets import SecretsUnavailable
from portico.kernel.ids import SpaceId
from portico.testing.memory_store import BEGINNING, SeededEntropy

GONE = SpaceId.mint(BEGINNING, SeededEntropy("gone"))
OTHER = SpaceId.mint(BEGINNING, SeededEntropy("other"))


class Running:
    """What still writes while it is ended."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.stopped: list[SpaceId] = []

        self.forgotten: list[SpaceId] = []

    async def forget(self, space: SpaceId) -> None:
        self.forgotten.append(space)

    async def stop(self, space: SpaceId) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("last words")
        self.stopped.append(space)


def put(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x")
    return file


def leavings(running: Running, *folders: Path) -> SpaceLeavings:
    return SpaceLeavings(stop=running.stop, forget_secrets=running.forget, folders=folders)


async def test_programs_are_ended_before_the_folders_go(tmp_path: Path) -> None:
    homes, workspaces, logs = tmp_path / "homes", tmp_path / "workspaces", tmp_path / "logs"
    elsewhere = put(tmp_path / "elsewhere" / "theirs")
    other = put(homes / str(OTHER) / "a" / "b")
    put(workspaces / str(GONE) / "prn_1" / "c")
    (workspaces / str(GONE) / "prn_1" / "link").symlink_to(elsewhere.parent)
    running = Running(homes / str(GONE) / "server" / "d")

    await leavings(running, homes, workspaces, logs).clear(GONE)

    assert running.stopped == [GONE]
    assert running.forgotten == [GONE]
    assert not (homes / str(GONE)).exists()
    assert not (workspaces / str(GONE)).exists()
    assert other.exists()
    assert elsewhere.exists()


async def test_what_cannot_be_removed_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / str(GONE))  # no folder: nobody of ours has put it there
    running = Running(tmp_path / "d")

    with caplog.at_level(logging.WARNING):
        await leavings(running, tmp_path).clear(GONE)

    assert f"{tmp_path / str(GONE)} could not be removed" in caplog.text


async def test_secrets_that_cannot_be_reached_keep_no_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Locked(Running):
        async def forget(self, space: SpaceId) -> None:
            raise SecretsUnavailable("the keyring is locked", "Unlock it.")

    running = Locked(tmp_path / "homes" / str(GONE) / "d")

    with caplog.at_level(logging.WARNING):
        await leavings(running, tmp_path / "homes").clear(GONE)

    assert not (tmp_path / "homes" / str(GONE)).exists()
    assert f"the secrets of {GONE} stay" in caplog.text
    assert "the keyring is locked" in caplog.text
