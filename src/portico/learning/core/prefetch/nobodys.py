"""Which values are nobody's, so that they may be written down as they are.

A yes and a small number are said by everybody; what stands in a tool's own definition is its
maker's; the vocabulary of SQL and patterns of paths are common property. Anything else, however
short, may be somebody's, and is not kept.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

from portico.kernel.json import JsonObject, JsonValue

_SMALL: Final = 100
_FEW: Final = 4
_LONGEST: Final = 200
_MOST: Final = 200
"""Values that are taken from one definition."""
_DEEPEST: Final = 8
_SAYS: Final = ("enum", "const", "default", "examples", "example")
_QUOTED: Final = re.compile(r"(?<!\w)(['\"`])([\w.-]{1,40})\1(?!\w)")
_WORD: Final = re.compile(r"\w+")
_WRITTEN_TOGETHER: Final = re.compile(r"\d\W\d")
"""Numbers that are one thing: a price, a date, a telephone."""
_EXTENSION: Final = re.compile(r"\*\.[a-z][a-z0-9]{0,3}\b")

_CLAUSES: Final = (
    "select distinct all from where group by having order asc desc nulls first last limit offset "
    "fetch with recursive as union intersect except values insert into update set delete returning "
    "join inner left right full outer cross natural on using lateral"
)
_CONDITIONS: Final = (
    "and or not is null true false in any some between exists like ilike glob escape collate "
    "case when then else end cast over partition filter window rows range"
)
_FUNCTIONS: Final = (
    "count sum avg min max total abs round coalesce nullif ifnull length lower upper trim replace "
    "substr substring concat extract date time datetime timestamp strftime interval "
    "current_date current_time current_timestamp row_number rank"
)
_CATALOGUE: Final = (
    "table column schema view index rowid explain pragma information_schema sqlite_master "
    "sqlite_schema pg_catalog"
)
_FIELDS: Final = (
    "author branch category code commit content created date description email error file folder "
    "hash id key kind label language line message modified name number owner parent path "
    "price priority project quantity query result size source state status subject summary tags "
    "text time title type updated url user value version"
)
FIELDS: Final = frozenset(_FIELDS.split())
"""Names that things have everywhere."""
SQL: Final = frozenset(f"{_CLAUSES} {_CONDITIONS} {_FUNCTIONS} {_CATALOGUE}".split())
"""Both in lower case."""


def nobodys(value: JsonValue, own: AbstractSet[str] = frozenset()) -> bool:
    """`own`: what the definition of its tool names, as `own_values` finds it."""
    match value:
        case str():
            return value in own or _common(value)
        case Mapping():
            return not value
        case Sequence():
            return len(value) <= _FEW and all(nobodys(item, own) for item in value)
        case None | bool():
            return True
        case float():
            return abs(value) <= _SMALL and (value.is_integer() or _share(value))
        case _:
            return abs(value) <= _SMALL


def _share(value: float) -> bool:
    """A part of one, in hundredths. What is greater may be a price or a place on the map."""
    return abs(value) <= 1 and round(value, 2) == value


def _common(text: str) -> bool:
    """Nothing but words that are common property, and what stands between words."""
    if len(text) > _LONGEST or "@" in text or ("/" in text and "*" not in text):
        return False
    if _WRITTEN_TOGETHER.search(text):
        return False
    return all(map(_common_word, _WORD.findall(_EXTENSION.sub("*", text))))


def _common_word(word: str) -> bool:
    """A single letter is the name of a column at most."""
    if word.isascii() and word.isdigit():
        return len(word) <= len(str(_SMALL)) and int(word) <= _SMALL
    return len(word) == 1 or word.lower() in SQL or word in FIELDS


def parameters_of(input_schema: JsonObject) -> AbstractSet[str]:
    """The names that a tool's definition lists."""
    listed = input_schema.get("properties")
    return listed.keys() if isinstance(listed, Mapping) else frozenset()


def own_values(input_schema: JsonObject) -> frozenset[str]:
    """The texts that a tool's definition names as values of its arguments."""
    return frozenset(islice(_said(input_schema, 0), _MOST))


def _said(schema: JsonValue, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    match schema:
        case Mapping():
            for key, inner in schema.items():
                yield from _said_at(key, inner, depth)
        case str():
            return
        case Sequence():
            for inner in schema:
                yield from _said(inner, depth + 1)
        case _:
            return


def _said_at(key: str, value: JsonValue, depth: int) -> Iterator[str]:
    if key in _SAYS:
        yield from _texts(value)
    elif key == "description" and isinstance(value, str):
        yield from (found[2] for found in _QUOTED.finditer(value))
    else:
        yield from _said(value, depth + 1)


def _texts(value: JsonValue) -> Iterator[str]:
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    yield from (item for item in values if isinstance(item, str) and len(item) <= _LONGEST)
