"""Figures as a table for other programs."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Final

from portico.interfaces.console.screens.metrics.series import Step
from portico.interfaces.console.screens.metrics.view import Cost, ServerFigures

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def servers_csv(rows: Iterable[ServerFigures]) -> str:
    head = ["server", "calls", "error_rate", "p50_ms", "p95_ms", "p99_ms", "last_at"]
    found = [
        [
            its.name,
            its.calls,
            round(its.errors, 6),
            *(round(span.total_seconds() * 1000, 3) for span in (its.p50, its.p95, its.p99)),
            "" if its.last_at is None else its.last_at.isoformat(),
        ]
        for its in rows
    ]
    return _written(head, found)


def models_csv(rows: Iterable[Cost]) -> str:
    head = ["model", "turns", "input", "output", "cached", "usd"]
    found = [[its.name, its.turns, its.input, its.output, its.cached, its.money] for its in rows]
    return _written(head, found)


def steps_csv(rows: Iterable[Step]) -> str:
    head = ["at", "calls", "wrong", "p50_ms", "p95_ms"]
    found = [[its.at.isoformat(), its.calls, its.wrong, its.p50, its.p95] for its in rows]
    return _written(head, found)


def _written(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([_cell(each) for each in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    """A name that a spreadsheet would take for a formula is written as the text that it is."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
