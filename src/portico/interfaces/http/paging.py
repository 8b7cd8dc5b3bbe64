"""Pages: so many at a time, and an opaque cursor to the next ones."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any, Final, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from portico.engine.core.errors import BadCursor

Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=200, description="Most items in this page.")]
After = Annotated[
    str | None, Query(max_length=200, description="`next` of the page before this one.")
]
DEFAULT_LIMIT: Final = 50


class Page(BaseModel, Generic[Item]):
    data: list[Item]
    next: str | None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"Page[{', '.join(_title(each) for each in params)}]"


def _title(item: Any) -> str:  # noqa: ANN401 # as pydantic has it
    """Of a variable, its name."""
    shape = isinstance(item, type) and issubclass(item, BaseModel)
    return str(item.model_config["title"] if shape else item)


def opaque(position: str) -> str:
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def position(cursor: str | None) -> str | None:
    """Raises `BadCursor`."""
    return None if cursor is None else _read(cursor, "ascii")


def text_position(cursor: str | None) -> str | None:
    """Where the position is somebody's own words. Raises `BadCursor`."""
    found = None if cursor is None else _read(cursor, "utf-8")
    if found is not None and "\0" in found:
        raise BadCursor
    return found


def _read(cursor: str, letters: str) -> str:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode(letters)
    except (binascii.Error, UnicodeError) as error:
        raise BadCursor from error


def next_cursor(found: Sequence[object], limit: int, last: str) -> str | None:
    """A full page may have a next one; asking costs less than counting."""
    return opaque(last) if len(found) == limit else None
