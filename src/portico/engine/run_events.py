"""What is told when something becomes of a run."""

from collections.abc import Sequence
from typing import Final

from portico.engine.core.entry import NewEntry
from portico.engine.core.run import Run, RunStatus
from portico.kernel.json import JsonObject

ALL_RUNS: Final = "runs"
"""The topic of every run's life in a space; each run's own has the run's id for its name."""

LAST_WORDS: Final = frozenset({f"run.{status}" for status in RunStatus if status.over})
"""After one of these a run's own topic has no more to come, unless it is taken up again."""


def run_entries(run: Run, type_: str, facts: JsonObject) -> Sequence[NewEntry]:
    """In the run's own topic and in the one of all runs; always in this order, so that two who
    write both never wait for each other."""
    whole = {"run": str(run.id), "kind": run.kind, **facts}
    return [
        NewEntry(
            topic=str(run.id), type=type_, facts=whole, topic_label=run.label, label=run.label
        ),
        NewEntry(topic=ALL_RUNS, type=type_, facts=whole, label=run.label),
    ]
