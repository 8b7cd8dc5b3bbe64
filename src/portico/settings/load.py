"""Read every source once, the stronger over the weaker, and check the result."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, SecretStr, ValidationError

from portico.kernel.errors import Flaw
from portico.settings.errors import InvalidSettings, UnreadableSettings
from portico.settings.model import Settings
from portico.settings.paths import Paths, find_paths
from portico.settings.sources import (
    Layer,
    Origin,
    Value,
    from_environment,
    from_file,
    from_flags,
    leaves,
    refers,
)

_DEFAULT = Origin("default")


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    paths: Paths
    origins: Mapping[str, Origin]

    def origin(self, path: str) -> Origin:
        return self.origins.get(path, _DEFAULT)

    def leaves(self) -> Iterator[tuple[str, object]]:
        """Every setting with its value in force; a secret shows only that it is there."""
        for section in type(self.settings).model_fields:
            part = getattr(self.settings, section)
            for name in type(part).model_fields:
                value = getattr(part, name)
                yield f"{section}.{name}", "********" if isinstance(value, SecretStr) else value


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
    files = _files(environment, paths, folder, config)
    layers = [from_file(paths.provisioned_file, environment)]
    layers += [from_file(file, environment) for file in files]
    layers += [from_environment(environment), from_flags(flags or {})]
    merged: dict[str, Value] = {}
    for layer in layers:
        merged.update(layer)
    return Loaded(_checked(merged), paths, {path: value.origin for path, value in merged.items()})


def check(text: str, file: Path) -> None:
    """Whether this would be a valid configuration file. Raises `InvalidSettings`.

    What refers to the environment is passed over: it may be another one when the file is read.
    """
    origin = Origin(str(file))
    found = leaves(tomllib.loads(text))
    _checked({path: Value(value, origin) for path, value in found if not refers(value)})


def _files(
    environment: Mapping[str, str], paths: Paths, folder: Path, config: Path | None
) -> list[Path]:
    named = config or environment.get("PORTICO_CONFIG")
    if not named:
        return [paths.config_file, folder / "portico.toml"]
    if not Path(named).exists():
        raise UnreadableSettings(
            f"There is no configuration file {str(named)!r}.",
            fix="Name a file that exists, or leave --config and PORTICO_CONFIG away.",
        )
    return [Path(named)]


def _checked(merged: Layer) -> Settings:
    tree: dict[str, object] = {}
    for path, value in merged.items():
        section, _, name = path.partition(".")
        inside = tree.setdefault(section, {})
        if name and isinstance(inside, dict):
            inside[name] = value.value
        else:
            tree[section] = value.value
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise InvalidSettings([_flaw(detail, merged) for detail in error.errors()]) from None


def _flaw(detail: Mapping[str, object], merged: Layer) -> Flaw:
    location = detail["loc"]
    path = ".".join(map(str, location)) if isinstance(location, tuple) else str(location)
    origin = next(
        (
            value.origin
            for key, value in merged.items()
            if key == path or key.startswith(f"{path}.")
        ),
        _DEFAULT,
    )
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        message = "there is no such setting" + _suggestion(path)
    return Flaw(path, f"{message} ({origin.describe(path)})")


def _suggestion(path: str) -> str:
    close = get_close_matches(path, list(known_paths()), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def kinds_of(path: str) -> set[type]:
    """The types that a setting's value may have, those of its literals included."""
    section, _, name = path.partition(".")
    model = Settings.model_fields[section].annotation
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return set()
    return set(_kinds(model.model_fields[name].annotation))


def _kinds(annotation: object) -> Iterator[type]:
    parts = get_args(annotation)
    if isinstance(annotation, type):
        yield annotation
    for part in parts:
        yield from _kinds(part) if isinstance(part, type) or get_args(part) else [type(part)]


def known_paths() -> Iterator[str]:
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            yield from (f"{section}.{name}" for name in model.model_fields)
            yield section
