"""The single values of a description: what can be seen of each, and what stays where it is."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.gateway.core.client_files.document import pointer_to
from portico.gateway.core.client_files.entry import Entry, LeftOut, Place
from portico.gateway.core.client_files.secrecy import harmless, hides_a_secret, looks_secret
from portico.gateway.core.client_files.variables import (
    Unknown,
    built_in_at,
    pieces,
    variable_for,
)
from portico.gateway.core.pin import decides_the_code
from portico.gateway.core.server import FromEnvironment, FromFile, Plain, Template, Value
from portico.gateway.core.written_value import referred

_WHOLE_FILE: Final = re.compile(r"\$\{file:(/[^{}]+)\}")

Parts = list[str | FromEnvironment]


@dataclass(slots=True)
class Values:
    """Every method raises `LeftOut`."""

    entry: Entry
    place: Place
    _asked: dict[str, str] = field(default_factory=dict)
    _unseen: dict[str, None] = field(default_factory=dict)

    def argument(self, text: str, before: str, number: int) -> Value:
        if self.entry.refers and (found := referred(text)) is not None:
            return found
        parts = self.parts(text)
        written = _without_variables(parts)
        if looks_secret(text, before) if written == text else hides_a_secret(written):
            return self.reference(text, "args", number)
        match parts:
            case [FromEnvironment() as only]:
                return only
            case _ if all(isinstance(each, str) for each in parts):
                return Plain(written)
            case _:
                return Template(tuple(parts))

    def given(self, kind: str, name: str, text: str) -> Value:
        """What stands in an environment or in headers."""
        if self.entry.refers and (found := referred(text)) is not None:
            return found
        if self.entry.spelling and (file := _WHOLE_FILE.fullmatch(text)):
            return FromFile(file[1], "")
        parts = self.parts(text)
        if len(parts) == 1 and isinstance(parts[0], FromEnvironment) and not parts[0].default:
            return parts[0]
        if kind == "env" and decides_the_code(name) and not looks_secret(text, f"--{name}"):
            return Plain(text) if parts == [text] else Template(tuple(parts))
        named = [each.variable for each in parts if isinstance(each, FromEnvironment)]
        if named and harmless(_without_variables(parts)):
            return Template(tuple(parts))
        self._unseen.update(dict.fromkeys(named))
        return self.reference(text, kind, name)

    def reference(self, text: str, *names: str | int) -> FromFile:
        pointer = self.entry.pointer + pointer_to(*names)
        plain = self.parts(text) in ([text], [])
        return FromFile(self.place.path, pointer, None if plain else self.entry.spelling)

    def known_now(self, kind: str, text: str) -> str:
        """A program or a folder is a text when it is approved: its variables are filled in."""
        found = ""
        for each in self.parts(text):
            value = each if isinstance(each, str) else self._set(each)
            if value is None:
                raise LeftOut(f"its {kind} names a variable that is not set")
            found += value
        if not found.strip():
            raise LeftOut(f"its {kind} is empty")
        return found

    def parts(self, text: str) -> Parts:
        parts: Parts = []
        around = built_in_at(self.place.path, self.place.home)
        for each in pieces(text, self.entry.spelling, around):
            if isinstance(each, Unknown):
                raise LeftOut(f"it names {each.text}, which only its client knows")
            parts.append(each)
        self._remember_questions(text)
        return parts

    def notes(self) -> Iterator[str]:
        """What its client would ask for, and what it is given without being seen in its launch."""
        for question, variable in self._asked.items():
            yield f"asks for {question!r}: set {variable} in the environment of Portico"
        if self._unseen:
            yield f"is given the variables {', '.join(self._unseen)}"

    def _set(self, variable: FromEnvironment) -> str | None:
        return self.place.environment.get(variable.variable) or variable.default

    def _remember_questions(self, text: str) -> None:
        if self.entry.spelling == "env":
            for asked in text.split("${input:")[1:]:
                question = asked.partition("}")[0]
                self._asked[question] = variable_for(question)


def _without_variables(parts: Sequence[str | FromEnvironment]) -> str:
    return "".join(each if isinstance(each, str) else (each.default or "") for each in parts)
