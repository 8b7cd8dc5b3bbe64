"""Where things are kept."""

from pathlib import Path

import pytest

from portico.settings.paths import find_paths


def _runs_as(user: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setattr("platformdirs.unix.geteuid", lambda: user)


@pytest.mark.requirement("settings:paths:portico-home")
def test_portico_home_holds_everything(tmp_path: Path) -> None:
    paths = find_paths({"PORTICO_HOME": str(tmp_path)})

    for path in (
        paths.config_file,
        paths.provisioned_file,
        paths.key_file,
        paths.secrets,
        paths.postgres,
        paths.backups,
        paths.debate_logs,
        paths.cache,
    ):
        assert path.is_relative_to(tmp_path)


@pytest.mark.requirement("settings:paths:portico-home")
def test_portico_home_may_be_relative_or_begin_with_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "ana"))

    assert find_paths({"PORTICO_HOME": "here"}).config == tmp_path / "here" / "config"
    assert find_paths({"PORTICO_HOME": "~/p"}).data == tmp_path / "ana" / "p" / "data"


@pytest.mark.parametrize("environment", [{}, {"PORTICO_HOME": ""}])
def test_without_it_the_platforms_own_folders_are_used(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _runs_as(1000, monkeypatch)
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))

    paths = find_paths(environment)

    assert paths.config_file == tmp_path / "config" / "portico" / "portico.toml"
    assert paths.postgres == tmp_path / "data" / "portico" / "postgres"
    assert paths.backups == tmp_path / "state" / "portico" / "backups"


def test_roots_database_is_where_its_account_can_come_to(monkeypatch: pytest.MonkeyPatch) -> None:
    _runs_as(0, monkeypatch)

    paths = find_paths({})

    assert not paths.postgres.is_relative_to(Path("/root"))
