"""Values that stand inside a line of text, and of what kind each looks to be."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_LONGEST: Final = 1_000
"""Characters of a line."""
_TOKEN: Final = re.compile(r"[^\s'\"`,;<>()\[\]{}=|]+")
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
    for found in _TOKEN.finditer(line):
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
