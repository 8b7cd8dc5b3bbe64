"""What a tool itself said when it failed: kept apart, for whoever called it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from portico.interfaces.cli.results import whole_result
from portico.interfaces.cli.server import Server
from portico.kernel.errors import PorticoError

_KEPT: Final = re.compile(r"res_[0-9a-z]{26}")
_MOST: Final = 20
"""Steps whose words are asked for; of more, what the server says of them is enough."""
_LONGEST: Final = 500

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failures:
    server: Server
    _words: dict[str, str] = field(default_factory=dict)
    """By where they are kept; empty if they are not for us."""

    def told(self, report: dict[str, Any]) -> dict[str, Any]:
        """The report, with each tool's own words for why it failed."""
        return {**report, "steps": [_saying(step, self._of(step)) for step in report["steps"]]}

    def _of(self, step: Told) -> str:
        error = step["error"]
        found = _KEPT.search(error["message"]) if error is not None else None
        if found is None:
            return ""
        if found[0] not in self._words and len(self._words) < _MOST:
            self._words[found[0]] = self._asked(found[0])
        return self._words.get(found[0], "")

    def _asked(self, kept: str) -> str:
        try:
            document = json.loads(whole_result(self.server, kept))
        except (PorticoError, ValueError):
            return ""
        text = str(document.get("text", "")) if isinstance(document, Mapping) else ""
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _saying(step: dict[str, Any], words: str) -> dict[str, Any]:
    return {**step, "error": {**step["error"], "message": words}} if words else step
