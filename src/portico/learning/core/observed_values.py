"""Values that calls have shown, and those that belong to nobody."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final

from portico.gateway.core.inferred_schema import names_a_field
from portico.gateway.core.results import item, member
from portico.kernel.json import JsonObject, JsonValue

LONGEST: Final = 60_000
"""Characters of an answer that are looked at."""
_MOST: Final = 200
"""Documents that stand one after another."""
_TOKEN: Final = re.compile(
    r"""'(?>(?:[^'\\]++|\\.)*)(?:'|\\?\Z)|"(?>(?:[^"\\]++|\\.)*)(?:"|\\?\Z)"""
    r"""|\b(?:True|False|None)\b|[()]""",
    re.DOTALL,
)
"""A text that is not closed goes to the end, so that no letter is looked at twice."""
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_AS_JSON: Final = {"True": "true", "False": "false", "None": "null", "(": "[", ")": "]"}
_TEXT: Final = re.compile(r"\s|^[\[{(]")
_BETWEEN: Final = re.compile(r"[ \r\n\t,]+")
_LONE_COMMA: Final = re.compile(r",\s*\]")


def reading(document: JsonObject) -> JsonValue:
    """Values if it has any; else its text."""
    structured = document.get("json")
    text = _wrapped(structured)
    if text is None and structured is not None:
        return structured
    if text is None:
        found = document.get("text")
        text = found if isinstance(found, str) else ""
    text = text[:LONGEST]
    values = _values(text.strip())
    return text if values is None else values


def _wrapped(value: JsonValue) -> str | None:
    """The text of a result that is nothing but a text in an envelope; a single word is a value
    with a name."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value if isinstance(value, str) else None
    (only,) = value.values()
    return only if isinstance(only, str) and _TEXT.search(only) else None


def _values(text: str) -> JsonValue:
    if not text.startswith(("[", "{", "(")):
        return None
    found = _one_after_another(text)
    return found if found is not None else _parsed(_from_python(text))


def _one_after_another(text: str) -> JsonValue:
    decoder, found, at = json.JSONDecoder(), list[JsonValue](), 0
    while at < len(text) and len(found) < _MOST:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.append(value)
        between = _BETWEEN.match(text, at)
        at = at if between is None else between.end()
    return found[0] if len(found) == 1 else found


def _from_python(text: str) -> str:
    return _LONE_COMMA.sub("]", _TOKEN.sub(_token, text))


def _token(found: re.Match[str]) -> str:
    token = found[0]
    if token[0] not in "'\"":
        return _AS_JSON[token]
    return json.dumps(_ESCAPE.sub(_escaped, token[1:-1]))


def _escaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found[1], found[1])


def _parsed(text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


_LONGEST: Final = 1_000
"""Characters of a line."""
_SPOKEN_TOKEN: Final = re.compile(r"[^\s'\"`,;<>()\[\]{}=|]+")
_QUOTED: Final = re.compile(r"'([^'\n]{1,120})'|\"([^\"\n]{1,120})\"|`([^`\n]{1,120})`")
_TRAILING: Final = ".:?!*"
_KINDS: Final = (
    ("url", re.compile(r"[a-z]{2,8}://.+")),
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}")),
    ("zone", re.compile(r"[A-Z][A-Za-z]{1,20}/[A-Z][A-Za-z_]{1,30}")),
    ("path", re.compile(r"(?:~|\.{1,2})?/.+")),
    ("inner", re.compile(r"[^/]+/.+")),
    ("date", re.compile(r"\d{4}-\d\d-\d\d(?:T.*)?")),
    ("time", re.compile(r"\d{1,2}:\d\d(?::\d\d)?")),
    ("number", re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")),
    ("hash", re.compile(r"[0-9a-f]{7,64}")),
    ("file", re.compile(r"[\w-][\w.-]{0,120}\.[A-Za-z][A-Za-z0-9]{0,7}")),
    ("ident", re.compile(r"(?=.*?(?:[_\d-]|[a-z][A-Z]))[\w-]+")),
    ("name", re.compile(r"[A-Z][^\W\d_]+")),
    ("word", re.compile(r"[^\W\d_]{2,}")),
)
_SORTS: Final = {
    "url": "u",
    "email": "e",
    "zone": "z",
    "path": "p",
    "inner": "i",
    "date": "d",
    "time": "d",
    "number": "n",
    "hash": "h",
}
_ANNOUNCING: Final = (
    "in of for from to at on about with into under by named called between and or via the is where "
    "like table column file folder directory project repository branch commit path query user"
)
_MARKERS: Final = frozenset(_ANNOUNCING.split())
"""Words after which a value stands; they are everybody's."""


