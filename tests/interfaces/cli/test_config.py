"""Configuration commands on the real house, in a folder of their own; what a setting may be, where
it comes from and what stays of a file is tested with the settings."""

import json
import os
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portico.app.cli_services import PorticoServices
from portico.interfaces.cli.app import run

OURS = "[server]\nport = 3200\n"
WINS = "environment PORTICO_SERVER__PORT"


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


Said = tuple[int, str, str]
Portico = Callable[[str], Said]


@pytest.fixture
def portico(user_file: Path, capsys: pytest.CaptureFixture[str]) -> Portico:
    """What a command ends with and prints; of a failure the words without where its lines break."""

    def ran(command: str) -> Said:
        code = run(PorticoServices(), shlex.split(command))
        said = capsys.readouterr()
        return code, said.out, " ".join(said.err.split()) if code else said.err

    return ran


def shown(portico: Portico) -> dict[str, Any]:
    settings = json.loads(portico("config show --origin --json")[1])["settings"]
    return {each["setting"]: (each["value"], each["origin"]) for each in settings}


@pytest.mark.requirement("settings:sources:origin")
def test_every_value_is_shown_with_where_it_came_from(
    user_file: Path, portico: Portico, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text('# mine\n[log]\nlevel = "debug"\n')
    monkeypatch.setenv("PORTICO_SERVER__PORT", "3200")
    monkeypatch.setenv("PORTICO_DATABASE__DSN", "postgresql://app:hunter2@db/portico")

    found = shown(portico)

    assert found["log.level"] == ("debug", f"{user_file}:3")
    assert found["server.port"] == (3200, WINS)
    assert found["server.host"] == ("127.0.0.1", "default")
    assert found["database.dsn"] == ("********", "environment PORTICO_DATABASE__DSN")


@pytest.mark.requirement("settings:file:validated")
def test_a_bad_file_exits_with_3_and_names_file_line_and_mend(
    user_file: Path, portico: Portico
) -> None:
    user_file.write_text("[server]\nport = 3100\nprot = 3200\n")

    code, _, told = portico("config validate")

    assert code == 3
    assert f"{user_file}:3" in told
    assert "did you mean server.port?" in told
    assert "fix" in told

    user_file.write_text("[server\n")
    code, _, told = portico("config validate --json")
    error = json.loads(told)["error"]
    assert (code, error["code"]) == (3, "invalid_settings")
    assert error["errors"][0]["field"] == str(user_file)
    assert error["fix"]


@pytest.mark.parametrize("by_flag", [True, False])
def test_the_file_in_force_is_the_one_that_is_shown_and_written(
    user_file: Path, portico: Portico, monkeypatch: pytest.MonkeyPatch, by_flag: bool
) -> None:
    user_file.write_text("this is [not toml")
    named = user_file.with_name("named.toml")
    named.write_text("# ours\n")
    option = f"--config {named}" if by_flag else ""
    if not by_flag:
        monkeypatch.setenv("PORTICO_CONFIG", str(named))

    assert portico(f"config set server.port 3300 {option}")[0] == 0

    assert "port = 3300" in named.read_text()
    assert user_file.read_text() == "this is [not toml"
    assert f"config_file\t{named}" in portico(f"config path {option}")[1]
    assert "server.port\t3300\n" in portico(f"config show {option}")[1]


def test_whoever_changes_a_setting_is_told_that_the_running_server_goes_on_without_it(
    portico: Portico,
) -> None:
    private = PorticoServices().whereabouts().private_socket
    assert private is not None
    private.parent.mkdir(parents=True, exist_ok=True)
    told = "The running server goes on with what it has: start it again for this to hold.\n"

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(private))
        listener.listen()
        assert portico("config set debate.cap_tokens 3000")[2] == told
        assert portico("config unset debate.cap_tokens")[2] == told

    assert portico("config set debate.cap_tokens 3000")[2] == ""


