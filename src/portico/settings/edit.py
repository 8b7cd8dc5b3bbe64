"""Change one setting in the user's file and leave every other byte of it alone."""

from collections.abc import Mapping, MutableMapping
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from portico.kernel.errors import FieldError
from portico.settings.load import InvalidSettings
from portico.settings.model import holds_tables, known_settings, suggestion, table_of, typed


def with_setting(text: str, path: str, value: str | list[str], file: Path) -> str:
    """`text` with `path` set; a number or a truth value is written as one. Raises
    `InvalidSettings`, also for what is a table, which is told how to be written."""
    if (table := table_of(path)) is not None:
        raise InvalidSettings([FieldError(path, _by_hand(path, table, file))])
    section, name = known_setting(path)
    document = _parsed(text, file)
    written = typed(path, value) if isinstance(value, str) else value
    _table(document, section, file)[name] = written
    changed = tomlkit.dumps(document)
    return changed if changed.endswith("\n") else f"{changed}\n"


def without_setting(text: str, path: str, file: Path) -> str:
    """`text` without a value for `path`; as it is if it has none. Raises `InvalidSettings`."""
    if table_of(path) not in {None, path}:
        raise InvalidSettings(
            [FieldError(path, f"is a part of a table: take it out of {file} by hand")]
        )
    section, name = known_setting(path)
    document = _parsed(text, file)
    if section in document:
        _table(document, section, file).pop(name, None)
    return tomlkit.dumps(document)


def known_setting(path: str) -> tuple[str, str]:
    """Its section and its name. Raises `InvalidSettings`."""
    if path not in set(known_settings()):
        raise InvalidSettings(
            [FieldError(path, "there is no such setting" + suggestion(path))],
            fix="Every setting there is: portico config show",
        )
    section, _, name = path.partition(".")
    return section, name


def read_as_it_is(file: Path) -> str:
    """With its own line ends."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return stream.read()


def as_toml(tables: Mapping[str, Mapping[str, str]]) -> str:
    return tomlkit.dumps(tables)


def _parsed(text: str, file: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise InvalidSettings([FieldError(str(file), f"not valid TOML: {error}")]) from error


def _by_hand(path: str, table: str, file: Path) -> str:
    """The value itself is not repeated: it may be secret."""
    names = path.removeprefix(table).strip(".").split(".", 1)
    entry = names[0] or "NAME"
    lines = [f"[{table}]", f"{tomlkit.key(entry).as_string()} = …"]
    if holds_tables(table):
        setting = names[1] if len(names) > 1 else "SETTING"
        lines = [f"[{table}.{tomlkit.key(entry).as_string()}]", f"{setting} = …"]
    return "\n".join([f"is a table, which is written into {file} by hand:", "", *lines, ""])


def _table(document: tomlkit.TOMLDocument, section: str, file: Path) -> MutableMapping[str, object]:
    table = document.setdefault(section, tomlkit.table())
    if not isinstance(table, MutableMapping):
        raise InvalidSettings([FieldError(section, f"must be a table: [{section}] ({file})")])
    return table


STARTER = """\
# Portico's configuration. Every setting, its default and its origin: portico config show --origin
# What a setting means: portico config schema. Check this file: portico config validate

[server]
# host = "127.0.0.1"
# port = 3100

[database]
# source = "auto"
"""