def spoken(line: str) -> Iterator[tuple[str, str]]:
    """Each with its kind; one after a word that announces values is also `<word`."""
    line = line[:_LONGEST]
    before = ""
    for found in _QUOTED.finditer(line):
        yield "quoted", found[1] or found[2] or found[3]
    for found in _SPOKEN_TOKEN.finditer(line):
        token = found[0].rstrip(_TRAILING)
        if not token:
            continue
        if before in _MARKERS:
            yield f"<{before}", token
        yield _kind(token), token
        before = token.lower()


def _kind(token: str) -> str:
    return next((kind for kind, form in _KINDS if form.fullmatch(token)), "other")


@lru_cache(maxsize=8_192)
def sort_of(value: str | float) -> str:
    """Roughly what a value looks to be, so that no word is taken where a path is wanted."""
    if not isinstance(value, str):
        return "n"
    if len(value) > _LONGEST:
        return "t"
    return _SORTS.get(_kind(value), "t" if " " in value else "w")


# Which values are nobody's, so that they may be written down as they are.
#
# A yes and a small number are said by everybody; what stands in a tool's own definition is its
# maker's; the vocabulary of SQL and patterns of paths are common property. Anything else, however
# short, may be somebody's, and is not kept.

_SMALL: Final = 100
_FEW: Final = 4
_NOBODYS_LONGEST: Final = 200
_DEEPEST: Final = 8
_SAYS: Final = ("enum", "const", "default", "examples", "example")
_NOBODYS_QUOTED: Final = re.compile(r"(?<!\w)(['\"`])([\w.-]{1,40})\1(?!\w)")
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
    if len(text) > _NOBODYS_LONGEST or "@" in text or ("/" in text and "*" not in text):
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
        yield from (found[2] for found in _NOBODYS_QUOTED.finditer(value))
    else:
        yield from _said(value, depth + 1)


def _texts(value: JsonValue) -> Iterator[str]:
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    yield from (item for item in values if isinstance(item, str) and len(item) <= _NOBODYS_LONGEST)


# The values of an answer, of arguments, of words, each with the place that it stands at.
#
# A place is written so that it is the same in every answer of a tool: `json.items[0].id` is the id
# of any item, `text|[FILE]|1` the second word of any line that begins with `[FILE]`, `text~path`
# any path in a text, `text<in` what stands after "in".

Value = str | int | float

_POOLS_LONGEST: Final = 500
_LONGEST_PLACE: Final = 160
_MOST_VALUES: Final = 800
_MOST_A_PLACE: Final = 150
_MOST_PLACES: Final = 120
_LINES: Final = 200
_COLUMNS: Final = 7
_AROUND: Final = "'\",;:()[]{}<>"
_MARK: Final = re.compile(
    r"\[(?:FILE|DIR|LINK)\]|[-+*#@=>|.]{1,4}|commit|diff|index|modified|new|deleted"
)
"""What lines begin with everywhere; any other word there is the text's own."""


