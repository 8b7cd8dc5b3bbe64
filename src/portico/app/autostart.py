"""What the system is told, to start the server when its user logs in."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from portico.adapters.system.autostart_units import AGENT, UNIT, launchd_agent, systemd_unit
from portico.app.app_context import AppContext
from portico.interfaces.cli.services import (
    AtLogin,
    NoBackground,
)
from portico.settings.load import process_environment

_TAKEN_ALONG: Final = ("PORTICO_HOME", "PORTICO_CONFIG")
"""Where things are. The others may be secret, and belong into the configuration."""
_PATH: Final = "PATH"
"""What the system gives is short: `npx`, `uvx` and others of the user's programs are not on it."""
_FLEETING: Final = ("/uv/archive-v", "/uv/environments-v", "/uv/builds-v")
"""Folders in which `uvx` keeps what it runs, for as long as it likes."""


def at_login(ground: AppContext) -> AtLogin:
    """Raises `NoBackground`."""
    environment = process_environment()
    variables = {
        name: _absolute(environment[name]) for name in _TAKEN_ALONG if environment.get(name)
    }
    if path := environment.get(_PATH):
        variables[_PATH] = path
    left_out = [
        name
        for name, value in environment.items()
        if name.startswith("PORTICO_") and name not in _TAKEN_ALONG and value
    ]
    command = [sys.executable, "-P", "-m", "portico", *_config(ground), "up", "--foreground"]
    fleeting = any(each in sys.executable for each in _FLEETING)
    if sys.platform == "darwin":
        words = ground.loaded.paths.log_file.with_name("launchd.log")
        file = Path.home() / "Library" / "LaunchAgents" / f"{AGENT}.plist"
        domain = f"gui/{os.getuid()}"
        return AtLogin(
            file=file,
            text=launchd_agent(command, variables, words),
            switch_on=f"launchctl bootstrap {domain} {file}",
            switch_off=f"launchctl bootout {domain}/{AGENT}",
            left_out=left_out,
            fleeting=fleeting,
        )
    if sys.platform == "win32":
        raise NoBackground("Windows has no login that Portico could be started at.")
    return AtLogin(
        file=_units(environment) / UNIT,
        text=systemd_unit(command, variables),
        switch_on=f"systemctl --user enable {UNIT}",
        switch_off=f"systemctl --user disable {UNIT}",
        left_out=left_out,
        fleeting=fleeting,
    )


def _units(environment: Mapping[str, str]) -> Path:
    given = environment.get("XDG_CONFIG_HOME", "")
    config = Path(given) if given.startswith("/") else Path.home() / ".config"
    return config / "systemd" / "user"


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _config(ground: AppContext) -> list[str]:
    return [] if ground.config is None else ["--config", str(ground.config.absolute())]
