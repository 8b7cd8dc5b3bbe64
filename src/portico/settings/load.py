"""Read every source of settings once, the stronger over the weaker, and check the result."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, SecretStr, ValidationError

from portico.gateway.core.launch import referred
from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.settings.gateway import ServerEntry
from portico.settings.guard import meant, written
from portico.settings.model import Settings, known_settings, suggestion, typed
from portico.settings.paths import Paths, find_paths

# What is wrong with a configuration, with the place and the mend.
#
# PorticoError
# ├── InvalidSettings
# └── UnreadableSettings


class InvalidSettings(PorticoError):
    kind = Kind.INVALID
    code = "invalid_settings"
    title = "The configuration is invalid"
    fix = "Mend the lines named above, then check: portico config validate"

    def __init__(self, flaws: Sequence[FieldError], *, fix: str | None = None) -> None:
        super().__init__("; ".join(f"{flaw.field}: {flaw.message}" for flaw in flaws), fix=fix)
        self.field_errors = tuple(flaws)


class UnreadableSettings(PorticoError):
    kind = Kind.INVALID
    code = "unreadable_settings"
    title = "The configuration file cannot be read"


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


SettingsLayer = Mapping[str, Value]
"""Values by dotted path: `server.port`."""


def from_file(file: Path, environment: Mapping[str, str] | None) -> SettingsLayer:
    """Empty if there is no such file. `environment` of None: `${…}` in it is a text like any other.

    Raises `UnreadableSettings`, `InvalidSettings`.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        parsed = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings([FieldError(str(file), f"not valid TOML: {error}")]) from error
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


def from_environment(environment: Mapping[str, str]) -> SettingsLayer:
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


def almost_settings(environment: Mapping[str, str]) -> list[FieldError]:
    """Variables that would be settings with two underscores between section and key."""
    meant = {variable_of(path).replace("__", "_"): variable_of(path) for path in known_settings()}
    return [
        FieldError(
            name, f"there is no such setting; did you mean {meant[name]}? (environment {name})"
        )
        for name, value in environment.items()
        if value and name in meant
    ]


def variable_of(path: str) -> str:
    return f"{PREFIX}{path.replace('.', '__')}".upper()


def from_flags(flags: Mapping[str, object]) -> SettingsLayer:
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
            raise InvalidSettings(
                [FieldError(where, f"the environment variable {name} is not set")]
            )
        return default

    return typed(path, _REFERENCE.sub(replacement, value))


def process_environment() -> Mapping[str, str]:
    return dict(os.environ)


_DEFAULT: Final = Origin("default")
_FOR_A_PROJECT: Final = frozenset({"log.level", "log.format"})
"""What a file may decide that came with a folder: nothing that is trusted. Whether a log is kept,
and for how long, is: it may be asked what happened."""
_HALF_OPEN: Final = frozenset(path.partition(".")[0] for path in _FOR_A_PROJECT)


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    paths: Paths
    origins: Mapping[str, Origin]

    def origin(self, path: str) -> Origin:
        return self.origins.get(path, _DEFAULT)

    def leaves(self) -> Iterator[tuple[str, object]]:
        """Every setting with its value in force; a secret shows only that it is there."""
        for section, part in self.settings:
            if isinstance(part, BaseModel):
                for name, value in part:
                    told = "********" if isinstance(value, SecretStr) else value
                    yield f"{section}.{name}", told

    def secrets(self) -> Iterator[str]:
        """The values that are in force and must not be told."""
        for _, part in self.settings:
            # By hand: `dict` would take a field called `keys` for the method of a mapping.
            for _, value in part.items() if isinstance(part, Mapping) else part:
                if isinstance(value, SecretStr):
                    yield value.get_secret_value()
                elif isinstance(value, ServerEntry):
                    given = (*value.env.values(), *value.headers.values())
                    yield from (each for each in given if referred(each) is None)


