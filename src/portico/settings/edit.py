"""Change one setting in the user's file and leave every other byte of it alone."""

from collections.abc import Mapping, MutableMapping
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from portico.kernel.errors import Flaw
from portico.settings.errors import InvalidSettings
from portico.settings.load import kinds_of, known_paths


def with_setting(text: str, path: str, value: str, file: Path) -> str:
    """`text` with `path` set; a number or a truth value is written as one."""
    if "." not in path or path not in set(known_paths()):
        raise InvalidSettings([Flaw(path, "there is no such setting; see `portico config show`")])
    section, _, name = path.partition(".")
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise InvalidSettings([Flaw(str(file), f"not valid TOML: {error}")]) from error
    table = document.setdefault(section, tomlkit.table())
    if not isinstance(table, MutableMapping):
        raise InvalidSettings([Flaw(section, f"is not a table in {file}")])
    table[name] = _typed(path, value)
    return tomlkit.dumps(document)


def read_as_it_is(file: Path) -> str:
    """With its own line ends."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return stream.read()


def as_toml(tables: Mapping[str, Mapping[str, str]]) -> str:
    return tomlkit.dumps(tables)


def _typed(path: str, value: str) -> bool | int | str:
    """As what the setting is: a pepper of digits stays a text."""
    kinds = kinds_of(path)
    if bool in kinds and value in {"true", "false"}:
        return value == "true"
    return int(value) if int in kinds and value.isdecimal() else value


STARTER = """\
# Portico's configuration. Every setting, its default and its origin: portico config show --origin
# What a setting means: portico config schema. Check this file: portico config validate

[server]
# host = "127.0.0.1"
# port = 3100

[database]
# source = "auto"
"""