@pytest.mark.requirement("settings:change:keeps-the-rest")
def test_setting_a_value_keeps_comments_and_closes_the_file(
    user_file: Path, portico: Portico, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_LEVEL", "debug")
    text = '# mine\n[server]\nport = 3200 # ours\n[log]\nlevel = "${MY_LEVEL}"\n'
    user_file.write_text(text)

    assert portico("config set server.port 3300")[0] == 0

    assert user_file.read_text() == text.replace("3200", "3300")
    assert user_file.stat().st_mode & 0o077 == 0


def test_the_first_setting_makes_the_file(portico: Portico) -> None:
    assert portico("config set server.port 3300 --quiet")[0] == 0

    assert shown(portico)["server.port"][0] == 3300


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("set server.port 99999", "Nothing was written."),
        ("set log.level loud", "Nothing was written."),
        ("set server.prot 1", "Nothing was written."),
        ("set server.prot 1", "did you mean server.port?"),
        ("unset server.prot", "did you mean server.port?"),
        ("get server.prot", "did you mean server.port?"),
    ],
)
def test_an_invalid_setting_changes_nothing(
    user_file: Path, portico: Portico, command: str, said: str
) -> None:
    user_file.write_text(OURS)

    code, _, told = portico(f"config {command}")

    assert (code, user_file.read_text()) == (3, OURS)
    assert said in told


def test_a_file_that_is_a_link_stays_one(user_file: Path, portico: Portico, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("# mine\n")
    user_file.symlink_to(tmp_path / "dotfiles.toml")

    assert portico("config set server.port 3300")[0] == 0

    assert user_file.is_symlink()
    assert "port = 3300" in (tmp_path / "dotfiles.toml").read_text()


def test_what_wins_over_a_setting_is_told_when_it_is_set_or_unset(
    portico: Portico, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTICO_SERVER__PORT", "3200")

    assert portico("config set server.port 3300")[2] == f"… but {WINS} wins\n"
    assert portico("config unset server.port")[2] == f"… but {WINS} sets it\n"
    told = json.loads(portico("config set server.port 1 --json")[1])
    assert told["overruled_by"] == WINS

    monkeypatch.delenv("PORTICO_SERVER__PORT")
    assert portico("config set server.port 3300")[2] == ""


@pytest.mark.requirement("settings:change:keeps-the-rest")
@pytest.mark.requirement("settings:secrets:hidden")
def test_a_setting_is_got_and_taken_out_and_a_secret_is_not_got(
    user_file: Path, portico: Portico, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text(f"# mine\n{OURS}")
    monkeypatch.setenv("PORTICO_IDENTITY__PEPPER", "hunter2")

    assert portico("config get server.port")[:2] == (0, "3200\n")
    assert portico("config unset server.port")[0] == 0
    assert user_file.read_text() == "# mine\n[server]\n"
    usual = {"setting": "server.port", "value": 3100, "origin": "default"}
    assert json.loads(portico("config get server.port --json")[1]) == usual
    assert portico("config get identity.pepper")[1] == "********\n"


@pytest.mark.requirement("settings:sources:trust")
def test_a_file_that_came_with_a_folder_is_refused_with_its_line(
    portico: Portico, tmp_path: Path
) -> None:
    file = tmp_path / "project" / "portico.toml"
    file.write_text('[client]\nserver = "https://evil.example"\n')

    code, _, told = portico("status")

    assert code == 3
    assert f"{file}:2" in told
    assert "only in your own file, the environment or flags" in told


def test_the_schema_describes_every_section(portico: Portico) -> None:
    schema = json.loads(portico("config schema")[1])

    sections = (
        "server client database identity engine log telemetry embeddings gateway servers box web "
        "policy audit oauth limits approvals workflows ahead secrets models agents bridge debate"
    )
    assert set(schema["properties"]) == set(sections.split())
    port = schema["$defs"]["ServerSettings"]["properties"]["port"]
    assert (port["default"], port["description"]) == (3100, "Port to listen on.")


def test_paths_are_below_portico_home(portico: Portico, tmp_path: Path) -> None:
    paths = json.loads(portico("config path --json")[1])

    assert all(Path(path).is_relative_to(tmp_path) for path in paths.values())
