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
from portico.settings.kinds import known_settings, typed

PREFIX: Final = "PORTICO_"
SERVERS: Final = "servers"
_TABLES: Final = frozenset(
    {
        "ahead.prices",
        "debate.programs",
        "limits.servers",
        "limits.tools",
        "models.providers",
        "oauth.scopes",
    }
)
"""Settings that are tables themselves, with names of the user's own in them."""
_NOT_SETTINGS: Final = frozenset({"PORTICO_HOME", "PORTICO_CONFIG"})
_FLAGS: Final[Mapping[str, str]] = {
    "server.host": "--host",
    "server.port": "--port",
    "log.level": "--log-level",
}
"""Settings by the flags that commands have for them."""
_REFERENCE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Origin:
    """`default`, `environment PORTICO_…`, `flag --…`, or a file and the line in it."""

    text: str
    file: Path | None = None

    def line(self, path: str) -> int | None:
        if self.file is None:
            return None
        return line_of(self.file.read_text(encoding="utf-8"), path)

    def describe(self, path: str) -> str:
        line = self.line(path)
        return self.text if line is None else f"{self.text}:{line}"


@dataclass(frozen=True, slots=True)
class Value:
    value: object
    origin: Origin


Layer = Mapping[str, Value]
"""Values by dotted path: `server.port`."""


def from_file(file: Path, environment: Mapping[str, str] | None) -> Layer:
    """Empty if there is no such file. `environment` of None: `${…}` in it is a text like any other.

    Raises `UnreadableSettings`, `InvalidSettings`.
    """
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
        path: Value(_resolved(value, environment, f"{file}: {path}", path), origin)
        for path, value in values_in(parsed)
    }


def from_environment(environment: Mapping[str, str]) -> Layer:
    """`PORTICO_SECTION__KEY`. An empty value counts as not set."""
    found = {
        name.removeprefix(PREFIX).lower().replace("__", "."): (name, value)
        for name, value in environment.items()
        if name.startswith(PREFIX) and "__" in name and name not in _NOT_SETTINGS and value
    }
    return {
        path: Value(typed(path, value), Origin(f"environment {name}"))
        for path, (name, value) in found.items()
    }


def almost_settings(environment: Mapping[str, str]) -> list[Flaw]:
    """Variables that would be settings with two underscores between section and key."""
    meant = {variable_of(path).replace("__", "_"): variable_of(path) for path in known_settings()}
    return [
        Flaw(name, f"there is no such setting; did you mean {meant[name]}? (environment {name})")
        for name, value in environment.items()
        if value and name in meant
    ]


def variable_of(path: str) -> str:
    return f"{PREFIX}{path.replace('.', '__')}".upper()


def from_flags(flags: Mapping[str, object]) -> Layer:
    return {
        path: Value(
            typed(path, value) if isinstance(value, str) else value, Origin(f"flag {_flag(path)}")
        )
        for path, value in flags.items()
        if value is not None
    }


def _flag(path: str) -> str:
    return _FLAGS.get(path, f"--{path.rpartition('.')[2].replace('_', '-')}")


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


def values_in(parsed: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """By dotted path. A server is one value: what it names of the environment is not filled in
    before it is started."""
    for section, table in parsed.items():
        if section == SERVERS and isinstance(table, dict):
            yield from ((f"{SERVERS}.{name}", entry) for name, entry in table.items())
        else:
            yield from leaves({section: table})


def leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict) and f"{prefix}{key}" not in _TABLES:
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


def _resolved(
    value: object, environment: Mapping[str, str] | None, where: str, path: str
) -> object:
    """`${VAR}`, `${env:VAR}` and `${VAR:-default}` inside a string."""
    if environment is None or not isinstance(value, str) or not refers(value):
        return value
    variables = environment

    def replacement(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in variables:
            return variables[name]
        if default is None:
            raise InvalidSettings([Flaw(where, f"the environment variable {name} is not set")])
        return default

    return typed(path, _REFERENCE.sub(replacement, value))


def process_environment() -> Mapping[str, str]:
    return dict(os.environ)
