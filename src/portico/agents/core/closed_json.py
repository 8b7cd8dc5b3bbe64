"""Whether a JSON object that is still coming in has closed, told at its very last character."""

from dataclasses import dataclass, replace
from typing import Final

_OPENS: Final = frozenset("{[")
_CLOSES: Final = frozenset("}]")
_BLANK: Final = frozenset(" \t\n\r")


@dataclass(frozen=True, slots=True)
class Scan:
    """What has been read so far, without having kept it. Of what is no JSON it may say anything:
    whoever acts on `closed` reads it as JSON first."""

    depth: int = 0
    quoted: bool = False
    escaped: bool = False
    begun: bool = False
    closed: bool = False
    spoilt: bool = False
    """Something stood where nothing may: before the object, or after it."""

    def after(self, text: str) -> "Scan":
        """Having read this, too."""
        scan = self
        for letter in text:
            scan = scan._after(letter)
        return scan

    def _after(self, letter: str) -> "Scan":
        if self.quoted:
            return self._in_string(letter)
        if letter in _BLANK or self.spoilt:
            return self
        if self.closed or (not self.begun and letter != "{"):
            return replace(self, closed=False, spoilt=True)
        if letter == '"':
            return replace(self, quoted=True)
        if letter in _OPENS:
            return replace(self, begun=True, depth=self.depth + 1)
        if letter in _CLOSES:
            return replace(self, depth=self.depth - 1, closed=self.depth == 1)
        return self

    def _in_string(self, letter: str) -> "Scan":
        if self.escaped:
            return replace(self, escaped=False)
        if letter == "\\":
            return replace(self, escaped=True)
        return replace(self, quoted=False) if letter == '"' else self
