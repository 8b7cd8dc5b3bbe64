"""Answers that are made of others: lists, pairs, intervals, unions, matrices, inequalities."""

import re
from collections.abc import Callable
from typing import Final

KeyOf = Callable[[str], str]
"""Of one part."""

_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
_MATRIX: Final = re.compile(r"^\\begin\{([pbv]?matrix)\}(.*)\\end\{\1\}$", re.DOTALL)
_ROWS: Final = re.compile(r"\\(?=\\(?:frac|sqrt|pi|sin|cos|tan|theta))|\\\\|\\(?![a-zA-Z])")
"""Two backslashes; or one of them, as some cleaners leave it."""
_AND: Final = re.compile(r"\s*(?:,\s*)?\b(?:and|or)\b\s*", re.IGNORECASE)
_BOUND: Final = re.compile(r"^([a-z])(<=|>=|<|>)(.+)$")
_BETWEEN: Final = re.compile(r"^([^<>]+?)(<=|<)([a-z])(<=|<)([^<>]+)$")
_THOUSANDS: Final = re.compile(r"^[+-]?\d{1,3}(?:(?:,|\{,\})\d{3})+(?:\.\d+)?$")
_UNION: Final = "\u222a"
_MOST: Final = 64


def parted_key(text: str, key_of: KeyOf) -> str | None:
    """None where it is not made of parts."""
    matrix = _MATRIX.match(text)
    if matrix is not None:
        return _matrix_key(matrix.group(2), key_of)
    inequality = _inequality_key(text, key_of)
    if inequality is not None:
        return inequality
    united = _split(text.replace("\\cup", _UNION), _UNION)
    if len(united) > 1:
        return f"u:{_UNION.join(sorted(key_of(each) for each in united))}"
    return _bracketed_key(text, key_of) or _list_key(text, key_of)


def _matrix_key(inside: str, key_of: KeyOf) -> str:
    rows = [row for row in _ROWS.split(inside.strip()) if row.strip()]
    cells = [[key_of(cell.strip()) for cell in row.split("&")] for row in rows[:_MOST]]
    return f"m:{';'.join(','.join(row) for row in cells)}"


def _bracketed_key(text: str, key_of: KeyOf) -> str | None:
    """`(1,2)` is a point or an interval: its order and its brackets count. `{1,2}` is a set."""
    opened, inside, closed = _bracketed(text)
    if opened == "\\{":
        return _set_key(_split(inside, ","), key_of)
    if not opened:
        return None
    parts = _split(inside, ",")
    if len(parts) < 2 or _THOUSANDS.match(inside):
        return None
    return f"p:{opened}{','.join(key_of(each) for each in parts[:_MOST])}{closed}"


def _bracketed(text: str) -> tuple[str, str, str]:
    """What opens it, what is inside, what closes it; empty if it is not bracketed as a whole."""
    if text.startswith("\\{") and text.endswith("\\}"):
        return "\\{", text[2:-2], "\\}"
    if text.startswith("{") and text.endswith("}") and "," in text:
        return "\\{", text[1:-1], "\\}"
    if len(text) > 2 and text[0] in "([" and text[-1] in ")]" and _whole(text):
        return text[0], text[1:-1], text[-1]
    return "", "", ""


def _whole(text: str) -> bool:
    depth = 0
    for at, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth == 0:
            return at == len(text) - 1
    return False


def _list_key(text: str, key_of: KeyOf) -> str | None:
    """`2, 3` and `3 and 2`: the order of a bare list says nothing."""
    if _THOUSANDS.match(text):
        return None
    parts = _split(_AND.sub(",", text), ",")
    if len(parts) == 1 and "\\pm" in text:
        parts = [text.replace("\\pm", "+", 1), text.replace("\\pm", "-", 1)]
    return _set_key(parts, key_of) if len(parts) > 1 else None


def _set_key(parts: list[str], key_of: KeyOf) -> str:
    keys = {key_of(each.strip()) for each in parts[:_MOST] if each.strip()}
    return next(iter(keys)) if len(keys) == 1 else f"s:{','.join(sorted(keys))}"


def _split(text: str, at: str) -> list[str]:
    """By a sign that is in no bracket."""
    parts, depth, begun = [], 0, 0
    for place, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if char == at and depth == 0:
            parts.append(text[begun:place])
            begun = place + 1
    return [*parts, text[begun:]]


def _inequality_key(text: str, key_of: KeyOf) -> str | None:
    """`x > 5` is `(5, ∞)`."""
    plain = (
        text.replace("\\leq", "<=")
        .replace("\\geq", ">=")
        .replace("\\le", "<=")
        .replace("\\ge", ">=")
    ).replace(" ", "")
    if between := _BETWEEN.match(plain):
        low, left, _, right, high = between.groups()
        return f"p:{_edge(left, '(', '[')}{key_of(low)},{key_of(high)}{_edge(right, ')', ']')}"
    if bound := _BOUND.match(plain):
        _, sign, edge = bound.groups()
        if sign[0] == ">":
            return f"p:{_edge(sign, '(', '[')}{key_of(edge)},n:infinity)"
        return f"p:(n:-infinity,{key_of(edge)}{_edge(sign, ')', ']')}"
    return None


def _edge(sign: str, without: str, within: str) -> str:
    return within if sign.endswith("=") else without
