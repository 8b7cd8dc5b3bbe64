"""Settings, from the command line."""

import json

from cyclopts import App

from portico.faces.cli.terminal import PLAIN, At

app = App(
    name="config",
    help="Show, check and change settings.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@app.command
def show(*, origin: bool = False, at: At) -> None:
    """Every setting and its value in force; secrets only as ********.

    Parameters
    ----------
    origin
        Also where each value came from: default, file and line, environment or flag.
    """
    entries = at.house.settings()
    rows = [
        {"setting": each.path, "value": each.value} | ({"origin": each.origin} if origin else {})
        for each in entries
    ]
    columns = ["setting", "value", "origin"] if origin else ["setting", "value"]
    at.table(columns, rows, {"settings": rows})


@app.command
def validate(*, at: At) -> None:
    """Check the configuration; exits with 3 and names file, line and mend if it is invalid."""
    entries = at.house.settings()
    at.data({"valid": True, "settings": len(entries)}, "The configuration is valid.")


@app.command
def schema(*, at: At) -> None:
    """The JSON Schema of portico.toml, for editors."""
    found = at.house.settings_schema()
    at.data(found, json.dumps(found, indent=2))


@app.command
def path(*, at: At) -> None:
    """Where the configuration, the key and the data are."""
    where = at.house.whereabouts()
    at.facts(
        {
            "config_file": str(where.config_file),
            "key_file": str(where.key_file),
            "data": str(where.data),
            "backups": str(where.backups),
        }
    )


@app.command(name="set")
def set_(setting: str, value: str, *, at: At) -> None:
    """Write one setting into your configuration file, and leave the rest of it alone.

    Parameters
    ----------
    setting
        Its path, as `config show` gives it: server.port
    value
        The new value.
    """
    file = at.house.change_setting(setting, value)
    at.data({"setting": setting, "file": str(file)}, f"{setting} is set in {file}")
