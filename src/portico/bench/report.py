"""A benchmark's answer: its figures, what they were measured on, and under what conditions."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

from portico.adapters.system.clock import SystemClock
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal, shown
from portico.kernel.json import JsonObject, JsonValue

Figures = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    benchmark: str
    corpus: str
    figures: Figures
    baseline: Figures
    conditions: Figures = field(default_factory=dict)

    def tell(self, at: Terminal) -> int:
        measured = {**conditions(), **self.conditions}
        if at.json:
            at.details(
                {
                    "benchmark": self.benchmark,
                    "corpus": self.corpus,
                    "conditions": measured,
                    "baseline": dict(self.baseline),
                    **self.figures,
                }
            )
        else:
            at.details(dict(self.figures))
            at.say("")
            at.say(f"corpus      {self.corpus}")
            for title, facts in {"baseline": self.baseline, "conditions": measured}.items():
                at.say(f"{title.ljust(11)} {_in_words(facts)}")
        return Exit.OK


def _in_words(facts: Figures) -> str:
    """`cores 2, load 0.5, portico 0.1.0`: what is inside is told beside the rest."""
    return ", ".join(
        _in_words(value) if isinstance(value, Mapping) else f"{name} {shown(value)}"
        for name, value in facts.items()
    )


def skipped(at: Terminal, benchmark: str, missing: str) -> int:
    """Without its data a benchmark says so, and is not taken for one that ran."""
    at.data({"benchmark": benchmark, "skipped": missing}, f"skipped: {missing}")
    return Exit.SKIPPED


def conditions() -> JsonObject:
    packages = ("portico", "fastapi", "uvicorn", "pydantic", "psycopg", "cyclopts", "dbos")
    return {
        "date": SystemClock().now().date().isoformat(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }
