"""A tool and a question as words. All of it is strangers' text, so each part has a longest size."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_LONGEST_NAME: Final = 300
_LONGEST_DESCRIPTION: Final = 8_000
_LONGEST_PARAMETER: Final = 1_000
_MOST_PARAMETERS: Final = 100
_LONGEST_WORD: Final = 64
"""Longer ones are keys, hashes and padding, which nobody asks for."""

_JOINTS: Final = re.compile(r"[_\-./:]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_MARKS: Final = "\u0300-\u036f\u0900-\u0eff"
"""Accents and vowel signs, which stand beside letters without being letters."""
_WORD: Final = re.compile(rf"[{_IDEOGRAPHS}]|(?:[^\W_{_IDEOGRAPHS}]|[{_MARKS}])+")

_STOP_LIST: Final = """
a about after all also an and any are as assistance at be been but by can could d do does
finally find first for from give given has have he help her here his how i if im in into is it
its just know lastly let like ll looking m may me might more most my need next no not of on or
our out over please provide re s she should show so some specific t tell than that the their
them then there they this to up us use using ve want was we were what when where which who why
will with would you your additionally
"""
STOP_WORDS: Final = frozenset(_STOP_LIST.split())


FIELDS: Final = ("name", "description", "server", "parameter", "parameter description")


@dataclass(frozen=True, slots=True)
class ToolText:
    ref: str
    server: str
    name: str
    description: str
    parameters: tuple[tuple[str, str], ...]
    """Each parameter's name and what is said about it."""
    about_server: str


def split_identifier(text: str) -> str:
    """`getHTTPUser_byId` as `get HTTP User by Id`."""
    return _JOINTS.sub(" ", text)


def words(text: str) -> list[str]:
    """In lower case and in order, without those that say nothing. Where a script puts no spaces
    between words, each of its characters is one."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    found = _WORD.findall(split_identifier(plain).lower())
    return [word[:_LONGEST_WORD] for word in found if word not in STOP_WORDS]


def fields(tool: ToolText) -> tuple[str, ...]:
    """In the order of `FIELDS`."""
    parameters = tool.parameters[:_MOST_PARAMETERS]
    return (
        tool.name[:_LONGEST_NAME],
        tool.description[:_LONGEST_DESCRIPTION],
        tool.server[:_LONGEST_NAME],
        " ".join(name[:_LONGEST_NAME] for name, _ in parameters),
        " ".join(told[:_LONGEST_PARAMETER] for _, told in parameters),
    )


def dense_text(tool: ToolText) -> str:
    """What a model is given to make the tool's vector of."""
    name, description, server, *_ = fields(tool)
    called = split_identifier(f"{server} {name}").strip()
    named = [split_identifier(each[:_LONGEST_NAME]) for each, _ in tool.parameters]
    told = ", ".join(named[:_MOST_PARAMETERS])
    return f"{called}: {description}" + (f" Parameters: {told}" if told else "")


def server_text(tool: ToolText) -> str:
    about = tool.about_server[:_LONGEST_DESCRIPTION]
    return f"{split_identifier(tool.server[:_LONGEST_NAME])}: {about}"


def name_words(tool: ToolText) -> Sequence[str]:
    """What the tool and its server are called, each word once."""
    name, _, server, *_ = fields(tool)
    return list(dict.fromkeys(words(f"{server} {name}")))