def load(
    environment: Mapping[str, str],
    *,
    folder: Path,
    config: Path | None = None,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Flag over environment over `./portico.toml` over the user's file over default.

    `config` (or `PORTICO_CONFIG`) stands in the place of both files.
    Raises `InvalidSettings`, `UnreadableSettings`.
    """
    paths = find_paths(environment)
    layers = [from_file(paths.provisioned_file, environment)]
    layers += [from_file(_own_file_to_read(environment, config), environment)]
    named = named_file(environment, config)
    project = _project(folder / "portico.toml", paths.config_file) if named is None else {}
    layers += [{path: value for path, value in project.items() if not _trusted(path)}]
    layers += [from_environment(environment), from_flags(flags or {})]
    flaws = [*almost_settings(environment), *_refused(project), *_not_tables(layers)]
    merged: dict[str, Value] = {}
    for layer in layers:
        merged.update({path: value for path, value in layer.items() if not _is_a_section(path)})
    settings = _checked(merged, flaws)
    return Loaded(settings, paths, {path: value.origin for path, value in merged.items()})


def own_file(environment: Mapping[str, str], config: Path | None) -> Path:
    """The file that the user writes, whether it is there or not."""
    return named_file(environment, config) or find_paths(environment).config_file


def named_file(environment: Mapping[str, str], config: Path | None) -> Path | None:
    named = config or environment.get("PORTICO_CONFIG")
    return Path(named) if named else None


def check(text: str, file: Path) -> None:
    """Whether this would be a valid configuration file. Raises `InvalidSettings`.

    What refers to the environment is passed over: it may be another one when the file is read.
    """
    origin = Origin(str(file))
    found = {path: Value(value, origin) for path, value in values_in(tomllib.loads(text))}
    flaws = _not_tables([found])
    _checked(
        {
            path: value
            for path, value in found.items()
            if not refers(value.value) and not _is_a_section(path)
        },
        flaws,
    )


def _own_file_to_read(environment: Mapping[str, str], config: Path | None) -> Path:
    """If it was named, it must be there."""
    named = named_file(environment, config)
    if named is not None and not named.exists():
        raise UnreadableSettings(
            f"There is no configuration file {str(named)!r}.",
            fix="Name a file that exists, or leave --config and PORTICO_CONFIG away.",
        )
    return named or find_paths(environment).config_file


def _project(file: Path, own: Path) -> SettingsLayer:
    """What `./portico.toml` says, word by word: what refers to the environment could carry a
    secret out of it. Nothing if it is the user's own file."""
    return {} if _same(file, own) else from_file(file, None)


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _trusted(path: str) -> bool:
    section = path.partition(".")[0]
    if section in _HALF_OPEN and path not in set(known_settings()):
        return False  # no setting at all, and told as that
    return section in Settings.model_fields and path not in _FOR_A_PROJECT


def _refused(project: SettingsLayer) -> list[FieldError]:
    return [
        FieldError(
            path,
            "is for you to set, not for a folder: only in your own file, the environment or flags "
            f"({value.origin.describe(path)})",
        )
        for path, value in project.items()
        if _trusted(path)
    ]


def _not_tables(layers: Sequence[SettingsLayer]) -> list[FieldError]:
    return [
        FieldError(path, f"must be a table: [{path}] ({value.origin.describe(path)})")
        for layer in layers
        for path, value in layer.items()
        if _is_a_section(path)
    ]


def _is_a_section(path: str) -> bool:
    return path in Settings.model_fields


def _checked(merged: SettingsLayer, flaws: Sequence[FieldError] = ()) -> Settings:
    """Raises `InvalidSettings` with all that is wrong, `flaws` first."""
    tree: dict[str, object] = {}
    for path, value in merged.items():
        section, _, name = path.partition(".")
        inside = tree.setdefault(section, {})
        if name and isinstance(inside, dict):
            inside[name] = value.value
        else:
            tree[section] = value.value
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        flaws = [*flaws, *(_flaw(detail, merged) for detail in error.errors())]
    if flaws:
        raise InvalidSettings(flaws)
    return settings


def _flaw(detail: Mapping[str, object], merged: SettingsLayer) -> FieldError:
    location, context = detail["loc"], detail.get("ctx")
    parts = list(map(str, location)) if isinstance(location, tuple) else [str(location)]
    if isinstance(context, dict) and "setting" in context:
        parts.append(context["setting"])
    path = ".".join(parts)
    origin = next(
        (
            value.origin
            for key, value in merged.items()
            if key == path or key.startswith(f"{path}.") or path.startswith(f"{key}.")
        ),
        _DEFAULT,
    )
    message = str(detail["msg"]).removeprefix("Value error, ")
    in_a_rule = parts[:2] == ["policy", "rules"] and len(parts) > 2
    if detail["type"] == "extra_forbidden":
        near = meant(parts[-1]) if in_a_rule else suggestion(path)
        message = f"there is no such setting{near}"
    if not in_a_rule:
        return FieldError(path, f"{message} ({origin.describe(path)})")
    place, whose = written(parts[2:], merged["policy.rules"].value)
    return FieldError(place, f"{message} ({origin.describe('policy.rules')}{whose})")
