"""`portico config`: show, check, change settings."""

import json
import socket
from pathlib import Path
from typing import Final

from cyclopts import App

from portico.interfaces.cli.services import SettingChange
from portico.interfaces.cli.terminal import PLAIN, At, Terminal, shown
from portico.kernel.json import JsonObject

app = App(
    name="config",
    help="Show, check and change settings.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


_NOTICED: Final = ("gateway.imports", "servers.")
"""What a running server looks for by itself."""


@app.command(name="show", sort_key=1)
def show(*, origin: bool = False, at: At) -> None:
    """Every setting and its value in force; secrets only as ********.

    Parameters
    ----------
    origin
        Also where each value came from: default, file and line, environment or flag.
    """
    entries = at.services.settings()
    rows = [
        {"setting": each.path, "value": each.value} | ({"origin": each.origin} if origin else {})
        for each in entries
    ]
    columns = ["setting", "value", "origin"] if origin else ["setting", "value"]
    at.table(columns, rows, {"settings": rows})


@app.command(name="get", sort_key=2)
def get(setting: str, /, *, at: At) -> None:
    """One setting's value in force; a secret only as ********.

    Parameters
    ----------
    setting
        Its path, as `config show` gives it: server.port
    """
    found = at.services.setting(setting)
    told = {"setting": found.path, "value": found.value, "origin": found.origin}
    at.data(told, shown(found.value))


@app.command(name="validate", sort_key=5)
def validate(*, at: At) -> None:
    """Check the configuration; exits with 3 and names file, line and mend if it is invalid."""
    entries = at.services.settings()
    at.data({"valid": True, "settings": len(entries)}, "The configuration is valid.")


@app.command(name="schema", sort_key=6)
def schema(*, at: At) -> None:
    """The JSON Schema of portico.toml, for editors."""
    found = at.services.settings_schema()
    at.data(found, json.dumps(found, indent=2))


@app.command(name="path", sort_key=7)
def path(*, at: At) -> None:
    """Where the configuration, the key and the data are."""
    where = at.services.whereabouts()
    at.details(
        {
            "config_file": str(where.config_file),
            "key_file": str(where.key_file),
            "data": str(where.data),
            "backups": str(where.backups),
        }
    )


@app.command(name="set", sort_key=3)
def set_(setting: str, value: str, /, *, at: At) -> None:
    """Write one setting into your configuration file, and leave the rest of it alone.

    A running server goes on with what it has: start it again.

    Parameters
    ----------
    setting
        Its path, as `config show` gives it: server.port
    value
        The new value.
    """
    change = at.services.change_setting(setting, value)
    at.data(_told(setting, change), f"{setting} is set in {change.file}")
    if change.overruled_by:
        at.say(f"… but {change.overruled_by} wins")
    _say_what_runs(setting, at)


@app.command(name="unset", sort_key=4)
def unset(setting: str, /, *, at: At) -> None:
    """Take one setting out of your configuration file, and leave the rest of it alone.

    A running server goes on with what it has: start it again.

    Parameters
    ----------
    setting
        Its path, as `config show` gives it: server.port
    """
    change = at.services.change_setting(setting, None)
    at.data(_told(setting, change), f"{setting} is not set in {change.file}")
    if change.overruled_by:
        at.say(f"… but {change.overruled_by} sets it")
    _say_what_runs(setting, at)


def _say_what_runs(setting: str, at: Terminal) -> None:
    where = at.services.whereabouts()
    noticed = setting.startswith(_NOTICED)
    if not noticed and where.private_socket is not None and _answers(where.private_socket):
        at.say("The running server goes on with what it has: start it again for this to hold.")


def _answers(path: Path) -> bool:
    """Whether somebody listens there; what was left behind by a killed one does not."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _told(setting: str, change: SettingChange) -> JsonObject:
    return {
        "setting": setting,
        "file": str(change.file),
        "overruled_by": change.overruled_by,
    }
