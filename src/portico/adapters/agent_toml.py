"""An agent as TOML: short values on one line, the instructions as they would be read."""

import tomllib
from collections.abc import Mapping
from typing import Final

import tomlkit
from tomlkit.items import Item, String, StringType, Trivia

from portico.agents.core.errors import InvalidAgentFile
from portico.kernel.json import JsonObject, JsonValue

LARGEST: Final = 300_000
_QUOTES: Final = '"""'
_OPENING: Final = "An agent of Portico; `portico agents import FILE` brings it in."


class TomlAgentFiles:
    def write(self, agent: JsonObject) -> str:
        document = tomlkit.document()
        document.add(tomlkit.comment(_OPENING))
        for name, value in agent.items():
            if isinstance(value, Mapping):
                document.add(tomlkit.nl())
                table = tomlkit.table()
                for its, each in value.items():
                    table.add(its, _item(each))
                document.add(name, table)
            else:
                document.add(name, _item(value))
        return tomlkit.dumps(document)

    def read(self, text: str) -> JsonObject:
        if len(text) > LARGEST:
            raise InvalidAgentFile(f"it is longer than {LARGEST:,} letters.")
        try:
            return tomllib.loads(text)  # ten times as fast as what writes it
        except (ValueError, RecursionError) as error:
            raise InvalidAgentFile(f"{error}") from error


def _item(value: JsonValue) -> Item:
    if isinstance(value, str) and "\n" in value and _plain(value):
        return _lines(value)
    return tomlkit.item(value)


def _lines(text: str) -> Item:
    """Its first line stands at the margin, as all others do: the line end before it is no part of
    it. Of one that begins with a line end the library knows that already."""
    written = tomlkit.string(text, multiline=True)
    if text.startswith("\n"):
        return written
    spelt = written.as_string().removeprefix(_QUOTES).removesuffix(_QUOTES)
    return String(StringType.MLB, text, f"\n{spelt}", Trivia())


def _plain(text: str) -> bool:
    """What no writer of several lines would have to spell otherwise."""
    return all(letter.isprintable() or letter == "\n" for letter in text)
