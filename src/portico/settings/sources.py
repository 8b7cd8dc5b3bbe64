"""Where values come from: files, the environment, flags; each value remembers its origin."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.kernel.errors import Flaw
from portico.settings.errors import InvalidSettings, UnreadableSettings

PREFIX: Final = "PORTICO_"
_NOT_SETTINGS: Final = frozenset({"PORTICO_HOME", "PORTICO_CONFIG"})
_REFERENCE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Origin:
    """`default`, `environment PORTICO_…`, `flag --…`, or a file and the line in it."""

    text: str
    file: Path | None = None

    def line(self, path: str) -> int | None:
        return None if self.file is None else line_of(self.file.read_text(), path)

    def describe(self, path: str) -> str:
        line = self.line(path)
        return self.text if line is None else f"{self.text}:{line}"


@dataclass(frozen=True, slots=True)
class Value:
    value: object
    origin: Origin


Layer = Mapping[str, Value]
"""Values by dotted path: `server.port`."""


def from_file(file: Path, environment: Mapping[str, str]) -> Layer:
    """Empty if there is no such file. Raises `UnreadableSettings`, `InvalidSettings`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        parsed = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings([Flaw(str(file), f"not valid TOML: {error}")]) from error
    except UnicodeDecodeError as error:
        raise UnreadableSettings(f"{file} is not UTF-8.", fix="Save it as UTF-8.") from error
    except OSError as error:
        raise UnreadableSettings(
            f"{file} cannot be read: {error.strerror}.",
            fix="See that it is a file, and that you may read it.",
        ) from error
    origin = Origin(str(file), file)
    return {
        path: Value(_resolved(value, environment, f"{file}: {path}"), origin)
        for path, value in leaves(parsed)
    }


def from_environment(environment: Mapping[str, str]) -> Layer:
    """`PORTICO_SECTION__KEY`. An empty value counts as not set."""
    return {
        name.removeprefix(PREFIX).lower().replace("__", "."): Value(
            value, Origin(f"environment {name}")
        )
        for name, value in environment.items()
        if name.startswith(PREFIX) and "__" in name and name not in _NOT_SETTINGS and value
    }


def from_flags(flags: Mapping[str, object]) -> Layer:
    return {
        path: Value(value, Origin(f"flag --{path.rpartition('.')[2].replace('_', '-')}"))
        for path, value in flags.items()
        if value is not None
    }


def line_of(text: str, path: str) -> int | None:
    """The line on which `path` is set, found by reading ever more of the file.

    The TOML reader of the standard library knows no positions; what it can say is whether the
    first n lines hold a value, and the first n for which they do ends at that value.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    start = 1
    for count in range(1, len(lines) + 1):
        try:
            parsed = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        if path in dict(leaves(parsed)) or path in _sections(parsed):
            return start
        start = count + 1
    return None


def leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _sections(table: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield f"{prefix}{key}"
            yield from _sections(value, f"{prefix}{key}.")


def refers(value: object) -> bool:
    return isinstance(value, str) and _REFERENCE.search(value) is not None


def _resolved(value: object, environment: Mapping[str, str], where: str) -> object:
    """`${VAR}`, `${env:VAR}` and `${VAR:-default}` inside a string."""
    if not isinstance(value, str):
        return value

    def replacement(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in environment:
            return environment[name]
        if default is None:
            raise InvalidSettings([Flaw(where, f"the environment variable {name} is not set")])
        return default

    return _REFERENCE.sub(replacement, value)


def process_environment() -> Mapping[str, str]:
    return dict(os.environ)
