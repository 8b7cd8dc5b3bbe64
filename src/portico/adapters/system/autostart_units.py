"""Start something when its user logs in: a unit of systemd, a property list of launchd."""

import plistlib
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from portico.adapters.system.supervisor import GAVE_UP

UNIT: Final = "portico.service"
AGENT: Final = "portico.server"
_PATIENCE: Final = 30.0


def systemd_unit(command: Sequence[str], variables: Mapping[str, str]) -> str:
    """Ended by us, and by nobody else: the database in its group is for the server to stop."""
    environment = [f"Environment={_quoted(f'{name}={value}')}" for name, value in variables.items()]
    return "\n".join(
        [
            "[Unit]",
            "Description=Portico, one door for AI agents",
            "After=network.target",
            "",
            "[Service]",
            *environment,
            f"ExecStart={' '.join(map(_argument, command))}",
            "KillMode=mixed",
            "TimeoutStopSec=90",
            "Restart=on-failure",
            "RestartSec=5",
            "# It has given up by itself, and said why: portico status",
            f"RestartPreventExitStatus={GAVE_UP}",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )


def launchd_agent(command: Sequence[str], variables: Mapping[str, str], words: Path | None) -> str:
    told: dict[str, object] = {
        "Label": AGENT,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(variables),
        "RunAtLoad": True,
        "ProcessType": "Background",
        "ExitTimeOut": 90,
        "Umask": 0o077,
    }
    if words is not None:
        told["StandardErrorPath"] = str(words)
    return plistlib.dumps(told, sort_keys=False).decode()


def switched(command: str) -> bool:
    """Whether the system has heeded it. Where its manager does not answer it is left alone."""
    words = shlex.split(command)
    if words[0] != "systemctl" or not _answers():
        return False
    return all(_ran(shlex.split(each)) for each in ("systemctl --user daemon-reload", command))


def _answers() -> bool:
    return shutil.which("systemctl") is not None and _ran(
        ["systemctl", "--user", "show-environment"]
    )


def _ran(words: Sequence[str]) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 # the system's own, with words of ours
            words, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _quoted(word: str) -> str:
    """As systemd reads it, which takes a % for the beginning of something."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    plain = plain.replace("\n", "\\n")
    bare = plain == word and word and not any(each in word for each in " \t';")
    return word if bare else f'"{plain}"'


def _argument(word: str) -> str:
    """In a command a $ begins something too."""
    return _quoted(word.replace("$", "$$"))
