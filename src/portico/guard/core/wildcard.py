"""Names with wildcards: `*` is any run of characters, dots too, `?` any one; case counts."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

_ANY: Final = "."
_ANY_BUT_A_STAR: Final = "[^*]"


def fits(name: str, wildcards: Iterable[str]) -> bool:
    """Whether any of them stands for the name."""
    return _any_of(tuple(wildcards)).fullmatch(name) is not None


def within(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Whether what the narrow ones stand for, each by itself, the wide ones stand for too.

    A wildcard is read like a name here, of which only a `*` takes in a `*`. It says no to some
    lists that name the same in a roundabout way, and never yes to one that names more.
    """
    return all(
        any(_pattern(each, _ANY_BUT_A_STAR).fullmatch(one) for each in wide) for one in narrow
    )


@lru_cache(maxsize=4096)
def _any_of(wildcards: tuple[str, ...]) -> re.Pattern[str]:
    """All of them in one: each decision asks it of every rule there is."""
    return re.compile(
        "|".join(f"(?:{_pattern(it, _ANY).pattern})" for it in wildcards) or "(?!)", re.DOTALL
    )


@lru_cache(maxsize=4096)
def _pattern(wildcard: str, one: str) -> re.Pattern[str]:
    """Each piece is taken at the first place it fits, for good: if any way fits, that one does.
    So no name takes longer than its length times the wildcard's, whatever the two are."""
    first, *rest = wildcard.split("*")
    if not rest:
        return re.compile(_piece(first, one), re.DOTALL)
    *middle, last = rest
    passed = "".join(f"(?>.*?{_piece(piece, one)})" for piece in middle if piece)
    return re.compile(f"{_piece(first, one)}{passed}.*{_piece(last, one)}", re.DOTALL)


def _piece(text: str, one: str) -> str:
    return one.join(re.escape(part) for part in text.split("?"))
