"""A stranger's text, made fit to stand on one line among ours: no markup, no second line."""

import re
from typing import Final

_MARKUP: Final = re.compile(r"(?:(?<=\s)|^)(?:[#>\u203a*+=~|_-]+|\d+\.)(?=\s|$)")
_EMPHASIS: Final = re.compile(r"\*{2,}|_{2,}(?=\s|$)|(?:(?<=\s)|^)_{2,}|~{2,}|`{3,}")
_INSTEAD: Final = str.maketrans({"`": "'", "<": "\u2039", ">": "\u203a", "[": "(", "]": ")"})
_END: Final = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<!etc)[.!?](?=\s+[^a-z\s]|\s*$)|[\u3002\uff01\uff1f]"
)
_BREAK: Final = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*#]|[\w ]{1,30}:[ \t]*(?:\n|$)))")
"""An empty line, or a list or a heading on the next one."""


def plain(text: str, longest: int) -> str:
    """On one line, cut at a word; nothing in it can begin a heading, a list, a quote, a code
    block or a tag, and brackets are left to us."""
    seen = "".join(char if char.isprintable() else " " for char in text)
    calm = _EMPHASIS.sub("", seen).translate(_INSTEAD)
    return cut(" ".join(_MARKUP.sub(" ", " ".join(calm.split())).split()), longest)


def first_sentence(text: str) -> str:
    """Of its first paragraph that has words in it."""
    paragraphs = (part.strip() for part in _BREAK.split(text))
    first = next((part for part in paragraphs if any(map(str.isalnum, part))), "")
    end = _END.search(first)
    return first[: end.end()] if end else first


def cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    words, space, _ = head.rpartition(" ")
    return f"{words.rstrip(' ,;:.') if space else head}…"
