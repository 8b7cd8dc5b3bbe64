"""Somebody else, who does things behind an open page."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.scenarios.console_town import PATIENCE, Town

_numbers: Final = itertools.count(1)


@dataclass
class Somebody:
    """Nobody may approve what they asked for themselves."""

    town: Town
    key: str

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        with self.town.house.client(self.key) as client:
            answered = client.request(method, path, json=body, headers=headers, timeout=PATIENCE)
        assert answered.is_success, (method, path, answered.text)
        return answered.json() if answered.content else None

    def plan(self, steps: Sequence[Mapping[str, Any]]) -> str:
        return str(self.ask("POST", "/workflows", {"plan": {"steps": steps}})["run"])

    def asks(self, steps: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        """The run, and what it waits for somebody to approve."""
        run = self.plan(steps)

        def its(found: dict[str, Any]) -> list[dict[str, Any]]:
            return [each for each in found["data"] if each["run"] == run]

        found = self.town.until("/approvals?status=waiting&limit=100", its)
        return run, str(its(found)[0]["id"])


def somebody(town: Town) -> Somebody:
    return Somebody(town, town.person(f"Bo {next(_numbers)}", "confidential"))
