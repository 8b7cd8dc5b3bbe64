"""Somebody else's words, with what would not be seen spelt out."""

import json
import unicodedata
from typing import Final

from portico.interfaces.console.wording import as_json
from portico.kernel.json import JsonObject

_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def seen(text: str) -> str:
    """What hides, or would turn the text around it, as its number; lines and tabs stay."""
    return "".join(f"\\u{{{ord(letter):x}}}" if _hides(letter) else letter for letter in text)


def one_line(text: str, most: int) -> str:
    told = seen(" ".join(text.split()))
    return told if len(told) <= most else f"{told[: most - 1]}…"


def sentence(text: str) -> str:
    """Rules give their reasons in half a sentence, people in a whole one."""
    told = seen(text).strip()
    return told[:1].upper() + told[1:] + ("" if told.endswith((".", "!", "?", "…")) else ".")


def seen_json(value: JsonObject) -> str:
    """The same value, to be edited: what hides is escaped as JSON has it."""
    text = as_json(dict(value))
    return "".join(json.dumps(each)[1:-1] if _hides(each) else each for each in text)


def _hides(letter: str) -> bool:
    return letter not in "\n\t" and unicodedata.category(letter) in _HIDDEN
