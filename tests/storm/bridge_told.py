"""What somebody was told, as a text: all that any face could make of an answer or a refusal."""

import enum
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

from portico.bridge.core.attachment import Digest
from portico.kernel.errors import PorticoError
from portico.kernel.ids import Id
from portico.kernel.label import Label


def plain(thing: Any) -> Any:
    """As it would be written down for somebody."""
    match thing:
        case str() | int() | float() | None:
            return thing
        case Id() | Label() | Digest() | datetime() | timedelta() | enum.Enum():
            return str(thing)
        case bytes():
            return thing.decode("latin-1")
        case Mapping():
            return {str(name): plain(value) for name, value in thing.items()}
        case Sequence() | AbstractSet():
            return [plain(each) for each in thing]
        case _ if is_dataclass(thing):
            return {each.name: plain(getattr(thing, each.name)) for each in fields(thing)}
        case _:
            return str(thing)


def as_text(thing: object) -> str:
    return json.dumps(plain(thing))


def refusal(error: PorticoError) -> object:
    """All that a face could tell of it."""
    told = {name: value for name, value in vars(error).items() if not name.startswith("__")}
    return [type(error).__name__, error.code, str(error), error.fix, error.title, told]
