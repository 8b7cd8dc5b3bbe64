"""Columns of JSON, read by the quicker of two ways: a page may read thousands of them."""

import json

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.types.json import set_json_loads
from pydantic_core import from_json

from portico.kernel.json import JsonValue


async def read_quickly(connection: AsyncConnection[DictRow]) -> None:
    set_json_loads(loads, connection)


def loads(text: str | bytes) -> JsonValue:
    """The quick way knows no lone surrogates and goes 200 deep; what it does not take goes the way
    of the standard library."""
    try:
        found: JsonValue = from_json(text)
    except ValueError:
        found = json.loads(text)
    return found