@dataclass(slots=True)
class Pool:
    """What stands at one place, in its order, with the row (item, line) that it stands in."""

    values: list[Value] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Pools:
    places: dict[str, Pool] = field(default_factory=dict)
    held: int = 0
    rows: int = 0

    def put(self, place: str, value: Value, row: int) -> None:
        if self.held >= _MOST_VALUES or len(place) > _LONGEST_PLACE:
            return
        if isinstance(value, str) and not 0 < len(value) <= _POOLS_LONGEST:
            return
        pool = self.places.get(place)
        if pool is None:
            if len(self.places) >= _MOST_PLACES:
                return
            pool = self.places[place] = Pool()
        if len(pool.values) < _MOST_A_PLACE:
            pool.values.append(value)
            pool.rows.append(row)
            self.held += 1

    def row(self, within: int | None) -> int:
        """A new one for what stands in none yet."""
        if within is not None:
            return within
        self.rows += 1
        return self.rows


def answered(value: JsonValue) -> Pools:
    """Of what a tool gave, as `readings.reading` reads it."""
    pools = Pools()
    _walk(pools, value, "text" if isinstance(value, str) else "json", 0, None)
    return pools


def given(arguments: JsonValue) -> Pools:
    pools = Pools()
    _walk(pools, arguments, "given", 0, None)
    return pools


def said(texts: Sequence[str]) -> Pools:
    """Of the caller's words: the latest first."""
    pools = Pools()
    for text in reversed(texts):
        for kind, value in spoken(text):
            pools.put(f"said{kind}" if kind.startswith("<") else f"said~{kind}", value, 0)
    return pools


def _walk(pools: Pools, value: JsonValue, path: str, depth: int, row: int | None) -> None:
    if depth > _DEEPEST or pools.held >= _MOST_VALUES:
        return
    match value:
        case None | bool():
            return
        case str():
            _text(pools, value, path, row)
        case int() | float():
            pools.put(path, value, row or 0)
        case Mapping():
            _members(pools, value, path, depth, row)
        case _:
            for inner in value[:_MOST_A_PLACE]:
                _walk(pools, inner, item(path), depth + 1, pools.row(row))


def _members(
    pools: Pools, value: Mapping[str, JsonValue], path: str, depth: int, row: int | None
) -> None:
    listed = _listed(value)
    for key, inner in islice(value.items(), _MOST_A_PLACE):
        if not listed and names_a_field(key):
            _walk(pools, inner, member(path, key), depth + 1, row)
        else:
            at = pools.row(row)
            pools.put(f"{path}!", key, at)
            _walk(pools, inner, f"{path}.*", depth + 1, at)


def _listed(value: Mapping[str, JsonValue]) -> bool:
    """Whether it is a list of things that are alike, so that its keys are data."""
    kinds = {tuple(sorted(it)) if isinstance(it, Mapping) else None for it in value.values()}
    return len(value) > 1 and len(kinds) == 1 and None not in kinds


def _text(pools: Pools, text: str, path: str, row: int | None) -> None:
    if len(text) <= _POOLS_LONGEST:
        pools.put(path, text.strip(), row or 0)
    if len(text.split(maxsplit=1)) < 2:
        return
    for line in text.split("\n", _LINES)[:_LINES]:
        at = pools.row(row)
        _columns(pools, line, path, at)
        for kind, value in spoken(line):
            if kind not in {"word", "other"}:
                pools.put(f"{path}{kind}" if kind[0] == "<" else f"{path}~{kind}", value, at)


def _columns(pools: Pools, line: str, path: str, row: int) -> None:
    tokens = line[:_POOLS_LONGEST].split(maxsplit=_COLUMNS)
    if not tokens:
        return
    mark = _mark(tokens[0])
    if mark and len(tokens) > 1:
        pools.put(f"{path}|{mark}|", line[:_POOLS_LONGEST].split(maxsplit=1)[1].strip(), row)
    for number, token in enumerate(tokens[:_COLUMNS]):
        pools.put(f"{path}|{mark}|{number}", token.strip(_AROUND), row)


def _mark(token: str) -> str:
    """What a line begins with, if that says what kind of line it is."""
    named = token.endswith(":") and token[:-1].lower() in FIELDS
    return token if named or _MARK.fullmatch(token) else ""
