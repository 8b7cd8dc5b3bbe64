"""A program that can be a voice: what starts it, and how it is spoken to."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from portico.adapters.cli_debaters.claude import Claude
from portico.adapters.cli_debaters.codex import Codex
from portico.adapters.cli_debaters.dialect import Dialect
from portico.adapters.cli_debaters.gemini import Gemini
from portico.adapters.mcp.environment import scrubbed
from portico.kernel.label import Label, Level

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {"claude": Claude(), "codex": Codex(), "gemini": Gemini()}
)
USUAL: Final[Mapping[str, str]] = MappingProxyType({name: name for name in DIALECTS})
CLEARANCE: Final = Label(Level.TEAM)
"""What they are told goes to whoever made them, as with any provider that is not here."""
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    name: str
    command: tuple[str, ...]
    dialect: Dialect

    def environment(self, ours: Mapping[str, str]) -> dict[str, str]:
        """Of our own, what it needs to find itself, its settings and its login. The world is behind
        a proxy for some: it goes there as whoever runs Portico would."""
        return scrubbed(ours, [*self.dialect.variables, *_PROXIES])


def programs_of(commands: Mapping[str, str]) -> Mapping[str, Program]:
    """By their names, as the settings have them. How one is spoken to is known by its name, or by
    that of the file it is started by; of which nobody knows that, is left out."""
    found = {}
    for name, text in commands.items():
        command = tuple(_split(text))
        dialect = None if not command else _dialect(name, command)
        if dialect is not None:
            found[name] = Program(name=name, command=command, dialect=dialect)
    return found


def _dialect(name: str, command: tuple[str, ...]) -> Dialect | None:
    for each in (name, *(Path(part).stem for part in command)):
        for known, dialect in DIALECTS.items():
            if each == known or each.startswith(f"{known}-"):
                return dialect
    return None


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []
