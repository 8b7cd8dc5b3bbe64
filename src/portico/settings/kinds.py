"""Which settings there are, and what a text means for each of them."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final, get_args, get_origin

from pydantic import BaseModel

from portico.settings.model import Settings

_DECIMAL: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_TRUTHS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def known_paths() -> Iterator[str]:
    """Every setting by its dotted path, and every section."""
    for section, model in _sections():
        yield from (f"{section}.{name}" for name in model.model_fields)
        yield section


def known_settings() -> Iterator[str]:
    return (path for path in known_paths() if "." in path)


def table_of(path: str) -> str | None:
    """The table of entries with names of the user's own that this is, or is a part of."""
    return next((it for it in _tables() if f"{path}.".startswith(f"{it}.")), None)


def holds_tables(table: str) -> bool:
    """Whether each of its entries is a table, too."""
    return any(issubclass(kind, BaseModel) for kind in _kinds(_tables()[table]))


def suggestion(path: str) -> str:
    """What was meant by a setting that does not exist, to be put behind a sentence."""
    close = get_close_matches(path, list(known_paths()), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def typed(path: str, value: str) -> bool | float | str | list[str]:
    """As what the setting is: a pepper of digits stays a text."""
    kinds = kinds_of(path)
    if tuple in kinds:
        return [each for each in map(str.strip, value.split(",")) if each]
    if bool in kinds and value.lower() in _TRUTHS:
        return _TRUTHS[value.lower()]
    if float in kinds and _DECIMAL.fullmatch(value):
        return float(value)
    return int(value) if int in kinds and value.isascii() and value.isdecimal() else value


def kinds_of(path: str) -> set[type]:
    """The types that a setting's value may have, those of its literals included; none if there
    is no such setting."""
    section, _, name = path.partition(".")
    field = dict(_sections()).get(section, BaseModel).model_fields.get(name)
    return set() if field is None else set(_kinds(field.annotation))


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            yield section, model


def _tables() -> Mapping[str, object]:
    """What each of them is declared as."""
    tops = {name: field.annotation for name, field in Settings.model_fields.items()}
    inner = {
        f"{section}.{name}": field.annotation
        for section, model in _sections()
        for name, field in model.model_fields.items()
    }
    return {path: kind for path, kind in (tops | inner).items() if get_origin(kind) is Mapping}


def _kinds(annotation: object) -> Iterator[type]:
    parts = get_args(annotation)
    if get_origin(annotation) is tuple:
        yield tuple
        return
    if isinstance(annotation, type):
        yield annotation
    for part in parts:
        yield from _kinds(part) if isinstance(part, type) or get_args(part) else [type(part)]
