"""Configuration commands on the real house, in a folder of their own."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.main.house import PorticoHouse

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration file; nothing of the machine's own environment is left."""
    for name in os.environ:
        if name.startswith("PORTICO_"):
            monkeypatch.delenv(name)
    (tmp_path / "project").mkdir()
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PORTICO_HOME", str(tmp_path))
    return tmp_path / "config" / "portico.toml"


def shown(capsys: Captured) -> dict[str, Any]:
    assert run(PorticoHouse(), ["config", "show", "--origin", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    return {each["setting"]: (each["value"], each["origin"]) for each in settings}


@pytest.mark.requirement("settings:sources:origin")
def test_every_value_is_shown_with_where_it_came_from(
    user_file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text('# mine\n[log]\nlevel = "debug"\n')
    monkeypatch.setenv("PORTICO_SERVER__PORT", "3200")
    monkeypatch.setenv("PORTICO_DATABASE__DSN", "postgresql://app:hunter2@db/portico")

    found = shown(capsys)

    assert found["log.level"] == ("debug", f"{user_file}:3")
    assert found["server.port"] == (3200, "environment PORTICO_SERVER__PORT")
    assert found["server.host"] == ("127.0.0.1", "default")
    assert found["database.dsn"] == ("********", "environment PORTICO_DATABASE__DSN")


@pytest.mark.requirement("settings:file:validated")
def test_a_bad_file_exits_with_3_and_names_file_line_and_mend(
    user_file: Path, capsys: Captured
) -> None:
    user_file.write_text("[server]\nport = 3100\nprot = 3200\n")

    assert run(PorticoHouse(), ["config", "validate"]) == 3

    told = " ".join(capsys.readouterr().err.split())
    assert f"{user_file}:3" in told
    assert "did you mean server.port?" in told
    assert "fix" in told


@pytest.mark.requirement("settings:file:validated")
def test_a_bad_file_is_told_to_a_program_too(user_file: Path, capsys: Captured) -> None:
    user_file.write_text("[server\n")

    assert run(PorticoHouse(), ["config", "validate", "--json"]) == 3

    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "invalid_settings"
    assert error["errors"][0]["field"] == str(user_file)
    assert error["fix"]


def test_a_named_file_is_used_instead(user_file: Path, capsys: Captured, tmp_path: Path) -> None:
    user_file.write_text("this is [not toml")
    named = tmp_path / "named.toml"
    named.write_text("[server]\nport = 3333")

    assert run(PorticoHouse(), ["config", "show", "--json", "--config", str(named)]) == 0

    settings = json.loads(capsys.readouterr().out)["settings"]
    assert {"setting": "server.port", "value": 3333} in settings


def test_whoever_changes_a_setting_is_told_that_the_running_server_goes_on_without_it(
    user_file: Path, capsys: Captured
) -> None:
    private = PorticoHouse().whereabouts().private_socket
    assert private is not None
    private.parent.mkdir(parents=True, exist_ok=True)
    told = "The running server goes on with what it has: start it again for this to hold.\n"

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(private))
        listener.listen()
        assert run(PorticoHouse(), ["config", "set", "debate.cap_tokens", "3000"]) == 0
        assert capsys.readouterr().err == told
        assert run(PorticoHouse(), ["config", "unset", "debate.cap_tokens"]) == 0
        assert capsys.readouterr().err == told

    assert run(PorticoHouse(), ["config", "set", "debate.cap_tokens", "3000"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.requirement("settings:change:keeps-the-rest")
def test_setting_a_value_keeps_comments_and_closes_the_file(
    user_file: Path, capsys: Captured
) -> None:
    user_file.write_text('# mine\n[server]\nport = 3200 # ours\n[log]\nlevel = "debug"\n')

    assert run(PorticoHouse(), ["config", "set", "server.port", "3300"]) == 0

    text = user_file.read_text()
    assert text == '# mine\n[server]\nport = 3300 # ours\n[log]\nlevel = "debug"\n'
    assert user_file.stat().st_mode & 0o077 == 0


def test_the_first_setting_makes_the_file(user_file: Path, capsys: Captured) -> None:
    assert run(PorticoHouse(), ["config", "set", "server.port", "3300", "--quiet"]) == 0
    capsys.readouterr()

    assert shown(capsys)["server.port"][0] == 3300


@pytest.mark.parametrize(
    ("setting", "value"), [("server.port", "99999"), ("server.prot", "1"), ("log.level", "loud")]
)
def test_an_invalid_value_changes_nothing(
    user_file: Path, capsys: Captured, setting: str, value: str
) -> None:
    user_file.write_text("[server]\nport = 3200\n")

    assert run(PorticoHouse(), ["config", "set", setting, value]) == 3

    assert user_file.read_text() == "[server]\nport = 3200\n"
    assert "Nothing was written." in capsys.readouterr().err


def test_a_near_miss_is_told_with_what_was_meant(user_file: Path, capsys: Captured) -> None:
    for command in (["set", "server.prot", "1"], ["unset", "server.prot"], ["get", "server.prot"]):
        assert run(PorticoHouse(), ["config", *command]) == 3
        assert "did you mean server.port?" in capsys.readouterr().err


@pytest.mark.parametrize("by_flag", [True, False])
def test_the_file_in_force_is_the_one_that_is_shown_and_written(
    user_file: Path,
    capsys: Captured,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    by_flag: bool,
) -> None:
    named = tmp_path / "named.toml"
    named.write_text("# ours\n")
    options = ["--config", str(named)] if by_flag else []
    if not by_flag:
        monkeypatch.setenv("PORTICO_CONFIG", str(named))

    assert run(PorticoHouse(), ["config", "set", "server.port", "3300", *options]) == 0
    assert run(PorticoHouse(), ["config", "path", *options]) == 0

    assert "port = 3300" in named.read_text()
    assert not user_file.exists()
    assert f"config_file\t{named}" in capsys.readouterr().out


def test_a_file_that_is_a_link_stays_one(user_file: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("# mine\n")
    user_file.symlink_to(tmp_path / "dotfiles.toml")

    assert run(PorticoHouse(), ["config", "set", "server.port", "3300"]) == 0

    assert user_file.is_symlink()
    assert "port = 3300" in (tmp_path / "dotfiles.toml").read_text()


def test_what_wins_over_a_setting_is_told_when_it_is_set_or_unset(
    user_file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTICO_SERVER__PORT", "3200")

    assert run(PorticoHouse(), ["config", "set", "server.port", "3300"]) == 0
    assert capsys.readouterr().err == "… but environment PORTICO_SERVER__PORT wins\n"

    assert run(PorticoHouse(), ["config", "unset", "server.port"]) == 0
    assert capsys.readouterr().err == "… but environment PORTICO_SERVER__PORT sets it\n"

    assert run(PorticoHouse(), ["config", "set", "server.port", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["overruled_by"] == "environment PORTICO_SERVER__PORT"

    monkeypatch.delenv("PORTICO_SERVER__PORT")
    assert run(PorticoHouse(), ["config", "set", "server.port", "3300"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.requirement("settings:change:keeps-the-rest")
def test_a_setting_is_got_and_taken_out(user_file: Path, capsys: Captured) -> None:
    user_file.write_text("# mine\n[server]\nport = 3200\n")

    assert run(PorticoHouse(), ["config", "get", "server.port"]) == 0
    assert capsys.readouterr().out == "3200\n"
    assert run(PorticoHouse(), ["config", "unset", "server.port"]) == 0
    assert user_file.read_text() == "# mine\n[server]\n"
    capsys.readouterr()

    assert run(PorticoHouse(), ["config", "get", "server.port", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "setting": "server.port",
        "value": 3100,
        "origin": "default",
    }


@pytest.mark.requirement("settings:secrets:hidden")
def test_a_secret_is_not_got(
    user_file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTICO_IDENTITY__PEPPER", "hunter2")

    assert run(PorticoHouse(), ["config", "get", "identity.pepper"]) == 0

    assert capsys.readouterr().out == "********\n"


@pytest.mark.requirement("settings:sources:trust")
def test_a_file_that_came_with_a_folder_is_refused_with_its_line(
    user_file: Path, capsys: Captured, tmp_path: Path
) -> None:
    file = tmp_path / "project" / "portico.toml"
    file.write_text('[client]\nserver = "https://evil.example"\n')

    assert run(PorticoHouse(), ["status"]) == 3

    told = " ".join(capsys.readouterr().err.split())
    assert f"{file}:2" in told
    assert "only in your own file, the environment or flags" in told


def test_a_setting_is_changed_beside_one_that_refers_to_the_environment(
    user_file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_PORT", "3200")
    user_file.write_text('[server]\nport = "${MY_PORT}"\n')

    assert run(PorticoHouse(), ["config", "set", "log.level", "debug"]) == 0

    assert 'port = "${MY_PORT}"' in user_file.read_text()


def test_the_schema_describes_every_section(user_file: Path, capsys: Captured) -> None:
    assert run(PorticoHouse(), ["config", "schema"]) == 0

    schema = json.loads(capsys.readouterr().out)
    sections = {
        "server",
        "client",
        "database",
        "identity",
        "engine",
        "log",
        "telemetry",
        "embeddings",
        "gateway",
        "servers",
        "box",
        "web",
        "policy",
        "audit",
        "oauth",
        "limits",
        "approvals",
        "workflows",
        "ahead",
        "secrets",
        "models",
        "agents",
        "bridge",
        "debate",
    }
    assert set(schema["properties"]) == sections
    port = schema["$defs"]["ServerSettings"]["properties"]["port"]
    assert (port["default"], port["description"]) == (3100, "Port to listen on.")


def test_paths_are_below_portico_home(user_file: Path, capsys: Captured, tmp_path: Path) -> None:
    assert run(PorticoHouse(), ["config", "path", "--json"]) == 0

    paths = json.loads(capsys.readouterr().out)
    assert all(Path(path).is_relative_to(tmp_path) for path in paths.values())


@pytest.mark.requirement("cli:exits:codes")
def test_without_a_server_status_exits_with_4_and_says_how_to_start_it(
    user_file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTICO_SERVER__PORT", "9")
    (user_file.parent / "client.key").write_text("ptc_x\n")

    assert run(PorticoHouse(), ["status", "--json"]) == 4

    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "not_running"
    assert "portico up" in error["fix"]
