"""Units are as the system reads them."""

import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from portico.adapters.system.login_units import launchd_agent, switched, systemd_unit

COMMAND = ["/opt/my portico/bin/python$", "-P", "-m", "portico", "up", "--foreground"]
ODD = {"PORTICO_HOME": '/srv/50% "mine" $HOME\\x'}


def test_a_unit_of_systemd_quotes_what_systemd_would_read_otherwise() -> None:
    unit = systemd_unit(COMMAND, ODD).splitlines()

    assert 'ExecStart="/opt/my portico/bin/python$$" -P -m portico up --foreground' in unit
    assert 'Environment="PORTICO_HOME=/srv/50%% \\"mine\\" $HOME\\\\x"' in unit
    assert "KillMode=mixed" in unit  # else it would end the database before the server
    assert "WantedBy=default.target" in unit
    assert "RestartPreventExitStatus=75" in unit  # it gave up; 1 would be a fault of its own


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_itself_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    file = tmp_path / "portico.service"
    file.write_text(systemd_unit(["/bin/true", "a b"], {"PORTICO_HOME": "/srv/50%"}))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(file)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_an_agent_of_launchd_is_a_property_list_that_says_the_same() -> None:
    told = plistlib.loads(launchd_agent(COMMAND, ODD, Path("/var/log/it")).encode())

    assert told["ProgramArguments"] == COMMAND
    assert told["EnvironmentVariables"] == ODD
    assert told["RunAtLoad"] is True
    assert told["StandardErrorPath"] == "/var/log/it"
    assert "KeepAlive" not in told  # it is kept up by its own supervisor


def test_what_is_not_for_systemd_is_left_to_the_user() -> None:
    assert not switched("launchctl bootstrap gui/501 x")


def test_where_systemd_does_not_answer_it_is_left_to_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert not switched("systemctl --user enable portico.service")
    assert asked.read_text() == "--user show-environment\n"


def test_where_systemd_answers_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert switched("systemctl --user enable portico.service")
    assert asked.read_text().splitlines()[1:] == [
        "--user daemon-reload",
        "--user enable portico.service",
    ]
