"""What helps, where the last words of a server give it away."""

import re
from collections.abc import Iterable
from typing import Final

_KNOWN: Final = [
    (
        re.compile(r"No module named 'mcp\.server\.fastmcp|cannot import name '\w+' from 'mcp[.']"),
        "It was written for an older SDK: run it with uvx --with 'mcp<2'.",
    ),
    (
        re.compile(r"npm (?:error|ERR!) (?:code )?E404|No matching distribution found"),
        "There is no such package: check its name and version.",
    ),
    (
        re.compile(r"EBADENGINE|Unsupported engine|requires? Node(?:\.js)? (?:>=|version)"),
        "It needs another version of Node.js.",
    ),
]


def advice(last_words: Iterable[str]) -> str | None:
    text = "\n".join(last_words)
    return next((fix for sign, fix in _KNOWN if sign.search(text)), None)
